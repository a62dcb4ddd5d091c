//! What is asked for in a `kennel run`.

use std::path::Path;

use fastrand::Rng;

use crate::draw::{in_a_hundred, weighted};
use crate::job::Job;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    /// What its agent does.
    pub(crate) job: Job,
    /// Which pen; the scene's own if not said.
    pub(crate) pen: Option<&'static str>,
    pub(crate) grace_ms: u32,
    pub(crate) linger_ms: u32,
    /// Whether the client stays.
    pub(crate) foreground: bool,
    /// Whether it is asked for under a key, so that it can be asked for again.
    pub(crate) keyed: bool,
    pub(crate) restarts: u32,
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) idle_ms: Option<u32>,
    pub(crate) silence_ms: Option<u32>,
    pub(crate) lease_ms: Option<u32>,
    pub(crate) ready: Option<Ready>,
    pub(crate) queue: bool,
    pub(crate) terminal: bool,
    pub(crate) worktree: Worktree,
    /// Whether its agent reports something first.
    pub(crate) reports: bool,
}

/// By what it is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) sign: &'static str,
    pub(crate) within_ms: u32,
    pub(crate) wait: bool,
}

/// Whether it has a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worktree {
    No,
    /// Nothing is done in it.
    Clean,
    /// Its agent leaves something of value in it.
    Dirty,
}

impl Wish {
    /// Draws one. `pens` are those that can be had.
    pub(crate) fn draw(rng: &mut Rng, pens: &[&'static str]) -> Self {
        let some = |rng: &mut Rng, percent, range: std::ops::Range<u32>| {
            let value = rng.u32(range);
            in_a_hundred(rng, percent).then_some(value)
        };
        let job = Job::draw(rng);
        let foreground = in_a_hundred(rng, 15);
        let ready = Ready {
            sign: weighted(
                rng,
                &[(4, "line:ready"), (2, "line:^line 3"), (3, "report"), (1, "line:never")],
            ),
            within_ms: rng.u32(200..3000),
            wait: rng.bool() && !foreground,
        };
        Self {
            job,
            pen: in_a_hundred(rng, 30).then(|| *rng.choice(pens).unwrap_or(&"auto")),
            grace_ms: rng.u32(50..1500),
            linger_ms: rng.u32(5..400),
            foreground,
            keyed: in_a_hundred(rng, 25),
            restarts: some(rng, 12, 1..3).filter(|_| !foreground).unwrap_or(0),
            timeout_ms: some(rng, 10, 300..4000),
            idle_ms: some(rng, 7, 1000..3000),
            silence_ms: some(rng, 5, 500..3000),
            lease_ms: some(rng, 5, 500..3000),
            ready: in_a_hundred(rng, 18).then_some(ready),
            queue: rng.bool(),
            terminal: in_a_hundred(rng, 10),
            worktree: weighted(
                rng,
                &[(85, Worktree::No), (10, Worktree::Clean), (5, Worktree::Dirty)],
            ),
            reports: in_a_hundred(rng, 10),
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
        if self.job == Job::Echoes && !self.terminal {
            add(&["-i"]);
        }
        if self.worktree != Worktree::No {
            add(&["--worktree"]);
        }
        flags
    }

    /// The command. What it notes of itself is in `NAME.lock`, `NAME.log` and `NAME.dirty` in `witness`.
    pub(crate) fn argv(&self, name: &str, programs: &Path, witness: &Path) -> Vec<String> {
        let path = |folder: &Path, name: &str| folder.join(name).to_string_lossy().into_owned();
        if self.job == Job::Missing {
            return vec![path(programs, "no-such-program")];
        }
        let file = |ending: &str| path(witness, &format!("{name}.{ending}"));
        let mut script = String::new();
        if self.worktree == Worktree::Dirty {
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
