//! The output of a session, read from its journal.

use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader, LossReason};

/// The content of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JournalOutput {
    /// The numbers of the complete lines.
    pub(crate) numbers: Vec<u32>,
    /// The gaps, with their reasons.
    pub(crate) gaps: Vec<LossReason>,
    /// Why the journal can't be read, if so.
    pub(crate) unreadable: Option<String>,
}

impl JournalOutput {
    /// Reads the journal of the launch in this folder; a missing one is empty.
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
                // The text after a gap may start in the middle of a line.
                JournalItem::Gap { why, .. } => {
                    bytes.push(b'?');
                    self.gaps.push(why);
                }
                JournalItem::End => return Ok(()),
            }
        }
    }

    /// Returns what is wrong with the order of the lines, if anything is.
    pub(crate) fn disorder(&self) -> Option<String> {
        if let Some(pair) = self.numbers.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Some(format!("out of order: {} before {}", pair[0], pair[1]));
        }
        let mut in_a_row = self.numbers.iter().zip(0..);
        let missing = in_a_row.find(|(number, wanted)| *number != wanted).map(|(_, wanted)| wanted);
        let missing = missing.filter(|_| self.gaps.is_empty())?;
        Some(format!("line {missing} is missing, but no gap is marked"))
    }
}

/// Returns the numbers of complete lines `line N`.
fn numbers(text: &str) -> Vec<u32> {
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| line.strip_prefix("line ")?.trim_end().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(numbers: &[u32], gaps: &[LossReason]) -> JournalOutput {
        JournalOutput { numbers: numbers.to_vec(), gaps: gaps.to_vec(), unreadable: None }
    }

    #[test]
    fn reports_missing_lines_without_a_marked_gap() {
        assert_eq!(output(&[0, 1, 2], &[]).disorder(), None);
        assert!(output(&[0, 2], &[]).disorder().is_some());
        assert!(output(&[1, 2], &[]).disorder().is_some());
        assert_eq!(output(&[0, 2], &[LossReason::DiskFull]).disorder(), None);
        assert!(output(&[2, 1], &[LossReason::DiskFull]).disorder().is_some());
    }

    #[test]
    fn ignores_incomplete_lines() {
        assert_eq!(numbers("ready\r\nline 0\r\nline 1\nline 2"), [0, 1]);
        assert_eq!(numbers("line 0\nline 12?e 7\nline 8\n"), [0, 8]);
    }
}
