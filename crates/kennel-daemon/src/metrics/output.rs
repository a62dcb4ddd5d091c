//! How much launches have printed.
//!
//! Output passes the daemon by: keepers write it, and readers read the files. So it is looked at once, when a launch
//! has ended: the journal's first and last offset tell how much there was and how much of it was given up for room.

use std::path::Path;

use kennel_keeper::journal::JournalReader;

use super::tally::Tally;
use crate::os::home::JOURNAL;

/// Looks at the journal of a launch that has ended. Blocks on the disk.
pub(crate) fn note_output(tally: &Tally, folder: &Path) {
    let journal = folder.join(JOURNAL);
    let looked =
        JournalReader::open(&journal).and_then(|reader| Ok((reader.start()?, reader.end()?)));
    match looked {
        Ok((start, end)) => {
            tally.output.add(end);
            tally.output_dropped.add(start.min(end));
        }
        Err(error) => {
            tally.output_unknown.one_more();
            tracing::debug!(%error, "nobody knows how much a launch has printed");
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_keeper::journal::{JournalWriter, MIN_LIMIT, STDOUT};

    use super::*;

    #[test]
    fn all_output_counts_and_what_was_given_up_is_told() {
        let (tally, folder) = (Tally::default(), tempfile::tempdir().unwrap());
        note_output(&tally, folder.path());
        assert_eq!(
            (tally.output.get(), tally.output_unknown.get()),
            (0, 0),
            "it has printed nothing"
        );
        let mut writer = JournalWriter::create(&folder.path().join(JOURNAL), MIN_LIMIT).unwrap();
        let data = vec![b'x'; 1 << 14];
        let most = 4 * MIN_LIMIT;
        let mut printed = 0;
        while printed < most {
            let _all_of_it = writer.append(STDOUT, 0, &data);
            printed += data.len() as u64;
        }
        note_output(&tally, folder.path());
        assert_eq!(tally.output.get(), printed);
        let dropped = tally.output_dropped.get();
        assert!(dropped >= printed - MIN_LIMIT && dropped < printed, "{dropped} of {printed}");
    }
}
