//! What a keeper is told to launch: everything, the environment too, in memory and never on disk.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::terminal::TerminalSettings;
use kennel_pen::holder::HeldKind;
use kennel_pen::wire::{Garbled, Reader, Writer};
use kennel_pen::{HomeId, PenLimits, PenName, ResourceLimit, SessionId, Size};

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchOrder {
    /// The name of its pen: home and session.
    pub name: PenName,
    /// Its secret.
    pub token: String,
    /// The session's folder, which exists.
    pub folder: PathBuf,
    /// The command.
    pub argv: Vec<OsString>,
    /// Its environment, the whole of it but for Kennel's own cookie.
    pub env: Vec<(OsString, OsString)>,
    /// The folder to start in.
    pub cwd: PathBuf,
    /// The umask.
    pub umask: u32,
    /// Resource limits.
    pub limits: Vec<ResourceLimit>,
    /// Which pen.
    pub kind: HeldKind,
    /// How long what it leaves behind may go on.
    pub linger: Duration,
    /// How long a stop waits between TERM and KILL.
    pub grace: Duration,
    /// How long it goes on without a daemon.
    pub lease: Option<Duration>,
    /// Whether it ends when its owner goes without a word.
    pub tethered: bool,
    /// Set if it gets a terminal.
    pub terminal: Option<TerminalOrder>,
    /// Its standard input, if it gets no terminal.
    pub stdin: Stdin,
    /// The most bytes of output kept.
    pub output_limit: u64,
    /// How long it may take, from the open gate on. For all three: time asleep does not count, and none or zero is
    /// no limit. The keeper minds them alone, with or without a daemon.
    pub timeout: Option<Duration>,
    /// How long nothing at all may go on in it.
    pub idle: Option<Duration>,
    /// How long it may print nothing.
    pub silence: Option<Duration>,
    /// The most memory of all its processes, in bytes.
    pub memory: Option<u64>,
    /// The most processes and threads at once.
    pub pids: Option<u64>,
    /// The most CPU, in thousandths of a core.
    pub cpu: Option<u32>,
    /// Whether it runs without those of the last three that can't be had here.
    pub best_effort: bool,
    /// The signal that asks it to end, if it is not TERM.
    pub stop_signal: Option<i32>,
    /// What its standard input has in it, for a further launch: only in orders that the yard keeps for the next
    /// daemon. A keeper gets it as a descriptor.
    pub prompt: Option<Vec<u8>>,
}

/// Where standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// From nowhere.
    Null,
    /// From whoever sends some.
    Pipe,
    /// From a descriptor that comes along.
    Given,
}

/// A terminal for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOrder {
    /// Its size.
    pub size: Size,
    /// Its settings, as those of the client's own.
    pub settings: Option<TerminalSettings>,
    /// Whether standard error is a pipe of its own.
    pub stderr_apart: bool,
}

