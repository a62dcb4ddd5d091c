//! Starting the daemon, and when to restart it.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_pen::wire::Channel;
use kennel_sys::clone::{self, ChildSpec};
use kennel_sys::reap::WaitStatus;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

use super::resume::RESUME_VARIABLE;
use crate::protocol::LONGEST_REQUEST;

/// The `argv[0]` that makes the program run as the daemon, and that `ps` shows.
pub const DAEMON: &str = "kennel-daemon";

const EXEC_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before a crashed daemon is restarted. It doubles each time …
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// … up to this maximum.
const LAST_PAUSE: Duration = Duration::from_secs(30);
/// After a daemon that ran this long, the first pause applies again.
const HEALTHY_RUN: Duration = Duration::from_secs(60);

/// What a daemon requests by its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonExit {
    /// All sessions have ended, so the yard exits too.
    Stopped,
    /// Sessions continue without a daemon, until a client requests one.
    Kept,
    /// A new daemon must be started at once.
    Replaced,
    /// Any other exit code, or a signal.
    Crashed,
}

impl DaemonExit {
    pub fn code(self) -> i32 {
        match self {
            Self::Stopped => 0,
            Self::Kept => 10,
            Self::Replaced => 11,
            Self::Crashed => 1,
        }
    }

    pub(super) fn of(ended: WaitStatus) -> Self {
        match ended {
            WaitStatus::Code(0) => Self::Stopped,
            WaitStatus::Code(10) => Self::Kept,
            WaitStatus::Code(11) => Self::Replaced,
            _ => Self::Crashed,
        }
    }
}

pub(super) struct DaemonProcess {
    pub(super) pid: i32,
    pub(super) pidfd: OwnedFd,
    pub(super) channel: Channel,
    started: Instant,
}

impl DaemonProcess {
    pub(super) fn start(home: &Path) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, Mode::empty())?;
        let argv = vec![CString::new(DAEMON)?, CString::new(home.as_os_str().as_bytes())?];
        let streams = [theirs.as_fd(), null.as_fd(), rustix::stdio::stderr()];
        let mut spec = ChildSpec::new(CString::from(c"/proc/self/exe"), argv, streams);
        spec.env = environment()?;
        let gated = clone::start(spec).map_err(io::Error::other)?;
        let pid = gated.pid().as_raw_pid();
        let pidfd = gated.run(Instant::now() + EXEC_TIMEOUT)?;
        let channel = Channel::new(ours, LONGEST_REQUEST);
        Ok(Self { pid, pidfd, channel, started: Instant::now() })
    }

    pub(super) fn ran_long(&self) -> bool {
        self.started.elapsed() >= HEALTHY_RUN
    }
}

fn environment() -> io::Result<Vec<CString>> {
    // This variable is for the yard only.
    let ours = std::env::vars_os().filter(|(name, _)| name != RESUME_VARIABLE);
    let pairs = ours.map(|(name, value)| {
        let mut pair: OsString = name;
        pair.push("=");
        pair.push(value);
        Ok(CString::new(pair.into_vec())?)
    });
    pairs.collect()
}

#[derive(Debug, Default)]
pub(super) struct DaemonBackoff {
    crashes: u32,
}

impl DaemonBackoff {
    /// Returns the pause after a crash.
    pub(super) fn crashed(&mut self, ran_long: bool) -> Duration {
        if ran_long {
            self.crashes = 0;
        }
        let pause = FIRST_PAUSE * 2_u32.saturating_pow(self.crashes.min(16));
        self.crashes += 1;
        pause.min(LAST_PAUSE)
    }

    pub(super) fn reset(&mut self) {
        self.crashes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_start_over_after_a_long_run() {
        let mut backoff = DaemonBackoff::default();
        let pauses: Vec<_> = (0..12).map(|_| backoff.crashed(false)).collect();
        assert_eq!(pauses[0], FIRST_PAUSE);
        assert!(pauses.is_sorted());
        assert_eq!(pauses[11], LAST_PAUSE);
        assert_eq!(backoff.crashed(true), FIRST_PAUSE);
    }

    #[test]
    fn exit_codes_survive_the_round_trip() {
        for exit in [DaemonExit::Stopped, DaemonExit::Kept, DaemonExit::Replaced] {
            assert_eq!(DaemonExit::of(WaitStatus::Code(exit.code())), exit);
        }
        assert_eq!(DaemonExit::of(WaitStatus::Code(101)), DaemonExit::Crashed);
        assert_eq!(
            DaemonExit::of(WaitStatus::Signal { signal: 9, core: false }),
            DaemonExit::Crashed
        );
    }
}
