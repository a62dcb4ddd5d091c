//! What a client asks for: everything about a session that may be written down.
//!
//! The environment is not here: it has secrets in it, and goes from the client to the agent by memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::id::SessionId;
use crate::millis;
use crate::ready::Readiness;
use crate::restart::Restart;
use crate::unset::is_unset;

mod compare;
mod key;
mod usual;

pub use key::{KeyError, check_key};
pub use usual::{USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT};

/// A command, and how to run it. Fields are added only with a default, so that older rows can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSpec {
    /// A name for people.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub name: Option<String>,
    /// The command and its arguments; bytes that are no UTF-8 are replaced here, for people to read.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub argv: Vec<String>,
    /// The folder it starts in.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cwd: String,
    /// Set if it gets a terminal of its own.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub terminal: Option<Terminal>,
    /// Whether its standard input can be written to (always so with a terminal).
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stdin: bool,
    /// Which pen.
    #[serde(default)]
    pub pen: PenKind,
    /// How long a stop waits between TERM and KILL.
    #[serde(rename = "grace_ms", alias = "grace", default = "usual::grace", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub grace: Duration,
    /// How long what it leaves behind may go on after its exit.
    #[serde(rename = "linger_ms", alias = "linger", default = "usual::linger", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub linger: Duration,
    /// How long it goes on without a daemon; none: for ever.
    #[serde(
        rename = "lease_ms",
        alias = "lease",
        default = "usual::lease",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub lease: Option<Duration>,
    /// Whether it ends when the client that started it goes without a word.
    #[serde(default)]
    pub tethered: bool,
    /// The session that started this one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub parent: Option<SessionId>,
    /// Whether it goes on when its parent has ended.
    #[serde(default)]
    pub outlives_parent: bool,
    /// The most bytes of output kept on disk: 128 KiB or more, which is what a journal needs.
    #[serde(default = "usual::output_limit")]
    pub output_limit: u64,
    /// Who asked: a user, a program; for the event log.
    #[serde(default)]
    pub asked_by: String,
    /// The same key twice is the same session.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub key: Option<String>,
    /// By what it is known to be up.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ready: Readiness,
    /// How long it may take to be ready; none: for ever.
    #[serde(
        rename = "ready_timeout_ms",
        alias = "ready_timeout",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub ready_timeout: Option<Duration>,
    /// How long it may take in all, awake; none: for ever.
    #[serde(
        rename = "timeout_ms",
        alias = "timeout",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// How long it may do nothing; none: for ever.
    #[serde(
        rename = "idle_ms",
        alias = "idle",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub idle: Option<Duration>,
    /// How long it may print nothing; none: for ever.
    #[serde(
        rename = "silence_ms",
        alias = "silence",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub silence: Option<Duration>,
    /// Whether it is launched again when it fails.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restart: Restart,
    /// Whether that goes for a launch whose end nobody knows too: it may have run.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restart_unknown: bool,
    /// The most memory of its pen, in bytes.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub memory: Option<u64>,
    /// The most processes and threads of its pen.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub pids: Option<u64>,
    /// The most CPU of its pen, in thousandths of a core.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cpu: Option<u32>,
    /// Whether it runs without those limits where they can't be set.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub best_effort: bool,
    /// A worktree that is made for it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub worktree: Option<WorktreeSpec>,
    /// The signal that asks it to end, if it is not TERM.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stop_signal: Option<i32>,
    /// Set if it is a prompt to an agent, or a chat: Kennel makes the command then, and judges what came of a prompt.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub agent: Option<Box<AgentSpec>>,
}

/// A plain session of no command: for `..SessionSpec::default()`.
impl Default for SessionSpec {
    fn default() -> Self {
        Self {
            name: None,
            argv: Vec::new(),
            cwd: "/".to_owned(),
            terminal: None,
            stdin: false,
            pen: PenKind::Auto,
            grace: Duration::from_secs(10),
            linger: Duration::ZERO,
            lease: None,
            tethered: false,
            parent: None,
            outlives_parent: false,
            output_limit: 1 << 20,
            asked_by: String::new(),
            key: None,
            ready: Readiness::None,
            ready_timeout: None,
            timeout: None,
            idle: None,
            silence: None,
            restart: Restart::Never,
            restart_unknown: false,
            memory: None,
            pids: None,
            cpu: None,
            best_effort: false,
            worktree: None,
            stop_signal: None,
            agent: None,
        }
    }
}

impl SessionSpec {
    /// Whether it is a prompt to an agent: it is judged when it has ended, and may be tried again.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| !agent.interactive)
    }

    /// Whether another launch may follow by itself when one has ended.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.restart != Restart::Never || self.is_prompt()
    }

    /// With each limit of zero taken for none: 0 means off, not at once.
    #[must_use]
    pub fn with_zero_off(mut self) -> Self {
        let limits =
            [&mut self.ready_timeout, &mut self.timeout, &mut self.idle, &mut self.silence];
        for limit in limits {
            *limit = limit.filter(|limit| !limit.is_zero());
        }
        self
    }
}

/// A worktree of a git repository, and the branch in it. Whoever asks says which branch; the rest is what was decided
/// on it, before the session was taken in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorktreeSpec {
    /// The branch that was asked for; none: one of its own, named for the session.
    pub asked: Option<String>,
    /// The repository.
    pub repo: String,
    /// Where the worktree will be.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The commit that it starts from.
    pub base: Option<String>,
    /// Whether the checkout that it was asked from had changes that are not committed, and so are not in it; none: that
    /// could not be told.
    pub uncommitted: Option<bool>,
    /// What those who make and remove worktrees wrote down of it, in their own words; none: nothing is decided.
    pub record: Option<String>,
}

impl WorktreeSpec {
    /// What a client asks for.
    #[must_use]
    pub fn asked(branch: Option<String>) -> Self {
        Self { asked: branch, ..Self::default() }
    }

    /// The same, without what was decided on it.
    #[must_use]
    pub fn as_asked(&self) -> Self {
        Self::asked(self.asked.clone())
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Terminal {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

/// Which pen is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PenKind {
    /// A cgroup where there is one, else only the subtree.
    #[default]
    Auto,
    /// A cgroup, or an error.
    Cgroup,
    /// Only the subtree below the keeper.
    Subtree,
    /// A pid namespace.
    Pidns,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_zero_is_off() {
        let (zero, second) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        let spec = SessionSpec {
            ready_timeout: zero,
            timeout: zero,
            idle: second,
            silence: zero,
            ..SessionSpec::default()
        };
        let expected = SessionSpec { idle: second, ..SessionSpec::default() };
        assert_eq!(spec.with_zero_off(), expected);
    }
}
