//! The outcome of a launch, and the file that the keeper writes it to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use kennel_pen::Status;
use kennel_pen::wire::WireMessage;
use serde::{Deserialize, Serialize};

/// Why a launch ended, as far as the keeper knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The agent ended by itself.
    Ended,
    /// The launch was called off before anything ran.
    Dismissed,
    /// The launch failed before anything ran.
    Failed {
        /// The exit code for it: 202 setup, 203 pen, 204 exec, 207 internal.
        code: u8,
        why: String,
    },
    /// No daemon connected within the lease.
    LeaseOver,
    /// The owner of the tethered session disconnected.
    OwnerGone,
    /// The timeout passed.
    TimedOut,
    /// The idle limit passed without output, input, a report, CPU use or a new process.
    Idle,
    /// The silence limit passed without output.
    Silent,
    /// A client requested the end before the agent ended by itself.
    Stopped,
}

/// The outcome of a launch whose pen is empty, or in which nothing ever ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The agent's exit status; none if it never ran.
    pub status: Option<Status>,
    /// Why it ended.
    pub cause: Cause,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// The CPU time of all its processes.
    pub cpu: Duration,
    /// Whether the folder of the pen's cgroup could not be removed.
    pub folder_left: bool,
}

impl WireMessage for Outcome {}

/// The file for the outcome. Its space is reserved before anything runs, in case the disk is full.
#[derive(Debug)]
pub struct OutcomeFile(File);

/// The name of the file in the session's folder.
pub const OUTCOME_FILE: &str = "outcome";
/// The size of the file.
pub(crate) const OUTCOME_ROOM: usize = 1024;
/// The end of the file is for the journal's lost-output note.
pub(crate) const LOST_OUTPUT_ROOM: usize = 32;
/// The space for the outcome itself.
const ROOM: usize = OUTCOME_ROOM - LOST_OUTPUT_ROOM;
/// The bytes before the outcome: magic number, checksum, length.
const HEADER: usize = 16;
const MAGIC: u32 = 0x4b45_4e31;

impl OutcomeFile {
    /// Creates the file and reserves its space.
    ///
    /// # Errors
    /// The kernel's error, for instance a full disk.
    pub fn reserve(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // Written, not only allocated: on some file systems an allocation guarantees nothing.
        file.write_all_at(&[0; OUTCOME_ROOM], 0)?;
        Ok(Self(file))
    }

    /// Writes the outcome. Readers see it at once, but it does not yet survive a power cut.
    pub fn write(&self, outcome: &Outcome) -> io::Result<()> {
        let mut body = outcome.encode();
        if body.len() > ROOM - HEADER {
            // Only the text of a failure can be that long.
            let mut shorter = outcome.clone();
            if let Cause::Failed { why, .. } = &mut shorter.cause {
                *why = why.chars().take(ROOM / 8).collect();
            }
            body = shorter.encode();
        }
        self.0.write_all_at(&seal(MAGIC, &body), 0)
    }

    /// Waits until the outcome is on disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Reads an outcome. Returns `None` if the file is missing or has no complete outcome.
    ///
    /// # Errors
    /// The file could not be read, so it is unknown whether there is an outcome.
    pub fn read(path: &Path) -> io::Result<Option<Outcome>> {
        Ok(crate::if_exists(std::fs::read(path))?.and_then(|bytes| decode(&bytes)))
    }
}

fn decode(bytes: &[u8]) -> Option<Outcome> {
    Outcome::decode(unseal(MAGIC, bytes)?).ok()
}

/// Adds a header to content that is written to a file: magic number, checksum, length.
pub(crate) fn seal(magic: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_le_bytes().to_vec();
    bytes.extend(checksum(content).to_le_bytes());
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes.extend(content);
    bytes
}

/// Returns the content if it is complete.
pub(crate) fn unseal(magic: u32, bytes: &[u8]) -> Option<&[u8]> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let (length, content) = (u32::from_le_bytes(header[12..].try_into().ok()?), rest);
    let content = content.get(..length as usize)?;
    let sealed =
        header[..4] == magic.to_le_bytes() && header[4..12] == checksum(content).to_le_bytes();
    sealed.then_some(content)
}

/// FNV-1a: it detects torn writes, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_survives_the_round_trip() {
        let causes = [
            Cause::Ended,
            Cause::Dismissed,
            Cause::Failed { code: 203, why: "no".into() },
            Cause::LeaseOver,
            Cause::OwnerGone,
            Cause::TimedOut,
            Cause::Idle,
            Cause::Silent,
            Cause::Stopped,
        ];
        for cause in causes {
            let outcome = Outcome {
                status: None,
                cause,
                ended_ms: 7,
                cpu: Duration::from_millis(8),
                folder_left: true,
            };
            assert_eq!(Outcome::decode(&outcome.encode()), Ok(outcome));
        }
    }

    #[test]
    fn an_outcome_is_readable_once_it_is_written_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcome");
        assert_eq!(OutcomeFile::read(&path).unwrap(), None);
        let file = OutcomeFile::reserve(&path).unwrap();
        assert_eq!(OutcomeFile::read(&path).unwrap(), None, "the space is only reserved");
        let outcome = Outcome {
            status: Some(Status::Code(3)),
            cause: Cause::Failed { code: 204, why: "x".repeat(5000) },
            ended_ms: 7,
            cpu: Duration::from_millis(8),
            folder_left: true,
        };
        file.write(&outcome).unwrap();
        file.sync().unwrap();
        let read = OutcomeFile::read(&path).unwrap().unwrap();
        assert_eq!(read.status, outcome.status);
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            OUTCOME_ROOM as u64,
            "it fits into the reserved space"
        );
        let mut torn = std::fs::read(&path).unwrap();
        torn[40] ^= 1;
        assert!(decode(&torn).is_none());
    }
}
