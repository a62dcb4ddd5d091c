//! A session's output, read from its files as anyone may.

use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader, LossReason};

/// What a journal holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// The numbers of the lines that came whole.
    pub(crate) numbers: Vec<u32>,
    /// Where something is missing, and why.
    pub(crate) gaps: Vec<LossReason>,
    /// Why it can't be read, if it can't.
    pub(crate) unreadable: Option<String>,
}

impl Output {
    /// Reads the journal of the launch with this folder; one that is not there is empty.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut output = Self::default();
        let mut bytes = Vec::new();
        if let Err(error) = output.take_in(folder, &mut bytes) {
            output.unreadable = Some(error.to_string());
        }
        output.numbers = numbers(&String::from_utf8_lossy(&bytes));
        output
    }

    fn take_in(&mut self, folder: &Path, bytes: &mut Vec<u8>) -> anyhow::Result<()> {
        let mut reader = JournalReader::open(&folder.join("journal"))?;
        loop {
            match reader.next()? {
                JournalItem::Data { data, .. } => bytes.extend_from_slice(data),
                // What follows a gap may begin in the middle of a line.
                JournalItem::Gap { why, .. } => {
                    bytes.push(b'?');
                    self.gaps.push(why);
                }
                JournalItem::End => return Ok(()),
            }
        }
    }

    /// What is wrong with the order of its lines, if anything is.
    pub(crate) fn disorder(&self) -> Option<String> {
        if let Some(pair) = self.numbers.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Some(format!("out of order: {} before {}", pair[0], pair[1]));
        }
        let mut in_a_row = self.numbers.iter().zip(0..);
        let missing = in_a_row.find(|(number, wanted)| *number != wanted).map(|(_, wanted)| wanted);
        let missing = missing.filter(|_| self.gaps.is_empty())?;
        Some(format!("line {missing} is missing, and no gap is marked"))
    }
}

/// The numbers of whole lines `line N`.
fn numbers(text: &str) -> Vec<u32> {
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| line.strip_prefix("line ")?.trim_end().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(numbers: &[u32], gaps: &[LossReason]) -> Output {
        Output { numbers: numbers.to_vec(), gaps: gaps.to_vec(), unreadable: None }
    }

    #[test]
    fn what_is_missing_must_be_marked() {
        assert_eq!(output(&[0, 1, 2], &[]).disorder(), None);
        assert!(output(&[0, 2], &[]).disorder().is_some());
        assert!(output(&[1, 2], &[]).disorder().is_some());
        assert_eq!(output(&[0, 2], &[LossReason::DiskFull]).disorder(), None);
        assert!(output(&[2, 1], &[LossReason::DiskFull]).disorder().is_some());
    }

    #[test]
    fn only_whole_lines_count() {
        assert_eq!(numbers("ready\r\nline 0\r\nline 1\nline 2"), [0, 1]);
        assert_eq!(numbers("line 0\nline 12?e 7\nline 8\n"), [0, 8]);
    }
}
