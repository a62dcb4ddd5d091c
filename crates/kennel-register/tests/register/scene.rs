//! A folder with a register, sample sessions, and tests that run in their own process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kennel_core::Session;
use kennel_register::{
    EventQuery, NewEvent, OpenRegisterError, OpenedRegister, PendingWrite, Register, SessionRecord,
    SessionTimes, WriteError,
};
use kennel_types::{IdMaker, LaunchToken, Phase, SessionId};
use tempfile::TempDir;

pub(crate) const HOME: &str = "00112233aabbccdd";
pub(crate) const NOW: u64 = 1_780_000_000_000;
/// The variable with the folder of a test that runs in its own process.
const ROLE: &str = "KENNEL_REGISTER_ROLE";

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("register.db")
    }

    pub(crate) fn companion(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("register.db{suffix}"))
    }

    pub(crate) fn open(&self) -> OpenedRegister {
        Register::open(&self.path(), HOME).unwrap()
    }

    /// Opens the register, and returns the refusal.
    pub(crate) fn refused(&self) -> OpenRegisterError {
        Register::open(&self.path(), HOME).expect_err("refused")
    }

    /// Creates a register with sessions 0 to 9, each with an event, and closes it.
    pub(crate) fn filled(&self) {
        let register = self.open().register;
        for number in 0..10 {
            let stored = stored(number, Phase::Running);
            let events = vec![event_of(number, "running")];
            wait(register.save(stored, events, kennel_register::Durability::Soon)).unwrap();
        }
        register.close();
    }
}

/// Waits for the result of a write. No write takes longer than a few lock timeouts.
pub(crate) fn wait<T: Send + 'static>(answer: PendingWrite<T>) -> Result<T, WriteError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || sender.send(answer.blocking_recv()));
    let answer = receiver.recv_timeout(Duration::from_secs(30)).expect("a result in time");
    assert!(waiting.join().unwrap().is_ok());
    answer.expect("the writer always replies")
}

/// Returns the id of a session. Greater numbers have greater ids.
pub(crate) fn id(number: u32) -> SessionId {
    IdMaker::default().next(NOW + u64::from(number) * 1000, number)
}

pub(crate) fn stored(number: u32, phase: Phase) -> SessionRecord {
    let over = phase == Phase::Cleaned;
    let created_ms = NOW + u64::from(number) * 1000;
    let times = SessionTimes {
        created_ms,
        started_ms: (phase != Phase::Reserved).then_some(created_ms + 5),
        ended_ms: over.then_some(created_ms + 70),
    };
    let mut session: Session = serde_json::from_str(&session_json(number)).unwrap();
    session.phase = phase;
    SessionRecord { session, times }
}

/// Returns a running session as version 1 of the schema stores it. Never change
/// `session.json`.
pub(crate) fn session_json(number: u32) -> String {
    const SESSION: &str = include_str!("session.json");
    SESSION
        .replace("\"ID\"", &format!("\"{}\"", id(number)))
        .replace("NUMBER", &number.to_string())
        .replace("TOKEN", token(number).secret())
}

pub(crate) fn token(number: u32) -> LaunchToken {
    LaunchToken::new(0xdead_beef_0000_0000_0000_0000 + u128::from(number))
}

pub(crate) fn event(kind: &str) -> NewEvent {
    NewEvent {
        time_ms: NOW,
        session: None,
        kind: kind.to_owned(),
        cause: "a test".to_owned(),
        by: None,
    }
}

pub(crate) fn event_of(number: u32, kind: &str) -> NewEvent {
    NewEvent { session: Some(id(number)), ..event(kind) }
}

pub(crate) fn all_events() -> EventQuery {
    EventQuery { since: 0, session: None, limit: usize::MAX }
}

/// Returns a command that runs only this (otherwise ignored) test, with its folder for
/// [`role_folder`].
pub(crate) fn role(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, folder);
    command
}

/// Returns [`role`] in its own mount namespace; reports a skipped test and returns `None` if that
/// is impossible.
pub(crate) fn role_with_mounts(test: &str, folder: &Path) -> Option<Command> {
    let trial = Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs \"$0\""])
        .arg(folder)
        .output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        skip(test, "no permission to mount");
        return None;
    }
    let role = role(test, folder);
    let mut command = Command::new("unshare");
    command.arg("--mount").arg(role.get_program()).args(role.get_args()).env(ROLE, folder);
    Some(command)
}

/// Returns the folder of a test that runs in its own process; `None` if it was started directly.
pub(crate) fn role_folder() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Runs a command, and panics with its output if it fails.
pub(crate) fn must_pass(mut command: Command) {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

/// Creates a folder and mounts on it.
pub(crate) fn mount(folder: &Path, args: &[&str]) -> bool {
    std::fs::create_dir_all(folder).unwrap();
    let output = Command::new("mount").args(args).arg(folder).output().unwrap();
    if !output.status.success() {
        eprintln!("mount: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// Reports a skipped test, as the other test programs do.
pub(crate) fn skip(what: &str, why: &str) {
    use std::io::Write;
    eprintln!("SKIPPED: {what}: {why}");
    if let Some(file) = std::env::var_os("KENNEL_TEST_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        writeln!(file, "{what}: {why}").unwrap();
    }
}
