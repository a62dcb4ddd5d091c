//! Bringing the daemon up: by the yard if it lives, else by starting a yard.

use std::ffi::{CString, NulError, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use kennel_client::Client;
use kennel_keeper::protocol::{YardReport, YardRequest};
use kennel_keeper::yard::RESUME_VARIABLE;
use kennel_keeper::{KeeperClientError, YardClient};
use kennel_pen::{HOME_COOKIE, SESSION_COOKIE};
use kennel_sys::clone::{self, GateOutcome};
use kennel_sys::reap::WaitStatus;
use kennel_sys::{pidfd, reap};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::Signal;

use super::inside;
use crate::cli::ignored;
use crate::command_error::{CommandError, say};
use crate::config::{HandOverError, hand_over};
use crate::exit_code;
use crate::home::Home;
use crate::roles;

/// How long a daemon may take to come up.
const COME_UP: Duration = Duration::from_secs(10);
/// How long the yard may take to answer.
const YARD_ANSWER: Duration = Duration::from_secs(2);
/// How long to wait before a yard that has not started a daemon is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Held while a yard is being started.
const START_LOCK: &str = "start.lock";
/// What yard and daemon say before they have a log.
const YARD_LOG: &str = "log/yard.log";
const LARGEST_LOG: u64 = 1024 * 1024;
/// The most of it that is shown.
const SHOWN: usize = 2000;

/// Sees to it that a daemon listens.
pub(super) fn bring_up(home: &Home) -> Result<(), CommandError> {
    let deadline = Instant::now() + COME_UP;
    let log = YardLog::mark(home);
    let mut pauses = Backoff::default();
    loop {
        let starter = match YardStatus::ask(home)? {
            Some(()) => None,
            None => start_yard(home, deadline)?,
        };
        let result = await_daemon(home, deadline, starter.as_ref(), &log);
        match (result, starter) {
            (Ok(DaemonStartup::Up), _) => return Ok(()),
            // The yard was about to leave when it was asked, or another one was quicker than ours.
            (Ok(DaemonStartup::YardGone), _) => pauses.next(&[]),
            (Err(failure), starter) => {
                if let Some(starter) = starter {
                    starter.call_off();
                }
                return Err(failure);
            }
        }
    }
}

/// What came of waiting for a daemon.
#[derive(Debug, PartialEq, Eq)]
enum DaemonStartup {
    /// It listens.
    Up,
    /// There is no yard any more that would start one.
    YardGone,
}

/// The yard of a home, as it answers for itself.
#[derive(Debug)]
pub(crate) struct YardStatus {
    pub(crate) pid: i32,
    pub(crate) daemon: Option<i32>,
    pub(crate) keepers: usize,
}

impl YardStatus {
    /// Asks the yard to have a daemon up; none if there is no yard.
    fn ask(home: &Home) -> Result<Option<()>, CommandError> {
        let yard = match reach(home) {
            Ok(Some(yard)) => yard,
            Ok(None) => return Ok(None),
            // Others ask as well, and it is busy with them.
            Err(error) if is_busy(&error) => return Ok(Some(())),
            Err(error) => return Err(CommandError::setup(error)),
        };
        match yard.send(&YardRequest::Start, &[]) {
            Ok(()) => Ok(Some(())),
            // It went just now.
            Err(KeeperClientError::Closed) => Ok(None),
            Err(error) => {
                Err(CommandError::setup(anyhow!(error).context("can't ask the yard for a daemon")))
            }
        }
    }

    /// How things are with it; none if there is no yard.
    pub(crate) fn look(home: &Home) -> anyhow::Result<Option<Self>> {
        let Some(yard) = reach(home)? else { return Ok(None) };
        yard.send(&YardRequest::Status, &[])?;
        let deadline = Instant::now() + YARD_ANSWER;
        loop {
            match yard.receive()? {
                Some(YardReport::Status { pid, daemon, keepers, .. }) => {
                    return Ok(Some(Self { pid, daemon, keepers: keepers.len() }));
                }
                Some(_) => {}
                None if Instant::now() >= deadline => bail!("the yard does not answer"),
                None => pause(&[yard.as_fd()], deadline.saturating_duration_since(Instant::now())),
            }
        }
    }
}

fn is_busy(error: &anyhow::Error) -> bool {
    let call = error.downcast_ref::<io::Error>();
    call.is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

fn reach(home: &Home) -> anyhow::Result<Option<YardClient>> {
    match YardClient::connect(&home.folder) {
        Ok(yard) => Ok(Some(yard)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).context("can't reach the yard"),
    }
}

/// Whether this process is in a place where a yard may be started; if not, why.
pub(crate) fn may_start(home: &Home) -> Result<(), String> {
    if let Some(inside) = inside::find(home) {
        let session = inside.session.as_deref().unwrap_or("unknown");
        return Err(format!(
            "this is inside session {session} of the same home ({}), and a daemon that is started here \
             would end with it",
            inside.mark
        ));
    }
    let owner = fs::metadata(&home.folder).map(|meta| meta.uid());
    let own = rustix::process::geteuid().as_raw();
    match owner {
        Ok(owner) if owner != own => {
            Err(format!("the home belongs to user {owner}, and this is user {own}"))
        }
        _ => Ok(()),
    }
}

/// Starts a yard, unless another starter is at it: one at a time. None if the daemon is up meanwhile.
fn start_yard(home: &Home, deadline: Instant) -> Result<Option<YardStart>, CommandError> {
    let path = home.path(START_LOCK);
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = lock
        .with_context(|| format!("can't open {}", path.display()))
        .map_err(CommandError::setup)?;
    let mut pauses = Backoff::default();
    loop {
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => {
                let error = anyhow!(io::Error::from(error)).context("can't lock");
                return Err(CommandError::setup(error.context(path.display().to_string())));
            }
        }
        if is_up(home) {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            let held = format!("somebody has held {} for {} s", path.display(), COME_UP.as_secs());
            return Err(CommandError::because(exit_code::SETUP, held));
        }
        pauses.next(&[]);
    }
    // The one before us may have done it.
    if is_up(home) || YardStatus::ask(home)?.is_some() {
        return Ok(None);
    }
    if let Err(why) = may_start(home) {
        return Err(CommandError::because(
            exit_code::SETUP,
            format!("no daemon runs, and none is started: {why}"),
        )
        .hint("`kennel daemon start` from outside starts one"));
    }
    hand_over_if_possible(home)?;
    let process = spawn_yard(home).context("can't start the yard").map_err(CommandError::setup)?;
    Ok(Some(YardStart { process, _lock: lock }))
}

/// Leaves what the configuration says for the daemon. A slip in the file, or a full disk, must not keep anybody
/// from a daemon: those who are to be told of it at any rate ask before.
fn hand_over_if_possible(home: &Home) -> Result<(), CommandError> {
    match hand_over(home) {
        Ok(()) => {}
        Err(HandOverError::Config(error)) if home.config.named_by_flag().is_some() => {
            return Err(error.into());
        }
        Err(HandOverError::Config(error)) => say(&ignored(&error)),
        Err(error @ HandOverError::Write { .. }) => say(&format!("{:#}", anyhow!(error))),
    }
    Ok(())
}

/// A yard that was started, as long as we watch it come up. Others wait for their turn meanwhile.
#[derive(Debug)]
struct YardStart {
    process: OwnedFd,
    _lock: File,
}

impl YardStart {
    /// Without a daemon there is no use for it; it leaves unless it has keepers.
    fn call_off(self) {
        if pidfd::send(&self.process, Signal::TERM).is_ok() {
            pause(&[self.process.as_fd()], YARD_ANSWER);
        }
    }
}

fn is_up(home: &Home) -> bool {
    Client::of_home(&home.folder).dial().is_ok()
}

fn await_daemon(
    home: &Home,
    deadline: Instant,
    starter: Option<&YardStart>,
    log: &YardLog,
) -> Result<DaemonStartup, CommandError> {
    let mut pauses = Backoff::default();
    let yard = starter.map(|starter| starter.process.as_fd());
    let mut ask_at = Instant::now() + ASK_AGAIN;
    loop {
        if is_up(home) {
            return Ok(DaemonStartup::Up);
        }
        match yard.map(reap::reap) {
            // It is on its way.
            Some(Ok(None)) => {}
            // Another one has the home, or has just had it; or somebody has told ours to leave.
            Some(Ok(Some(WaitStatus::Code(code))))
                if [i32::from(exit_code::REFUSED), 0].contains(&code) =>
            {
                return still_nobody(home, deadline, log);
            }
            Some(_) => return Err(log.failure("the yard has ended")),
            None if Instant::now() < ask_at => {}
            // Not ours: it may leave. If it stays, it is asked again, for it may have had a daemon then.
            None if YardStatus::ask(home)?.is_none() => return still_nobody(home, deadline, log),
            None => ask_at = Instant::now() + ASK_AGAIN,
        }
        if log.since().contains(roles::CANT_SERVE) {
            return Err(log.failure("the daemon can't serve this home"));
        }
        if Instant::now() >= deadline {
            let text = format!("the daemon did not come up within {} s", COME_UP.as_secs());
            return Err(log.failure(&text));
        }
        pauses.next(yard.as_slice());
    }
}

/// Nobody starts a daemon for us; that is worth another try as long as there is time.
fn still_nobody(
    home: &Home,
    deadline: Instant,
    log: &YardLog,
) -> Result<DaemonStartup, CommandError> {
    if is_up(home) {
        return Ok(DaemonStartup::Up);
    }
    if Instant::now() >= deadline {
        return Err(log.failure("no yard stays"));
    }
    Ok(DaemonStartup::YardGone)
}

/// What yard and daemon say from now on.
struct YardLog {
    path: PathBuf,
    from: u64,
}

impl YardLog {
    fn mark(home: &Home) -> Self {
        let path = home.path(YARD_LOG);
        let from = fs::metadata(&path).map_or(0, |meta| meta.len());
        Self { path, from }
    }

    fn failure(&self, what: &str) -> CommandError {
        let lines = self.since();
        let mut said: Vec<_> = lines.lines().collect();
        said.dedup();
        let said = said.iter().map(|line| format!("\n  {line}")).collect::<String>();
        let failure = CommandError::because(exit_code::SETUP, format!("{what}{said}"));
        match self.path.parent() {
            Some(folder) => failure.hint(format!("more may be in {}", folder.display())),
            None => failure,
        }
    }

    /// The last of what was written.
    fn since(&self) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            let length = file.metadata()?.len();
            let from = self.from.max(length.saturating_sub(SHOWN as u64)).min(length);
            file.seek(SeekFrom::Start(from))?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            Ok(text)
        };
        // Only a help for people; that there is none is told by its absence.
        String::from_utf8_lossy(&read().unwrap_or_default()).trim_end().to_owned()
    }
}

