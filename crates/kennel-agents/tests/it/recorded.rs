//! Recordings of the real agents; `cargo xtask agents record` replaces them.

use std::fs;
use std::path::Path;

use kennel_agents::{
    Agent, AgentEvent, AttemptEnd, EndedBy, FinishedAttempt, OutputStream, ProcessEnd,
};
use kennel_types::AgentSettings;
use serde_json::Value;

/// One recorded run of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) cli: String,
    pub(crate) scenario: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) ended: AttemptEnd,
}

impl Recorded {
    /// Loads all recordings.
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut all = Vec::new();
        for cli in folders(&folder) {
            for scenario in folders(&cli) {
                all.push(Self::read(&scenario));
            }
        }
        assert!(all.len() > 40, "only {} recordings in {}", all.len(), folder.display());
        all
    }

    /// Loads one recording.
    pub(crate) fn of(cli: &str, scenario: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        Self::read(&folder.join(cli).join(scenario))
    }

    fn read(folder: &Path) -> Self {
        let file = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let meta: Value = serde_json::from_slice(&file("meta.json")).expect("meta.json");
        let number = |name: &str| meta["end"][name].as_i64().map(|n| i32::try_from(n).unwrap());
        let end = match (number("exited"), number("signaled")) {
            (Some(code), None) => ProcessEnd::Exited(code),
            (None, Some(signal)) => ProcessEnd::Signaled(signal),
            other => panic!("{}: {other:?}", folder.display()),
        };
        let ended_by = match meta["because"].as_str() {
            Some("itself") => EndedBy::Itself,
            Some("timed_out") => EndedBy::TimedOut,
            other => panic!("{}: {other:?}", folder.display()),
        };
        Self {
            cli: meta["cli"].as_str().expect("a CLI").to_owned(),
            scenario: meta["scenario"].as_str().expect("a scenario").to_owned(),
            stdout: file("stdout"),
            stderr: file("stderr"),
            ended: AttemptEnd { end, ended_by },
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.cli, self.scenario)
    }

    pub(crate) fn finish(&self) -> FinishedAttempt {
        self.emit(&mut |_| {})
    }

    /// Reads the recording in one piece.
    pub(crate) fn emit(&self, emit: &mut dyn FnMut(AgentEvent<'_>)) -> FinishedAttempt {
        let mut reader = agent(&self.cli).reader();
        reader.read(OutputStream::Stdout, &self.stdout, emit);
        reader.read(OutputStream::Stderr, &self.stderr, emit);
        reader.finish(&self.ended, emit)
    }
}

fn folders(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

/// Returns a built-in agent.
pub(crate) fn agent(name: &str) -> Agent {
    Agent::of(&AgentSettings { agent: name.to_owned(), ..AgentSettings::default() })
        .expect("it is built in")
}

/// Reads and judges this output in one piece.
pub(crate) fn judged(
    agent: &Agent,
    stdout: &str,
    stderr: &str,
    ended: &AttemptEnd,
) -> FinishedAttempt {
    let mut reader = agent.reader();
    reader.read(OutputStream::Stdout, stdout.as_bytes(), &mut |_| {});
    reader.read(OutputStream::Stderr, stderr.as_bytes(), &mut |_| {});
    reader.finish(ended, &mut |_| {})
}

/// Returns an exit with this code, without Kennel's doing.
pub(crate) fn exited(code: i32) -> AttemptEnd {
    AttemptEnd { end: ProcessEnd::Exited(code), ended_by: EndedBy::Itself }
}
