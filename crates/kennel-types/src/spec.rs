//! The spec of a session: everything in a request that goes on record.
//!
//! The environment is not part of it: it contains secrets, and is passed from the client to the
//! agent in memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::AgentSpec;
use crate::id::SessionId;
use crate::ready::Readiness;
use crate::restart::Restart;
use crate::{is_unset, millis};

mod compare;

/// The time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);
/// How long processes that an agent leaves behind may run after its exit.
pub const DEFAULT_LINGER: Duration = Duration::from_secs(2);
/// How long a session runs without a daemon.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(15 * 60);
/// The maximum output to keep on disk, in bytes.
pub const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 20;

/// A command and how to run it. New fields need a default, so that older records stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSpec {
    /// A name for the session.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub name: Option<String>,
    /// The command and its arguments, for display. Bytes that are not valid UTF-8 are replaced.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub argv: Vec<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cwd: String,
    /// The size of the session's terminal, if it has one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub terminal: Option<TerminalSize>,
    /// Whether clients can write to its standard input. Always true with a terminal.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stdin: bool,
    /// The kind of pen.
    #[serde(default)]
    pub pen: PenKind,
    /// The time between TERM and KILL in a stop.
    #[serde(rename = "grace_ms", default = "default_grace", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub grace: Duration,
    /// How long processes that the agent leaves behind may run after its exit.
    #[serde(rename = "linger_ms", default = "default_linger", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub linger: Duration,
    /// How long the session runs without a daemon. Null: forever.
    #[serde(rename = "lease_ms", default = "default_lease", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub lease: Option<Duration>,
    /// Whether the session ends when the client that started it disconnects.
    #[serde(default)]
    pub tethered: bool,
    /// The session that started this one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub parent: Option<SessionId>,
    /// Whether the session continues after its parent has ended.
    #[serde(default)]
    pub outlives_parent: bool,
    /// The maximum output to keep on disk, in bytes. At least 128 KiB, which a journal needs.
    #[serde(default = "default_output_limit")]
    pub output_limit: u64,
    /// The name of the caller (a user or a program), for the event log.
    #[serde(default)]
    pub asked_by: String,
    /// The idempotency key: two requests with the same key are one session.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub key: Option<String>,
    /// How Kennel recognizes that the session is ready.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ready: Readiness,
    /// The timeout for the session to become ready. Null: no limit.
    #[serde(
        rename = "ready_timeout_ms",
        default,
        skip_serializing_if = "is_unset",
        with = "millis"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub ready_timeout: Option<Duration>,
    /// The timeout of the session, not counting time that the machine sleeps. Null: no limit.
    #[serde(rename = "timeout_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// How long the session may do nothing. Null: no limit.
    #[serde(rename = "idle_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub idle: Option<Duration>,
    /// How long the session may print nothing. Null: no limit.
    #[serde(rename = "silence_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub silence: Option<Duration>,
    /// Whether to launch the session again when it fails.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restart: Restart,
    /// Whether to also restart after a launch whose exit status is unknown: it may have succeeded.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restart_unknown: bool,
    /// The memory limit of its pen, in bytes.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub memory: Option<u64>,
    /// The limit on processes and threads of its pen.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub pids: Option<u64>,
    /// The CPU limit of its pen, in thousandths of a core.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cpu: Option<u32>,
    /// Whether to run without these limits where they can't be set.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub best_effort: bool,
    /// A git worktree to create for the session.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub worktree: Option<WorktreeSpec>,
    /// The signal that asks the agent to end, if it is not TERM.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stop_signal: Option<i32>,
    /// Set if the session runs an agent. Kennel then builds the command, and judges the result of a
    /// prompt.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub agent: Option<Box<AgentSpec>>,
}

// For `#[serde(default)]`.

fn default_grace() -> Duration {
    GRACE
}

fn default_linger() -> Duration {
    DEFAULT_LINGER
}

#[expect(clippy::unnecessary_wraps, reason = "the field is optional")]
fn default_lease() -> Option<Duration> {
    Some(DEFAULT_LEASE)
}

fn default_output_limit() -> u64 {
    DEFAULT_OUTPUT_LIMIT
}

