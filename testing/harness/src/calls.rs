//! `kennel` as a person or a program uses it, and what it answers.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::condition::{eventually, look_until, soon};
use crate::running::{Ended, Running};
use crate::scene::{Pen, Scene};

impl Scene {
    /// Kennel's home in the scene.
    #[must_use]
    pub fn kennel_home(&self) -> PathBuf {
        self.path("home/kennel")
    }

    /// The folder of a session.
    #[must_use]
    pub fn session_folder(&self, id: &str) -> PathBuf {
        self.kennel_home().join("sessions").join(id)
    }

    /// Runs `kennel ARGS…` to its end.
    #[must_use]
    pub fn call(&self, args: &[&str]) -> Ended {
        Running::start(self.kennel(args)).wait()
    }

    /// The same, if it must succeed; gives what it printed.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn call_ok(&self, args: &[&str]) -> String {
        let ended = self.call(args);
        assert_eq!(ended.code, 0, "kennel {args:?}: {}{}", ended.stdout, ended.stderr);
        ended.stdout
    }

    /// The same, if it prints JSON.
    ///
    /// # Panics
    /// If it fails or prints something else.
    #[track_caller]
    pub fn call_json(&self, args: &[&str]) -> Value {
        let text = self.call_ok(args);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    /// The flag with which the scene's pen is asked for.
    #[must_use]
    pub fn pen_name(&self) -> &'static str {
        match self.pen {
            Pen::Cgroup => "cgroup",
            Pen::Subtree => "subtree",
        }
    }

    /// Starts a session that is left to itself, with any command; gives its id.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn launch_command(&self, flags: &[&str], argv: &[&str]) -> String {
        let flags = [&["-d"], flags].concat();
        let ended = Running::start(self.run_command(&flags, argv)).wait();
        assert_eq!(ended.code, 0, "{argv:?}: {}{}", ended.stdout, ended.stderr);
        ended.stdout.trim_end().to_owned()
    }

    /// Starts a session of the fake agent that is left to itself; gives its id.
    #[track_caller]
    pub fn launch(&self, flags: &[&str], behaviour: &[&str]) -> String {
        let agent = self.fake_agent();
        self.launch_command(flags, &[&[agent.as_str()], behaviour].concat())
    }

    /// The same; waits until the agent is up.
    #[track_caller]
    pub fn launch_ready(&self, flags: &[&str], behaviour: &[&str]) -> String {
        let id = self.launch(flags, behaviour);
        eventually("the agent is up", || self.output(&id).contains("ready"));
        id
    }

    /// Everything that a session has printed so far.
    ///
    /// # Panics
    /// If it can't be shown.
    #[track_caller]
    #[must_use]
    pub fn output(&self, id: &str) -> String {
        self.call_ok(&["logs", id])
    }

    /// All sessions on record.
    ///
    /// # Panics
    /// If they can't be listed.
    #[track_caller]
    #[must_use]
    pub fn sessions(&self) -> Vec<Value> {
        match self.call_json(&["ps", "-a", "--json"]) {
            Value::Array(sessions) => sessions,
            other => panic!("no list: {other}"),
        }
    }

    /// One session, by id or name.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    #[must_use]
    pub fn session(&self, reference: &str) -> Value {
        let sessions = self.sessions();
        let meant = |session: &&Value| session["id"] == reference || session["name"] == reference;
        match sessions.iter().rev().find(meant) {
            Some(session) => session.clone(),
            None => panic!("no session {reference} in {sessions:#?}"),
        }
    }

    /// Waits until a session is in this phase.
    ///
    /// # Panics
    /// If it does not get there.
    #[track_caller]
    pub fn wait_phase(&self, reference: &str, phase: &str) -> Value {
        let mut last = Value::Null;
        let look = || {
            last = self.session(reference);
            (last["phase"] == phase).then(|| last.clone())
        };
        match look_until(soon(), look) {
            Some(seen) => seen,
            None => panic!("not {phase}: {last:#}\n{}", self.logs()),
        }
    }

    /// What yard and daemon have written to their logs, to be shown when something is wrong.
    #[must_use]
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for name in ["yard.log", "daemon.log"] {
            let path = self.kennel_home().join("log").join(name);
            let log = fs::read_to_string(path).unwrap_or_default();
            text.push_str(&format!("--- {name}\n{log}"));
        }
        text
    }
}
