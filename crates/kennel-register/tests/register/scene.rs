//! A folder with a register in it, sessions to put there, and tests that run in a process of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kennel_core::{IdMaker, LaunchToken, Phase, Session, SessionId};
use kennel_register::{
    Answer, EventQuery, NewEvent, OpenRegisterError, Opened, Register, Stored, Times, WriteError,
};
use tempfile::TempDir;

pub(crate) const HOME: &str = "00112233aabbccdd";
pub(crate) const NOW: u64 = 1_780_000_000_000;
/// Where a test that runs in a process of its own finds its folder.
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

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("register.db{suffix}"))
    }

    pub(crate) fn open(&self) -> Opened {
        Register::open(&self.path(), HOME).unwrap()
    }

    /// Opens, and is refused.
    pub(crate) fn refused(&self) -> OpenRegisterError {
        Register::open(&self.path(), HOME).expect_err("refused")
    }

    /// A register with sessions 0 to 9, each with an event, that was closed.
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

/// What came of a write. No write here takes longer than a few waits for a lock.
pub(crate) fn wait<T: Send + 'static>(answer: Answer<T>) -> Result<T, WriteError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || sender.send(answer.blocking_recv()));
    let answer = receiver.recv_timeout(Duration::from_secs(30)).expect("an answer in time");
    assert!(waiting.join().unwrap().is_ok());
    answer.expect("the writer answers everybody")
}

/// The id of a session by its number; later numbers sort later.
pub(crate) fn id(number: u32) -> SessionId {
    IdMaker::default().next(NOW + u64::from(number) * 1000, number)
}

pub(crate) fn stored(number: u32, phase: Phase) -> Stored {
    let over = phase == Phase::Cleaned;
    let created_ms = NOW + u64::from(number) * 1000;
    let times = Times {
        created_ms,
        started_ms: (phase != Phase::Reserved).then_some(created_ms + 5),
        ended_ms: over.then_some(created_ms + 70),
    };
    let mut session: Session = serde_json::from_str(&session_json(number)).unwrap();
    session.phase = phase;
    Stored { session, times }
}

/// A session that runs, as version 1 of the register wrote it: once and for all.
pub(crate) fn session_json(number: u32) -> String {
    const SESSION: &str = r#"{"id":"ID","spec":{"name":"session-NUMBER","argv":["sh","-c","echo 'ü' \"\n\""],
        "cwd":"/tmp/with blanks","terminal":null,"stdin":false,"pen":"auto",
        "grace":{"secs":1,"nanos":500000000},"linger":{"secs":0,"nanos":0},
        "lease":{"secs":900,"nanos":0},"tethered":false,"parent":null,"outlives_parent":false,
        "output_limit":1048576,"asked_by":"a test"},"wanted":{"wanted":"running"},"phase":"running",
        "launch":{"token":"TOKEN","recorded":true,"keeper_ready":true,"granted":true,
        "identity":"boot:1:2:3","pid":4711,"pen":null},
        "reason":null,"exit":null,"owed":[],"survivors":[]}"#;
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

/// This program again, to run only the named (and otherwise ignored) test, which takes its folder from
/// [`role_folder`].
pub(crate) fn role(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, folder);
    command
}

/// The same in a mount namespace of its own. Nothing, loudly, if this machine or user can't have one.
pub(crate) fn role_with_mounts(test: &str, folder: &Path) -> Option<Command> {
    let trial = Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs \"$0\""])
        .arg(folder)
        .output();
    if !trial.is_ok_and(|trial| trial.status.success()) {
        skip(test, "no right to mount anything");
        return None;
    }
    let role = role(test, folder);
    let mut command = Command::new("unshare");
    command.arg("--mount").arg(role.get_program()).args(role.get_args()).env(ROLE, folder);
    Some(command)
}

/// The folder of a test that runs in a process of its own; nothing if it was started by itself.
pub(crate) fn role_folder() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// Runs it, and passes on what it said if it failed.
pub(crate) fn must_pass(mut command: Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let cried = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{cried}");
}

/// Mounts something on a folder, which is made.
pub(crate) fn mount(folder: &Path, args: &[&str]) -> bool {
    std::fs::create_dir_all(folder).unwrap();
    let output = Command::new("mount").args(args).arg(folder).output().unwrap();
    if !output.status.success() {
        eprintln!("mount: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// Says that something was not tested, in the way that the other tests do.
pub(crate) fn skip(what: &str, why: &str) {
    use std::io::Write;
    eprintln!("SKIPPED: {what}: {why}");
    if let Some(file) = std::env::var_os("KENNEL_TEST_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        writeln!(file, "{what}: {why}").unwrap();
    }
}
