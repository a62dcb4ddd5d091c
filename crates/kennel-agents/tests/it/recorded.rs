//! What the real CLIs printed: `cargo xtask agents record` writes it anew.

use std::fs;
use std::path::Path;

use kennel_agents::{Agent, Because, End, Ended, Finished, Happening, Stream};
use kennel_types::Seat;
use serde_json::Value;

/// One run of a CLI.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) cli: String,
    pub(crate) scenario: String,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) ended: Ended,
}

impl Recorded {
    /// All that there are.
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

    /// This one.
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
            (Some(code), None) => End::Exited(code),
            (None, Some(signal)) => End::Signaled(signal),
            other => panic!("{}: {other:?}", folder.display()),
        };
        let because = match meta["because"].as_str() {
            Some("itself") => Because::Itself,
            Some("timed_out") => Because::TimedOut,
            other => panic!("{}: {other:?}", folder.display()),
        };
        Self {
            cli: meta["cli"].as_str().expect("a CLI").to_owned(),
            scenario: meta["scenario"].as_str().expect("a scenario").to_owned(),
            stdout: file("stdout"),
            stderr: file("stderr"),
            ended: Ended { end, because },
        }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.cli, self.scenario)
    }

    pub(crate) fn finish(&self) -> Finished {
        self.tell(&mut |_| {})
    }

    /// Reads it in one piece.
    pub(crate) fn tell(&self, tell: &mut dyn FnMut(Happening<'_>)) -> Finished {
        let mut reader = agent(&self.cli).reader();
        reader.read(Stream::Stdout, &self.stdout, tell);
        reader.read(Stream::Stderr, &self.stderr, tell);
        reader.finish(&self.ended, tell)
    }
}

fn folders(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

/// A built-in agent.
pub(crate) fn agent(name: &str) -> Agent {
    Agent::of(&Seat { agent: name.to_owned(), ..Seat::default() }).expect("it is built in")
}

/// Output and an end, read in one piece.
pub(crate) fn judged(agent: &Agent, stdout: &str, stderr: &str, ended: &Ended) -> Finished {
    let mut reader = agent.reader();
    reader.read(Stream::Stdout, stdout.as_bytes(), &mut |_| {});
    reader.read(Stream::Stderr, stderr.as_bytes(), &mut |_| {});
    reader.finish(ended, &mut |_| {})
}

/// It exited by itself.
pub(crate) fn exited(code: i32) -> Ended {
    Ended { end: End::Exited(code), because: Because::Itself }
}