impl LaunchOrder {
    /// What its pen may use.
    #[must_use]
    pub fn pen_limits(&self) -> PenLimits {
        let Self { memory, pids, cpu, best_effort, .. } = *self;
        PenLimits { memory, pids, cpu, best_effort }
    }

    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.text(self.name.home.as_str()).text(self.name.session.as_str()).text(&self.token);
        out.path(&self.folder);
        out.list(&self.argv, |out, arg| {
            out.bytes(arg.as_encoded_bytes());
        });
        out.list(&self.env, |out, (name, value)| {
            out.bytes(name.as_encoded_bytes()).bytes(value.as_encoded_bytes());
        });
        out.path(&self.cwd).u32(self.umask);
        out.list(&self.limits, |out, limit| {
            out.u32(limit.resource).u64(limit.soft).u64(limit.hard);
        });
        out.u8(match self.kind {
            HeldKind::Auto => 0,
            HeldKind::Cgroup => 1,
            HeldKind::Subtree => 2,
            HeldKind::Namespace => 3,
        });
        out.duration(self.linger).duration(self.grace);
        out.option(self.lease, |out, lease| {
            out.duration(lease);
        });
        out.bool(self.tethered);
        out.option(self.terminal.as_ref(), |out, terminal| {
            let Size { rows, columns } = terminal.size;
            out.u32(rows.into()).u32(columns.into());
            out.option(terminal.settings.as_ref(), |out, settings| {
                for mode in settings.modes {
                    out.u32(mode);
                }
                out.bytes(&settings.characters);
            });
            out.bool(terminal.stderr_apart);
        });
        out.u8(match self.stdin {
            Stdin::Null => 0,
            Stdin::Pipe => 1,
            Stdin::Given => 2,
        });
        out.u64(self.output_limit);
        for limit in [self.timeout, self.idle, self.silence] {
            out.option(limit, |out, limit| {
                out.duration(limit);
            });
        }
        for limit in [self.memory, self.pids, self.cpu.map(u64::from)] {
            out.option(limit, |out, limit| {
                out.u64(limit);
            });
        }
        out.bool(self.best_effort);
        out.option(self.stop_signal, |out, signal| {
            out.u32(signal.unsigned_abs());
        });
        out.option(self.prompt.as_ref(), |out, prompt| {
            out.bytes(prompt);
        });
        out.finish()
    }

    /// From bytes.
    ///
    /// # Errors
    /// They make no sense.
    pub fn decode(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut input = Reader(bytes);
        let home = HomeId::parse(&input.text()?).map_err(|_| Garbled)?;
        let session = SessionId::parse(&input.text()?).map_err(|_| Garbled)?;
        let order = Self {
            name: PenName { home, session },
            token: input.text()?,
            folder: input.path()?,
            argv: input.list(Reader::os_string)?,
            env: input.list(|input| Ok((input.os_string()?, input.os_string()?)))?,
            cwd: input.path()?,
            umask: input.u32()?,
            limits: input.list(|input| {
                Ok(ResourceLimit { resource: input.u32()?, soft: input.u64()?, hard: input.u64()? })
            })?,
            kind: match input.u8()? {
                0 => HeldKind::Auto,
                1 => HeldKind::Cgroup,
                2 => HeldKind::Subtree,
                3 => HeldKind::Namespace,
                _ => return Err(Garbled),
            },
            linger: input.duration()?,
            grace: input.duration()?,
            lease: input.option(Reader::duration)?,
            tethered: input.bool()?,
            terminal: input.option(read_terminal)?,
            stdin: match input.u8()? {
                0 => Stdin::Null,
                1 => Stdin::Pipe,
                2 => Stdin::Given,
                _ => return Err(Garbled),
            },
            output_limit: input.u64()?,
            // From here on an older daemon says nothing.
            timeout: input.option_if_said(Reader::duration)?,
            idle: input.option_if_said(Reader::duration)?,
            silence: input.option_if_said(Reader::duration)?,
            memory: input.option_if_said(Reader::u64)?,
            pids: input.option_if_said(Reader::u64)?,
            cpu: input.option_if_said(|input| u32::try_from(input.u64()?).map_err(|_| Garbled))?,
            best_effort: !input.0.is_empty() && input.bool()?,
            stop_signal: input
                .option_if_said(|input| i32::try_from(input.u32()?).map_err(|_| Garbled))?,
            prompt: input.option_if_said(|input| Ok(input.bytes()?.to_vec()))?,
        };
        if order.argv.is_empty() { Err(Garbled) } else { Ok(order) }
    }
}

fn read_terminal(input: &mut Reader<'_>) -> Result<TerminalOrder, Garbled> {
    let mut number = || u16::try_from(input.u32()?).map_err(|_| Garbled);
    let size = Size { rows: number()?, columns: number()? };
    let settings = input.option(|input| {
        let modes = [input.u32()?, input.u32()?, input.u32()?, input.u32()?];
        Ok(TerminalSettings { modes, characters: input.bytes()?.to_vec() })
    })?;
    Ok(TerminalOrder { size, settings, stderr_apart: input.bool()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> LaunchOrder {
        LaunchOrder {
            name: PenName {
                home: HomeId::parse("0123456789abcdef").unwrap(),
                session: SessionId::parse("a").unwrap(),
            },
            token: "t".into(),
            folder: "/f".into(),
            argv: vec!["x".into()],
            env: vec![("A".into(), "b".into())],
            cwd: "/".into(),
            umask: 0o22,
            limits: Vec::new(),
            kind: HeldKind::Auto,
            linger: Duration::from_secs(1),
            grace: Duration::from_secs(2),
            lease: Some(Duration::from_secs(3)),
            tethered: true,
            terminal: None,
            stdin: Stdin::Pipe,
            output_limit: 4,
            timeout: Some(Duration::from_secs(5)),
            idle: Some(Duration::from_secs(6)),
            silence: Some(Duration::from_secs(7)),
            memory: Some(8),
            pids: Some(9),
            cpu: Some(10),
            best_effort: true,
            stop_signal: Some(2),
            prompt: Some(b"go".to_vec()),
        }
    }

    #[test]
    fn an_order_survives_the_round_trip() {
        let order = order();
        assert_eq!(LaunchOrder::decode(&order.encode()), Ok(order));
    }

    #[test]
    fn an_order_of_an_older_daemon_has_no_limits() {
        let bytes = order().encode();
        // Six limits with their marks, one word, a signal and a prompt with theirs.
        let older = &bytes[..bytes.len() - 6 * 9 - 1 - 5 - (1 + 8 + 2)];
        let none = LaunchOrder {
            timeout: None,
            idle: None,
            silence: None,
            memory: None,
            pids: None,
            cpu: None,
            best_effort: false,
            stop_signal: None,
            prompt: None,
            ..order()
        };
        assert_eq!(LaunchOrder::decode(older), Ok(none));
    }
}
