//! Runs `kennel` as a user or a program does.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::condition::{eventually, look_until, soon};
use crate::running::{Ended, Running};
use crate::scene::{Pen, Scene};

impl Scene {
    /// Returns Kennel's home in the scene.
    #[must_use]
    pub fn kennel_home(&self) -> PathBuf {
        self.path("home/kennel")
    }

    /// Returns the folder of a session.
    #[must_use]
    pub fn session_folder(&self, id: &str) -> PathBuf {
        self.kennel_home().join("sessions").join(id)
    }

    /// Runs `kennel ARGS…` to its end.
    #[must_use]
    pub fn call(&self, args: &[&str]) -> Ended {
        Running::start(self.kennel(args)).wait()
    }

    /// Runs `kennel ARGS…`, which must succeed, and returns its output.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn call_ok(&self, args: &[&str]) -> String {
        let ended = self.call(args);
        assert_eq!(ended.code, 0, "kennel {args:?}: {}{}", ended.stdout, ended.stderr);
        ended.stdout
    }

    /// Runs `kennel ARGS…`, which must succeed, and parses its output as JSON.
    ///
    /// # Panics
    /// If it fails, or prints something other than JSON.
    #[track_caller]
    pub fn call_json(&self, args: &[&str]) -> Value {
        let text = self.call_ok(args);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    /// Returns the value of `--pen` for the scene's pen.
    #[must_use]
    pub fn pen_name(&self) -> &'static str {
        match self.pen {
            Pen::Cgroup => "cgroup",
            Pen::Subtree => "subtree",
        }
    }

    /// Starts a detached session with any command; returns its id.
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

    /// Starts a detached session of the fake agent; returns its id.
    #[track_caller]
    pub fn launch(&self, flags: &[&str], behaviour: &[&str]) -> String {
        let agent = self.fake_agent();
        self.launch_command(flags, &[&[agent.as_str()], behaviour].concat())
    }

    /// Starts a detached session of the fake agent, and waits until the agent is ready.
    #[track_caller]
    pub fn launch_ready(&self, flags: &[&str], behaviour: &[&str]) -> String {
        let id = self.launch(flags, behaviour);
        eventually("the agent is ready", || self.output(&id).contains("ready"));
        id
    }

    /// Returns the output of a session so far.
    ///
    /// # Panics
    /// If `kennel logs` fails.
    #[track_caller]
    #[must_use]
    pub fn output(&self, id: &str) -> String {
        self.call_ok(&["logs", id])
    }

    /// Returns all sessions on record.
    ///
    /// # Panics
    /// If `kennel ps` fails.
    #[track_caller]
    #[must_use]
    pub fn sessions(&self) -> Vec<Value> {
        match self.call_json(&["ps", "-a", "--json"]) {
            Value::Array(sessions) => sessions,
            other => panic!("not a list: {other}"),
        }
    }

    /// Returns a session by id or name; of several with the name, the newest.
    ///
    /// # Panics
    /// If there is no such session.
    #[track_caller]
    #[must_use]
    pub fn session(&self, reference: &str) -> Value {
        let sessions = self.sessions();
        let matches = |session: &&Value| session["id"] == reference || session["name"] == reference;
        match sessions.iter().rev().find(matches) {
            Some(session) => session.clone(),
            None => panic!("no session {reference} in {sessions:#?}"),
        }
    }

    /// Waits until a session is in this phase.
    ///
    /// # Panics
    /// If it does not reach the phase in time.
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

    /// Returns the logs of yard and daemon, for the message of a failed test.
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