/// A plain session without a command: for `..SessionSpec::default()`.
impl Default for SessionSpec {
    fn default() -> Self {
        Self {
            name: None,
            argv: Vec::new(),
            cwd: "/".to_owned(),
            terminal: None,
            stdin: false,
            pen: PenKind::Auto,
            grace: GRACE,
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
    /// Returns whether the session is a prompt. Kennel judges a prompt when it has ended, and may
    /// retry it.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| !agent.interactive)
    }

    /// Returns whether another launch may follow automatically.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.restart != Restart::Never || self.is_prompt()
    }

    /// Replaces each time limit of zero by none: 0 means no limit.
    #[must_use]
    pub fn with_zero_as_unlimited(mut self) -> Self {
        let limits =
            [&mut self.ready_timeout, &mut self.timeout, &mut self.idle, &mut self.silence];
        for limit in limits {
            *limit = limit.filter(|limit| !limit.is_zero());
        }
        self
    }
}

/// A git worktree and its branch. The client chooses the branch; the daemon decides the rest before
/// it accepts the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorktreeSpec {
    /// The requested branch. Null: a new branch named for the session.
    pub asked: Option<String>,
    /// The repository.
    pub repo: String,
    /// The path of the worktree.
    pub path: String,
    /// The branch.
    pub branch: String,
    /// The commit that the worktree starts from.
    pub base: Option<String>,
    /// Whether the client's checkout had uncommitted changes, which the worktree does not contain.
    /// Null: unknown.
    pub uncommitted: Option<bool>,
    /// The worktree code's own record. Null: nothing is decided yet.
    pub record: Option<String>,
}

impl WorktreeSpec {
    /// Returns a client's request.
    #[must_use]
    pub fn requested(branch: Option<String>) -> Self {
        Self { asked: branch, ..Self::default() }
    }

    /// Returns the request without the daemon's decisions.
    #[must_use]
    pub fn as_requested(&self) -> Self {
        Self::requested(self.asked.clone())
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalSize {
    /// The number of lines.
    pub rows: u16,
    /// The number of characters in a line.
    pub columns: u16,
}

/// The kind of pen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PenKind {
    /// A cgroup if possible, otherwise only the process subtree.
    #[default]
    Auto,
    /// A cgroup, or an error.
    Cgroup,
    /// Only the process subtree below the keeper.
    Subtree,
    /// A pid namespace.
    Pidns,
}

/// The maximum number of characters in an idempotency key.
const MAX_KEY_LENGTH: usize = 128;

/// A text that is not a valid idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid key {0:?}: expected 1 to {MAX_KEY_LENGTH} characters without spaces or control characters, for example a UUID"
)]
pub struct KeyError(String);

/// Checks an idempotency key.
///
/// # Errors
/// The key is empty, too long, or contains spaces or control characters.
pub fn check_key(text: &str) -> Result<(), KeyError> {
    let length = text.chars().count();
    let plain = text.chars().all(|character| !character.is_whitespace() && !character.is_control());
    if (1..=MAX_KEY_LENGTH).contains(&length) && plain {
        Ok(())
    } else {
        Err(KeyError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn treats_a_limit_of_zero_as_none() {
        let (zero, second) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        let spec = SessionSpec {
            ready_timeout: zero,
            timeout: zero,
            idle: second,
            silence: zero,
            ..SessionSpec::default()
        };
        let expected = SessionSpec { idle: second, ..SessionSpec::default() };
        assert_eq!(spec.with_zero_as_unlimited(), expected);
    }

    #[test]
    fn accepts_only_short_plain_keys() {
        for right in ["k", "0b6c-11", "ünï", "a/b:c", &"x".repeat(128), &"ü".repeat(128)] {
            assert_eq!(check_key(right), Ok(()));
        }
        for wrong in ["", " ", "a b", "a\nb", "\u{7f}", "\u{1b}[2J", &"x".repeat(129)] {
            let message = check_key(wrong).unwrap_err().to_string();
            assert!(message.contains("expected 1 to 128 characters"), "{message}");
            assert!(message.chars().all(|character| !character.is_control()), "{message}");
        }
    }
}