/// Starts our own program as a yard: a session of its own, no descriptor, folder or variable of ours that
/// it has no use for.
pub(crate) fn spawn_yard(home: &Home) -> anyhow::Result<OwnedFd> {
    let log = open_log(home)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let c = |bytes: &[u8]| CString::new(bytes);
    let start = clone::ChildSpec {
        path: c(b"/proc/self/exe")?,
        argv: vec![c(roles::YARD.as_bytes())?, c(home.folder.as_os_str().as_bytes())?],
        env: environment(std::env::vars_os()).map(assignment).collect::<Result<_, _>>()?,
        folder: Some(c(b"/")?),
        umask: Some(0o077),
        limits: Vec::new(),
        streams: [null.as_fd(), null.as_fd(), log.as_fd()],
        terminal: false,
        cgroup: None,
    };
    match clone::start(start)?.open(Instant::now() + COME_UP)? {
        GateOutcome::Running(process) => Ok(process),
        GateOutcome::Failed(_, error) => Err(error.error.into()),
        GateOutcome::Died(_) => bail!("it was killed"),
        GateOutcome::Pending(opening) => {
            drop(opening.give_up());
            bail!("it could not be loaded in time")
        }
    }
}

/// The yard's log. One that has grown large is put aside first.
fn open_log(home: &Home) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(home.path("log"))?;
    let path = home.path(YARD_LOG);
    if fs::metadata(&path).is_ok_and(|meta| meta.len() > LARGEST_LOG) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(&path)
}

