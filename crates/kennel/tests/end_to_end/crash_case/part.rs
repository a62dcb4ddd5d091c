//! One agent of a scenario, and what is known about it without Kennel.

use std::fs;
use std::path::PathBuf;

use kennel_testing::{Running, Scene};
use serde_json::Value;

use crate::journal::Journal;
use crate::worktrees::Repo;

/// The exit code of an agent that ends by itself.
pub(crate) const CODE: u8 = 7;

/// A session of `fake-agent work`, by its name.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// Whether its agent ends by itself.
    ends: bool,
    /// The repository of its worktree.
    repo: Option<PathBuf>,
    /// More flags of `kennel run`.
    flags: &'static [&'static str],
}

/// What an agent has recorded about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It never ran.
    Nothing,
    /// It ran but did not finish.
    Started,
    /// It ran to its end.
    Ended,
}

impl Part {
    pub(crate) fn new(name: &'static str, ends: bool) -> Self {
        Self { name, ends, repo: None, flags: &[] }
    }

    /// Runs it in a worktree of this repository.
    pub(crate) fn in_worktree_of(self, repo: Option<&Repo<'_>>) -> Self {
        Self { repo: repo.map(|repo| repo.path.clone()), ..self }
    }

    /// Adds these flags.
    pub(crate) fn with(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    /// Starts `kennel run -d` without waiting.
    pub(crate) fn start(&self, scene: &Scene) -> Running {
        let path = |ending: &str| scene.path(&format!("work/{}.{ending}", self.name));
        let (lock, log) = (path("lock"), path("log"));
        let [lock, log] = [&lock, &log].map(|path| path.to_str().expect("a plain path"));
        let (agent, code) = (scene.fake_agent(), CODE.to_string());
        let mut argv = vec![agent.as_str(), "work", lock, log];
        argv.extend(self.ends.then_some(code.as_str()));
        let mut flags = vec!["-d", "--name", self.name, "--linger", "10ms", "--grace", "2s"];
        flags.extend(self.repo.as_ref().map(|_| "--worktree"));
        flags.extend(self.flags);
        let mut command = scene.run_command(&flags, &argv);
        if let Some(repo) = &self.repo {
            command.current_dir(repo);
        }
        Running::start(command)
    }

    /// Starts it, and waits until its agent is up.
    #[track_caller]
    pub(crate) fn launch(&self, scene: &Scene) -> String {
        let ended = self.start(scene).wait();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let id = ended.stdout.trim_end().to_owned();
        kennel_testing::eventually("some lines are in the journal", || {
            Journal::read(&scene.session_folder(&id)).numbers().len() >= 5
        });
        id
    }

    /// The session in a list of sessions.
    pub(crate) fn find<'a>(&self, sessions: &'a [Value]) -> Option<&'a Value> {
        sessions.iter().find(|session| session["name"] == self.name)
    }

    /// What its agent has recorded; checks that it did not run twice.
    #[track_caller]
    pub(crate) fn noted(&self, scene: &Scene) -> Noted {
        let log = fs::read_to_string(scene.path(&format!("work/{}.log", self.name)));
        let log = log.unwrap_or_default();
        let events: Vec<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
        match events[..] {
            [] => Noted::Nothing,
            ["start"] => Noted::Started,
            ["start", "end"] => Noted::Ended,
            _ => panic!("{} was launched more than once: {log}", self.name),
        }
    }
}
