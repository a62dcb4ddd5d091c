//! Reads a session's output directly from its files.

use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader, LossReason};

/// What a journal holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    /// All data in order.
    pub(crate) text: String,
    /// The gaps, with their reasons.
    pub(crate) gaps: Vec<LossReason>,
}

impl Journal {
    /// Reads the journal in this session folder; a missing one is empty.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut journal = Self::default();
        let mut bytes = Vec::new();
        let mut reader =
            JournalReader::open(&folder.join("journal")).expect("the journal can be read");
        loop {
            match reader.next().expect("the journal can be read") {
                JournalItem::Data { data, .. } => bytes.extend_from_slice(data),
                JournalItem::Gap { why, .. } => journal.gaps.push(why),
                JournalItem::End => break,
            }
        }
        journal.text = String::from_utf8(bytes).expect("the agent prints text");
        journal
    }

    /// The numbers of the complete lines that `fake-agent work` printed.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let whole = self.text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines = whole.filter_map(|line| line.strip_prefix("line "));
        lines.map(|number| number.trim_end().parse().expect("a number")).collect()
    }

    /// Checks that lines are missing only where a gap is marked.
    #[track_caller]
    pub(crate) fn assert_in_order(&self) {
        let numbers = self.numbers();
        if self.gaps.is_empty() {
            let expected: Vec<u32> = (0..).take(numbers.len()).collect();
            assert_eq!(numbers, expected, "a gap that is not marked");
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "out of order: {numbers:?}");
    }
}
