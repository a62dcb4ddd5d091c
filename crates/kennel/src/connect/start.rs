//! Starts the daemon: through the yard if one runs, otherwise by starting a yard.

use std::ffi::{CString, NulError, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::{anyhow, bail};
use kennel_client::Client;
use kennel_keeper::protocol::{YardReport, YardRequest};
use kennel_keeper::yard::RESUME_VARIABLE;
use kennel_keeper::{KeeperClientError, YardClient};
use kennel_pen::{HOME_COOKIE, SESSION_COOKIE};
use kennel_sys::reap::WaitStatus;
use kennel_sys::{pidfd, reap};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::process::Signal;

use super::{inside, nothing_listens};
use crate::cli::ignored;
use crate::command_prelude::*;
use crate::config::DaemonSettings;
use crate::roles;

const START_TIMEOUT: Duration = Duration::from_secs(10);
const YARD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before a yard that has not started a daemon is asked again.
const ASK_INTERVAL: Duration = Duration::from_millis(50);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// Held while a yard is being started.
const START_LOCK: &str = "start.lock";
/// The messages of yard and daemon before they have a log.
const YARD_LOG: &str = "log/yard.log";
const MAX_LOG: u64 = 1024 * 1024;
const SHOWN: usize = 2000;
const UNREACHABLE: &str = "can't reach the yard";

pub(super) fn bring_up(home: &HomeDir) -> Result<(), CommandError> {
    let deadline = Instant::now() + START_TIMEOUT;
    let log = YardLog::from_now(home);
    let mut delay = CheckDelay(FIRST_PAUSE);
    loop {
        let starter = if ask_yard(home)? { None } else { start_yard(home, deadline)? };
        match await_daemon(home, deadline, starter.as_ref(), &log) {
            Ok(true) => return Ok(()),
            // The yard was about to exit when it was asked, or another one was faster than ours.
            Ok(false) => delay.pause(None),
            Err(failure) => {
                if let Some(starter) = starter {
                    starter.cancel();
                }
                return Err(failure);
            }
        }
    }
}

/// Asks the yard to start a daemon. Returns whether there is a yard.
fn ask_yard(home: &HomeDir) -> Result<bool, CommandError> {
    let yard = match reach(home) {
        Ok(Some(yard)) => yard,
        Ok(None) => return Ok(false),
        // It is busy with other clients that ask for the same.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
        Err(error) => return Err(error).context(UNREACHABLE).map_err(CommandError::setup),
    };
    match yard.send(&YardRequest::Start) {
        Ok(()) => Ok(true),
        // It has just exited.
        Err(KeeperClientError::Closed) => Ok(false),
        Err(error) => {
            Err(error).context("can't ask the yard for a daemon").map_err(CommandError::setup)
        }
    }
}

#[derive(Debug)]
pub(crate) struct YardStatus {
    pub(crate) pid: i32,
    pub(crate) daemon: Option<i32>,
    pub(crate) keepers: usize,
}

impl YardStatus {
    /// Fetches the status; none if there is no yard.
    pub(crate) fn fetch(home: &HomeDir) -> anyhow::Result<Option<Self>> {
        let Some(yard) = reach(home).context(UNREACHABLE)? else { return Ok(None) };
        yard.send(&YardRequest::Status)?;
        let deadline = Instant::now() + YARD_TIMEOUT;
        loop {
            match yard.receive()? {
                Some((YardReport::Status { pid, daemon, keepers, .. }, _)) => {
                    return Ok(Some(Self { pid, daemon, keepers: keepers.len() }));
                }
                Some(_) => {}
                None if Instant::now() >= deadline => bail!("the yard does not answer"),
                None => readable(&yard, Some(deadline))?,
            }
        }
    }
}

fn reach(home: &HomeDir) -> io::Result<Option<YardClient>> {
    match YardClient::connect(&home.folder) {
        Ok(yard) => Ok(Some(yard)),
        Err(error) if nothing_listens(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks whether this process may start a yard.
pub(crate) fn may_start(home: &HomeDir) -> Result<(), String> {
    if let Some(inside) = inside::find(home) {
        let session = inside.session.as_deref().unwrap_or("unknown");
        return Err(format!(
            "this process is inside session {session} of the same home ({}), and a daemon started here \
             would end with the session",
            inside.mark
        ));
    }
    let owner = fs::metadata(&home.folder).map(|meta| meta.uid());
    let own = rustix::process::geteuid().as_raw();
    match owner {
        Ok(owner) if owner != own => {
            Err(format!("the home belongs to user {owner}, but this process runs as user {own}"))
        }
        _ => Ok(()),
    }
}

/// Starts a yard, one process at a time. Returns none if a daemon listens by then.
fn start_yard(home: &HomeDir, deadline: Instant) -> Result<Option<YardStart>, CommandError> {
    let path = home.path(START_LOCK);
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let lock = lock
        .with_context(|| format!("can't open {}", path.display()))
        .map_err(CommandError::setup)?;
    let mut delay = CheckDelay(FIRST_PAUSE);
    loop {
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => {
                let error = anyhow!(error).context(format!("can't lock {}", path.display()));
                return Err(CommandError::setup(error));
            }
        }
        if is_up(home) {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            let held = format!(
                "another process has held {} for {} s",
                path.display(),
                START_TIMEOUT.as_secs()
            );
            return Err(CommandError::because(exit_code::SETUP, held));
        }
        delay.pause(None);
    }
    // The previous holder of the lock may have started it.
    if is_up(home) || ask_yard(home)? {
        return Ok(None);
    }
    if let Err(why) = may_start(home) {
        return Err(CommandError::because(
            exit_code::SETUP,
            format!("no daemon is running, and none can be started: {why}"),
        )
        .hint("run `kennel daemon start` outside of the session"));
    }
    hand_over_if_possible(home)?;
    let process = spawn_yard(home).context("can't start the yard").map_err(CommandError::setup)?;
    Ok(Some(YardStart { process, _lock: lock }))
}

/// Hands the configuration over to the daemon. A mistake in the file or a full disk must not
/// prevent its start. Commands that must fail in that case check before.
fn hand_over_if_possible(home: &HomeDir) -> Result<(), CommandError> {
    match DaemonSettings::of(home) {
        Err(error) if home.config.named_by_flag().is_some() => return Err(error.into()),
        Err(error) => print_message(&ignored(&error)),
        Ok(settings) => {
            if let Err(error) = settings.write(home) {
                print_message(&format!("{error:#}"));
            }
        }
    }
    Ok(())
}

/// A yard that we have started. Other processes wait for the lock until the daemon listens.
#[derive(Debug)]
struct YardStart {
    process: OwnedFd,
    _lock: File,
}

impl YardStart {
    /// Ends the yard, which is useless without a daemon; it stays if it has keepers.
    fn cancel(self) {
        if pidfd::send(&self.process, Signal::TERM).is_ok() {
            readable(&self.process, Some(Instant::now() + YARD_TIMEOUT)).ok();
        }
    }
}

fn is_up(home: &HomeDir) -> bool {
    Client::of_home(&home.folder).dial().is_ok()
}

/// Returns whether the daemon listens; false if the yard that would start it has exited.
fn await_daemon(
    home: &HomeDir,
    deadline: Instant,
    starter: Option<&YardStart>,
    log: &YardLog,
) -> Result<bool, CommandError> {
    let mut delay = CheckDelay(FIRST_PAUSE);
    // No yard starts a daemon; the caller may try again until the deadline.
    let no_yard = || match is_up(home) {
        false if Instant::now() >= deadline => Err(log.error("each new yard exits at once")),
        is_up => Ok(is_up),
    };
    let yard = starter.map(|starter| starter.process.as_fd());
    let mut ask_at = Instant::now() + ASK_INTERVAL;
    while !is_up(home) {
        match yard.map(reap::reap) {
            // It is still starting.
            Some(Ok(None)) => {}
            // Another yard serves the home or has just served it, or ours was asked to exit.
            Some(Ok(Some(WaitStatus::Code(code))))
                if [i32::from(exit_code::REFUSED), 0].contains(&code) =>
            {
                return no_yard();
            }
            Some(_) => return Err(log.error("the yard has exited")),
            None if Instant::now() < ask_at => {}
            // It is not ours and may exit. Otherwise it is asked again: its daemon may have died.
            None if !ask_yard(home)? => return no_yard(),
            None => ask_at = Instant::now() + ASK_INTERVAL,
        }
        if log.since().contains(roles::CANT_SERVE) {
            return Err(log.error("the daemon can't serve this home"));
        }
        if Instant::now() >= deadline {
            let text = format!("the daemon did not start within {} s", START_TIMEOUT.as_secs());
            return Err(log.error(&text));
        }
        delay.pause(yard);
    }
    Ok(true)
}

/// The messages of yard and daemon from now on.
struct YardLog {
    path: PathBuf,
    from: u64,
}

impl YardLog {
    fn from_now(home: &HomeDir) -> Self {
        let path = home.path(YARD_LOG);
        let from = fs::metadata(&path).map_or(0, |meta| meta.len());
        Self { path, from }
    }

    fn error(&self, what: &str) -> CommandError {
        let lines = self.since();
        let mut logged: Vec<_> = lines.lines().collect();
        logged.dedup();
        let logged = logged.iter().map(|line| format!("\n  {line}")).collect::<String>();
        let failure = CommandError::because(exit_code::SETUP, format!("{what}{logged}"));
        match self.path.parent() {
            Some(folder) => failure.hint(format!("see the logs in {}", folder.display())),
            None => failure,
        }
    }

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
        // The messages only help the user; an error without them is still useful.
        String::from_utf8_lossy(&read().unwrap_or_default()).trim_end().to_owned()
    }
}

pub(crate) fn spawn_yard(home: &HomeDir) -> anyhow::Result<OwnedFd> {
    let log = open_log(home)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let env = environment(std::env::vars_os()).map(assignment).collect::<Result<_, _>>()?;
    let argv = vec![CString::new(roles::YARD)?, CString::new(home.folder.as_os_str().as_bytes())?];
    let streams = [null.as_fd(), null.as_fd(), log.as_fd()];
    roles::spawn(argv, env, streams, Instant::now() + START_TIMEOUT)
}

/// Opens the yard's log. A large one is rotated first.
fn open_log(home: &HomeDir) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(home.path("log"))?;
    let path = home.path(YARD_LOG);
    if fs::metadata(&path).is_ok_and(|meta| meta.len() > MAX_LOG) {
        fs::rename(&path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(&path)
}

/// Selects the variables that yard and daemon need: locations, but no secrets.
pub(crate) fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const KEPT: [&str; 7] = ["HOME", "PATH", "LANG", "USER", "LOGNAME", "TZ", "TMPDIR"];
    const PREFIXES: [&str; 3] = ["XDG_", "LC_", "KENNEL_"];
    // The variables of a session, which an adopted shell has, too. The last one is only for the
    // process that it was set for.
    const EXCLUDED: [&str; 8] = [
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
        let wanted = KEPT.contains(&name) || PREFIXES.iter().any(|part| name.starts_with(part));
        wanted && !EXCLUDED.contains(&name)
    })
}

fn assignment((name, value): (OsString, OsString)) -> Result<CString, NulError> {
    let mut text = name.into_encoded_bytes();
    text.push(b'=');
    text.extend(value.into_encoded_bytes());
    CString::new(text)
}

/// The delay before the next check, which doubles each time.
struct CheckDelay(Duration);

impl CheckDelay {
    /// Pauses, or until this process has exited.
    fn pause(&mut self, until: Option<BorrowedFd<'_>>) {
        let mut fds = until.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect::<Vec<_>>();
        // Whatever it returns, the caller checks again.
        poll(&mut fds, Some(Instant::now() + self.0)).ok();
        self.0 = (self.0 * 2).min(MAX_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yard_gets_the_variables_it_needs_and_no_secrets() {
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
    fn shows_only_new_lines_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let since = |from| YardLog { path: path.clone(), from }.since();
        assert_eq!(since(0), "");
        fs::write(&path, "old\nnew\nnewer\n").unwrap();
        assert_eq!(since(4), "new\nnewer");
        assert_eq!(since(400), "", "the log was truncated");
        fs::write(&path, "x".repeat(5000)).unwrap();
        assert_eq!(since(0).len(), SHOWN);
    }
}
