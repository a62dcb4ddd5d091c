//! The last word of a keeper, and the file that it leaves it in.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use kennel_pen::Status;
use kennel_pen::wire::{Garbled, Reader, Writer, read_status, write_status};

/// Why it ended, as far as the keeper knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The agent ended by itself; a keeper of an older version says so of all that it was asked to end, too.
    Ended,
    /// Nothing was launched, since that was called off.
    Dismissed,
    /// Nothing was launched, since that failed; the code is the program's exit code for it.
    Failed {
        /// 202 setup, 203 pen, 204 exec, 207 internal.
        code: u8,
        /// Why.
        why: String,
    },
    /// No daemon came back within the lease.
    LeaseOver,
    /// The client that it was tied to went away.
    OwnerGone,
    /// It took longer than it may.
    TimedOut,
    /// Nothing went on in it for longer than may be: no output, no input, no report, no CPU, no new process.
    Idle,
    /// It printed nothing for longer than may be.
    Silent,
    /// Somebody asked for the end, before the agent ended by itself.
    Stopped,
    /// A newer keeper's own reason, by its number. Reasons that are added after those above say nothing more than
    /// their number, so that the rest can be read by whoever does not know them.
    Other(u8),
}

/// The end of a launch: the pen was seen empty, or nothing was ever in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How the agent ended; none if it never ran.
    pub status: Option<Status>,
    /// Why.
    pub cause: Cause,
    /// When, in milliseconds since 1970.
    pub ended_ms: u64,
    /// The CPU time of all its processes.
    pub cpu: Duration,
    /// Set if the pen's folder could not be removed.
    pub folder_left: bool,
}

impl Outcome {
    pub(super) fn write(&self, out: &mut Writer) {
        out.option(self.status.as_ref(), write_status);
        match &self.cause {
            Cause::Ended => out.u8(0),
            Cause::Dismissed => out.u8(1),
            Cause::Failed { code, why } => out.u8(2).u8(*code).text(why),
            Cause::LeaseOver => out.u8(3),
            Cause::OwnerGone => out.u8(4),
            Cause::TimedOut => out.u8(5),
            Cause::Idle => out.u8(6),
            Cause::Silent => out.u8(7),
            Cause::Stopped => out.u8(8),
            Cause::Other(number) => out.u8(*number),
        };
        out.u64(self.ended_ms).duration(self.cpu).bool(self.folder_left);
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<Self, Garbled> {
        Ok(Self {
            status: input.option(read_status)?,
            cause: match input.u8()? {
                0 => Cause::Ended,
                1 => Cause::Dismissed,
                2 => Cause::Failed { code: input.u8()?, why: input.text()? },
                3 => Cause::LeaseOver,
                4 => Cause::OwnerGone,
                5 => Cause::TimedOut,
                6 => Cause::Idle,
                7 => Cause::Silent,
                8 => Cause::Stopped,
                number => Cause::Other(number),
            },
            ended_ms: input.u64()?,
            cpu: input.duration()?,
            folder_left: input.bool()?,
        })
    }
}

/// Where the outcome goes: its room is set aside before anything runs, so that a full disk can't take it.
#[derive(Debug)]
pub struct OutcomeFile(File);

/// The name of the file in the session's folder.
pub const OUTCOME_FILE: &str = "outcome";
/// The room that is set aside.
pub(crate) const OUTCOME_ROOM: usize = 1024;
/// The last of it is the journal's, which may have nowhere else to say that output is missing.
pub(crate) const UNTOLD_ROOM: usize = 32;
/// What is left.
const ROOM: usize = OUTCOME_ROOM - UNTOLD_ROOM;
const MAGIC: u32 = 0x4b45_4e31;

impl OutcomeFile {
    /// Makes the file and sets its room aside.
    ///
    /// # Errors
    /// What the kernel said: no room, for instance.
    pub fn reserve(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // Written, not merely allocated: some file systems promise nothing before that.
        file.write_all_at(&[0; OUTCOME_ROOM], 0)?;
        Ok(Self(file))
    }

    /// Writes the outcome: those who look from now on see it, though a power cut may still take it.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn write(&self, outcome: &Outcome) -> io::Result<()> {
        let mut body = Writer::default();
        outcome.write(&mut body);
        let mut body = body.finish();
        if body.len() > ROOM - 16 {
            // Only the text of a failure can be that long.
            let mut shorter = outcome.clone();
            shorter.cause = match shorter.cause {
                Cause::Failed { code, why } => {
                    Cause::Failed { code, why: why.chars().take(ROOM / 8).collect() }
                }
                cause => cause,
            };
            let mut short = Writer::default();
            shorter.write(&mut short);
            body = short.finish();
        }
        let mut out = Writer::default();
        out.u32(MAGIC).u64(checksum(&body));
        let mut bytes = out.finish();
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
        self.0.write_all_at(&bytes, 0)
    }

    /// Waits until the disk has it.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// Reads an outcome; none if there is no whole one.
    ///
    /// # Errors
    /// The file could not be read, which says nothing. A missing one is none.
    pub fn read(path: &Path) -> io::Result<Option<Outcome>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(decode(&bytes).ok())
    }
}

fn decode(bytes: &[u8]) -> Result<Outcome, Garbled> {
    let mut input = Reader(bytes);
    if input.u32()? != MAGIC {
        return Err(Garbled);
    }
    let (sum, length) = (input.u64()?, input.u32()? as usize);
    let body = input.0.get(..length).ok_or(Garbled)?;
    if checksum(body) != sum {
        return Err(Garbled);
    }
    Outcome::read(&mut Reader(body))
}

/// FNV-1a: a torn write is told from a whole one; nobody is to be kept from forging.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_survives_the_round_trip_and_a_newer_one_is_readable() {
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
            Cause::Other(9),
            Cause::Other(255),
        ];
        for cause in causes {
            let outcome = Outcome {
                status: None,
                cause,
                ended_ms: 7,
                cpu: Duration::from_millis(8),
                folder_left: true,
            };
            let mut out = Writer::default();
            outcome.write(&mut out);
            assert_eq!(Outcome::read(&mut Reader(&out.finish())), Ok(outcome));
        }
    }

    #[test]
    fn an_outcome_is_there_once_it_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outcome");
        assert_eq!(OutcomeFile::read(&path).unwrap(), None);
        let file = OutcomeFile::reserve(&path).unwrap();
        assert_eq!(OutcomeFile::read(&path).unwrap(), None, "only room");
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
            "no more than its room"
        );
        let mut torn = std::fs::read(&path).unwrap();
        torn[40] ^= 1;
        assert!(decode(&torn).is_err());
    }
}
