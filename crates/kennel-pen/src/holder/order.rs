//! What a caller tells its holder to launch.

use std::time::Duration;

use kennel_sys::clone::ResourceLimit;
use rustix::fd::OwnedFd;

use crate::command::{Command, StdStreams};
use crate::name::{HomeId, PenName, SessionId};
use crate::pen::PenKind;
use crate::wire::{Garbled, Reader, Writer};

/// Which pen a holder makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeldKind {
    /// A cgroup where there is one, else only the subtree.
    #[default]
    Auto,
    /// A cgroup, or an error.
    Cgroup,
    /// Only the subtree below the holder.
    Subtree,
    /// A pid namespace of its own, with the holder as its init: what is in it can't outlive the holder,
    /// however fast it forks. An unprivileged caller gets a user namespace with it, in which set-uid
    /// programs have no power.
    Namespace,
}

impl HeldKind {
    pub(crate) fn pen(self) -> PenKind {
        match self {
            Self::Auto => PenKind::Auto,
            Self::Cgroup => PenKind::Cgroup,
            Self::Subtree | Self::Namespace => PenKind::Subtree,
        }
    }
}

/// A command, the pen for it, and how to end it.
#[derive(Debug)]
pub struct Order {
    pub(crate) name: PenName,
    pub(crate) command: Command,
    pub(crate) kind: HeldKind,
    pub(crate) linger: Duration,
    pub(crate) grace: Duration,
    /// Which of the holder's calls fails, for tests.
    pub(crate) fault: Option<(u32, i32)>,
    /// Our terminal, whose settings the holder puts back if we vanish.
    pub(crate) restore: Option<OwnedFd>,
}

impl Order {
    /// An order for this command in a pen of this name.
    #[must_use]
    pub fn new(name: PenName, command: Command) -> Self {
        Self {
            name,
            command,
            kind: HeldKind::default(),
            linger: Duration::from_secs(2),
            grace: Duration::from_secs(10),
            fault: None,
            restore: None,
        }
    }

    /// Which pen to make; otherwise [`HeldKind::Auto`].
    #[must_use]
    pub fn kind(mut self, kind: HeldKind) -> Self {
        self.kind = kind;
        self
    }

    /// How long what the agent leaves behind may go on after its exit; otherwise 2 s.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// How long after TERM a stop waits before KILL; otherwise 10 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// A terminal of the caller's whose present settings are put back if the caller vanishes.
    #[must_use]
    pub fn restore_terminal(mut self, terminal: OwnedFd) -> Self {
        self.restore = Some(terminal);
        self
    }

    /// Lets the nth call of the launch fail, in a build with the feature `faults`.
    #[doc(hidden)]
    #[must_use]
    pub fn fault(mut self, nth: u32, errno: i32) -> Self {
        self.fault = Some((nth, errno));
        self
    }

    /// Everything but the descriptors.
    pub(crate) fn encode(&self, terminal: bool) -> Vec<u8> {
        let Command { argv, env, folder, umask, limits, streams: _ } = &self.command;
        let mut out = Writer::default();
        out.text(self.name.home.as_str()).text(self.name.session.as_str());
        out.list(argv, |out, arg| {
            out.bytes(arg.as_encoded_bytes());
        });
        out.list(env, |out, (name, value)| {
            out.bytes(name.as_encoded_bytes()).bytes(value.as_encoded_bytes());
        });
        out.option(folder.as_ref(), |out, folder| {
            out.path(folder);
        });
        out.option(*umask, |out, umask| {
            out.u32(umask);
        });
        out.list(limits, |out, limit| {
            out.u32(limit.resource).u64(limit.soft).u64(limit.hard);
        });
        out.u8(match self.kind {
            HeldKind::Auto => 0,
            HeldKind::Cgroup => 1,
            HeldKind::Subtree => 2,
            HeldKind::Namespace => 3,
        });
        out.duration(self.linger).duration(self.grace).bool(terminal).bool(self.restore.is_some());
        out.option(self.fault, |out, (nth, errno)| {
            out.u32(nth).i32(errno);
        });
        out.finish()
    }
}

/// An order as the holder reads it.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) order: Order,
    pub(crate) terminal: bool,
    pub(crate) restores: bool,
}

impl Received {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        let home = HomeId::parse(&input.text()?).map_err(|_| Garbled)?;
        let session = SessionId::parse(&input.text()?).map_err(|_| Garbled)?;
        let argv = input.list(Reader::os_string)?;
        if argv.is_empty() {
            return Err(Garbled);
        }
        let command = Command {
            argv,
            env: input.list(|input| Ok((input.os_string()?, input.os_string()?)))?,
            folder: input.option(Reader::path)?,
            umask: input.option(Reader::u32)?,
            limits: input.list(|input| {
                Ok(ResourceLimit { resource: input.u32()?, soft: input.u64()?, hard: input.u64()? })
            })?,
            streams: StdStreams::default(),
        };
        let kind = match input.u8()? {
            0 => HeldKind::Auto,
            1 => HeldKind::Cgroup,
            2 => HeldKind::Subtree,
            3 => HeldKind::Namespace,
            _ => return Err(Garbled),
        };
        let (linger, grace) = (input.duration()?, input.duration()?);
        let (terminal, restores) = (input.bool()?, input.bool()?);
        let fault = input.option(|input| Ok((input.u32()?, input.i32()?)))?;
        input.end()?;
        let name = PenName { home, session };
        let order = Order { name, command, kind, linger, grace, fault, restore: None };
        Ok(Self { order, terminal, restores })
    }
}
