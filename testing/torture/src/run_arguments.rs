//! The arguments of a `kennel run`, drawn at random.

use std::path::Path;

use fastrand::Rng;

use crate::job::AgentJob;
use crate::random::{chance, weighted};

/// One request for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunArguments {
    /// What the agent does.
    pub(crate) job: AgentJob,
    /// The pen; `None` for the default of the scene.
    pub(crate) pen: Option<&'static str>,
    pub(crate) grace_ms: u32,
    pub(crate) linger_ms: u32,
    /// Whether the client waits for the end of the session.
    pub(crate) foreground: bool,
    /// Whether the request has an idempotency key, so that it can be repeated.
    pub(crate) keyed: bool,
    pub(crate) restarts: u32,
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) idle_ms: Option<u32>,
    pub(crate) silence_ms: Option<u32>,
    pub(crate) lease_ms: Option<u32>,
    pub(crate) ready: Option<ReadyFlags>,
    pub(crate) queue: bool,
    pub(crate) terminal: bool,
    pub(crate) worktree: WorktreeFlag,
    /// Whether the agent sends a report first.
    pub(crate) reports: bool,
}

/// The readiness check of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadyFlags {
    pub(crate) sign: &'static str,
    pub(crate) within_ms: u32,
    pub(crate) wait: bool,
}

/// Whether the session has a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorktreeFlag {
    No,
    /// The agent changes nothing in it.
    Clean,
    /// The agent leaves a file in it, which must not be lost.
    Dirty,
}

impl RunArguments {
    /// Draws a request. `pens` are the pens that the scene supports.
    pub(crate) fn draw(rng: &mut Rng, pens: &[&'static str]) -> Self {
        let some = |rng: &mut Rng, percent, range: std::ops::Range<u32>| {
            let value = rng.u32(range);
            chance(rng, percent).then_some(value)
        };
        let job = AgentJob::draw(rng);
        let foreground = chance(rng, 15);
        let ready = ReadyFlags {
            sign: weighted(
                rng,
                &[(4, "line:ready"), (2, "line:^line 3"), (3, "report"), (1, "line:never")],
            ),
            within_ms: rng.u32(200..3000),
            wait: rng.bool() && !foreground,
        };
        Self {
            job,
            pen: chance(rng, 30).then(|| *rng.choice(pens).unwrap_or(&"auto")),
            grace_ms: rng.u32(50..1500),
            linger_ms: rng.u32(5..400),
            foreground,
            keyed: chance(rng, 25),
            restarts: some(rng, 12, 1..3).filter(|_| !foreground).unwrap_or(0),
            timeout_ms: some(rng, 10, 300..4000),
            idle_ms: some(rng, 7, 1000..3000),
            silence_ms: some(rng, 5, 500..3000),
            lease_ms: some(rng, 5, 500..3000),
            ready: chance(rng, 18).then_some(ready),
            queue: rng.bool(),
            terminal: chance(rng, 10),
            worktree: weighted(
                rng,
                &[(85, WorktreeFlag::No), (10, WorktreeFlag::Clean), (5, WorktreeFlag::Dirty)],
            ),
            reports: chance(rng, 10),
        }
    }

    /// The flags of `kennel run`, for a session of this name.
    pub(crate) fn flags(&self, name: &str, scenes_pen: &str) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| flags.extend(words.iter().map(ToString::to_string));
        add(&["--name", name, "--pen", self.pen.unwrap_or(scenes_pen)]);
        add(&["--grace", &ms(self.grace_ms), "--linger", &ms(self.linger_ms)]);
        if !self.foreground {
            add(&["-d"]);
        }
        if self.keyed {
            add(&["--key", &format!("key-{name}")]);
        }
        if self.restarts > 0 {
            add(&["--restart", &format!("on-failure:{}", self.restarts)]);
        }
        let limits = [
            ("--timeout", self.timeout_ms),
            ("--idle", self.idle_ms),
            ("--silence", self.silence_ms),
            ("--lease", self.lease_ms),
        ];
        for (flag, limit) in limits {
            if let Some(limit) = limit {
                add(&[flag, &ms(limit)]);
            }
        }
        if let Some(ready) = self.ready {
            add(&["--ready", ready.sign, "--ready-timeout", &ms(ready.within_ms)]);
            if ready.wait {
                add(&["--wait-ready"]);
            }
        }
        if self.queue {
            add(&["--queue"]);
        }
        if self.terminal {
            add(&["-t"]);
        }
        if self.job == AgentJob::Echoes && !self.terminal {
            add(&["-i"]);
        }
        if self.worktree != WorktreeFlag::No {
            add(&["--worktree"]);
        }
        flags
    }

    /// The command. It writes `NAME.lock`, `NAME.log` and `NAME.dirty` in the folder `witness`.
    pub(crate) fn argv(&self, name: &str, programs: &Path, witness: &Path) -> Vec<String> {
        let path = |folder: &Path, name: &str| folder.join(name).to_string_lossy().into_owned();
        if self.job == AgentJob::Missing {
            return vec![path(programs, "no-such-program")];
        }
        let file = |ending: &str| path(witness, &format!("{name}.{ending}"));
        let mut script = String::new();
        if self.worktree == WorktreeFlag::Dirty {
            script += &format!("echo value > value && : > {} || exit 90; ", file("dirty"));
        }
        if self.reports {
            script += &format!("{} report ready; ", path(programs, "kennel"));
        }
        let agent = [path(programs, "fake-agent"), "alone".into(), file("lock"), file("log")];
        let agent = [agent.to_vec(), self.job.behaviour()].concat();
        if script.is_empty() {
            return agent;
        }
        script += r#"exec "$@""#;
        [["/bin/sh", "-c", &script, "sh"].map(String::from).to_vec(), agent].concat()
    }
}

fn ms(time: u32) -> String {
    format!("{time}ms")
}