/// What of the environment concerns the yard and the daemon: where things are, and nothing secret.
pub(crate) fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const KEPT: [&str; 7] = ["HOME", "PATH", "LANG", "USER", "LOGNAME", "TZ", "TMPDIR"];
    const BEGINNINGS: [&str; 3] = ["XDG_", "LC_", "KENNEL_"];
    // A session's own, which a shell that was adopted has too; the last one is for the very process that it was
    // set for.
    const LEFT_OUT: [&str; 8] = [
        HOME_COOKIE,
        SESSION_COOKIE,
        "KENNEL_SESSION",
        "KENNEL_SESSION_NAME",
        "KENNEL_TOKEN",
        "KENNEL_TOKEN_FILE",
        "KENNEL_SOCKET",
        RESUME_VARIABLE,
    ];
    ours.filter(|(name, _)| {
        let Some(name) = name.to_str() else { return false };
        let wanted = KEPT.contains(&name) || BEGINNINGS.iter().any(|part| name.starts_with(part));
        wanted && !LEFT_OUT.contains(&name)
    })
}

/// `NAME=value`.
fn assignment((name, value): (OsString, OsString)) -> Result<CString, NulError> {
    let mut text = name.into_encoded_bytes();
    text.push(b'=');
    text.extend(value.into_encoded_bytes());
    CString::new(text)
}

