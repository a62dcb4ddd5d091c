//! Counts the output of launches.
//!
//! Output does not pass through the daemon: keepers write it, and readers read the files. So it is counted once, when a
//! launch has ended: the journal's first and last offsets give the total and how much was dropped.

use std::path::Path;

use kennel_keeper::journal::JournalReader;

use super::counters::DaemonMetrics;
use crate::os::home::JOURNAL;

/// Reads the journal of an ended launch. Blocks on the disk.
pub(crate) fn count_output(metrics: &DaemonMetrics, folder: &Path) {
    let journal = folder.join(JOURNAL);
    let offsets =
        JournalReader::open(&journal).and_then(|reader| Ok((reader.start()?, reader.end()?)));
    match offsets {
        Ok((start, end)) => {
            metrics.output.inc_by(end);
            metrics.output_dropped.inc_by(start.min(end));
        }
        Err(error) => {
            metrics.output_unknown.inc();
            tracing::debug!(%error, "can't read the journal of an ended launch");
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, MIN_LIMIT, STDOUT};

    use super::*;

    #[test]
    fn counts_all_output_and_how_much_was_dropped() {
        let (metrics, folder) = (DaemonMetrics::default(), tempfile::tempdir().unwrap());
        count_output(&metrics, folder.path());
        assert_eq!(
            (metrics.output.get(), metrics.output_unknown.get()),
            (0, 0),
            "it has printed nothing"
        );
        let mut writer = JournalWriter::create(&folder.path().join(JOURNAL), MIN_LIMIT).unwrap();
        let data = vec![b'x'; 1 << 14];
        let total = 4 * MIN_LIMIT;
        let mut printed = 0;
        while printed < total {
            let _all_of_it = writer.append(STDOUT, 0, &data);
            printed += data.len() as u64;
        }
        count_output(&metrics, folder.path());
        assert_eq!(metrics.output.get(), printed);
        let dropped = metrics.output_dropped.get();
        assert!(dropped >= printed - MIN_LIMIT && dropped < printed, "{dropped} of {printed}");
    }
}
