//! What the yard and its daemon say to each other, and what anyone may ask at the yard's own socket.

use kennel_pen::wire::{Garbled, Reader, Writer};

/// A request to the yard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YardRequest {
    /// From the daemon: start a keeper. With it come the order in a memfd, the launch's lock, the keeper's end
    /// of a socket to the daemon, and maybe a standard input.
    Fork {
        /// The daemon's number for it.
        key: u64,
    },
    /// From the daemon: when I have gone and no child is left, go too.
    Leave,
    /// From the daemon: I go now, and want to be started again at once, from this program.
    Replace {
        /// The path of the program; the same one if empty.
        program: String,
    },
    /// From the daemon: keep this for the next one, under a name. With it comes a descriptor.
    Keep {
        /// The name. What was kept under it goes.
        name: String,
    },
    /// From the daemon: that need not be kept any more.
    Forget {
        /// Its name.
        name: String,
    },
    /// From the daemon: what is kept? A bounded number is told at once; nothing at all once that was all.
    Kept {
        /// Those whose names come after this one.
        after: String,
    },
    /// From anyone: is there a daemon? Start one if not.
    Start,
    /// From anyone: how are things?
    Status,
}

/// What the yard says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YardReport {
    /// A keeper was started.
    Forked {
        /// The daemon's number for it.
        key: u64,
        /// Its pid.
        pid: i32,
    },
    /// No keeper was started.
    NotForked {
        /// The daemon's number for it.
        key: u64,
        /// Why.
        why: String,
    },
    /// A keeper has ended, and whatever it left behind that fell to the yard is gone too, unless named.
    KeeperEnded {
        /// Its pid.
        pid: i32,
        /// How it ended, for people to read.
        how: String,
        /// Those that could not be ended, for people to read.
        left: Vec<String>,
    },
    /// A process fell to the yard and was ended.
    Ended {
        /// Its pid.
        pid: i32,
        /// Its program.
        name: String,
    },
    /// This is kept. With it comes its descriptor.
    Kept {
        /// Its name.
        name: String,
    },
    /// That was all that is told at once.
    KeptAll,
    /// How things are.
    Status {
        /// The yard's pid.
        pid: i32,
        /// The daemon's, if there is one.
        daemon: Option<i32>,
        /// The pids of keepers that are its children.
        keepers: Vec<i32>,
        /// The version that it speaks.
        version: u32,
    },
}

impl YardRequest {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Fork { key } => out.u8(1).u64(*key),
            Self::Leave => out.u8(2),
            Self::Replace { program } => out.u8(3).text(program),
            Self::Start => out.u8(4),
            Self::Status => out.u8(5),
            Self::Keep { name } => out.u8(6).text(name),
            Self::Forget { name } => out.u8(7).text(name),
            Self::Kept { after } => out.u8(8).text(after),
        };
        out.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        Ok(match input.u8()? {
            1 => Self::Fork { key: input.u64()? },
            2 => Self::Leave,
            3 => Self::Replace { program: input.text()? },
            4 => Self::Start,
            5 => Self::Status,
            6 => Self::Keep { name: input.text()? },
            7 => Self::Forget { name: input.text()? },
            8 => Self::Kept { after: input.text()? },
            _ => return Err(Garbled),
        })
    }
}

impl YardReport {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Self::Forked { key, pid } => out.u8(1).u64(*key).i32(*pid),
            Self::NotForked { key, why } => out.u8(2).u64(*key).text(why),
            Self::KeeperEnded { pid, how, left } => {
                out.u8(3).i32(*pid).text(how).list(left, |out, text| {
                    out.text(text);
                })
            }
            Self::Ended { pid, name } => out.u8(4).i32(*pid).text(name),
            Self::Status { pid, daemon, keepers, version } => {
                out.u8(5).i32(*pid).option(*daemon, |out, pid| {
                    out.i32(pid);
                });
                out.list(keepers, |out, pid| {
                    out.i32(*pid);
                });
                out.u32(*version)
            }
            Self::Kept { name } => out.u8(6).text(name),
            Self::KeptAll => out.u8(7),
        };
        out.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        Ok(match input.u8()? {
            1 => Self::Forked { key: input.u64()?, pid: input.i32()? },
            2 => Self::NotForked { key: input.u64()?, why: input.text()? },
            3 => Self::KeeperEnded {
                pid: input.i32()?,
                how: input.text()?,
                left: input.list(Reader::text)?,
            },
            4 => Self::Ended { pid: input.i32()?, name: input.text()? },
            5 => Self::Status {
                pid: input.i32()?,
                daemon: input.option(Reader::i32)?,
                keepers: input.list(Reader::i32)?,
                version: input.u32()?,
            },
            6 => Self::Kept { name: input.text()? },
            7 => Self::KeptAll,
            _ => return Err(Garbled),
        })
    }
}