/// Pauses between looks, each longer than the one before.
struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Backoff {
    /// Pauses, or until one of these is ready.
    fn next(&mut self, until: &[rustix::fd::BorrowedFd<'_>]) {
        pause(until, self.0);
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

pub(super) fn pause(until: &[rustix::fd::BorrowedFd<'_>], limit: Duration) {
    let mut fds = until.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect::<Vec<_>>();
    let limit =
        Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    // Whatever it returns, the caller looks again.
    rustix::event::poll(&mut fds, Some(&limit)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yard_gets_what_concerns_it_and_no_secret() {
        let ours = [
            ("HOME", "/home/u"),
            ("PATH", "/bin"),
            ("API_KEY", "secret"),
            ("KENNEL_HOME_ID", "x"),
            ("KENNEL_SESSION_ID", "y"),
            ("KENNEL_SESSION", "y"),
            ("KENNEL_TOKEN", "secret"),
            ("KENNEL_TOKEN_FILE", "/home/u/token"),
            ("KENNEL_SOCKET", "/home/u/kennel.sock"),
            ("KENNEL_YARD_RESUMES", "1 2 3"),
            ("KENNEL_LOG", "debug"),
            ("XDG_RUNTIME_DIR", "/run/u"),
            ("HOMELESS", "1"),
        ];
        let ours = ours.into_iter().map(|(name, value)| (name.into(), value.into()));
        let kept = environment(ours).map(|pair| assignment(pair).unwrap().into_string().unwrap());
        assert_eq!(
            kept.collect::<Vec<_>>(),
            ["HOME=/home/u", "PATH=/bin", "KENNEL_LOG=debug", "XDG_RUNTIME_DIR=/run/u"]
        );
    }

    #[test]
    fn only_what_is_new_in_a_log_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let since = |from| YardLog { path: path.clone(), from }.since();
        assert_eq!(since(0), "");
        fs::write(&path, "old\nnew\nnewer\n").unwrap();
        assert_eq!(since(4), "new\nnewer");
        assert_eq!(since(400), "", "it was cut meanwhile");
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert_eq!(since(0).len(), SHOWN);
    }
}
