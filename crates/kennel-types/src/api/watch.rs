//! What those are told who watch: whether the daemon is ready, and what sessions use.

use serde::{Deserialize, Serialize};

use super::UsageView;
use crate::session::Phase;

/// Whether the daemon can do its work now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadyView {
    /// Whether every check is passed.
    pub ready: bool,
    /// All of them.
    pub checks: Vec<CheckView>,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckView {
    /// Its name: stable.
    pub name: String,
    /// Whether it is passed.
    pub passed: bool,
    /// Why not, if not, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a session uses now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUsage {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// How far it has come.
    pub phase: Phase,
    /// What its pen uses, while there is one and its keeper can be asked.
    pub usage: Option<UsageView>,
    /// Why that is not known, if somebody should know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What it has used lately, the earliest first, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<UsageSample>>,
}

/// What is wanted of all sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct UsageRequest {
    /// The last so many samples of each, too; at most 300. They are taken while somebody asks for them.
    pub history: Option<u16>,
}

/// What a session used at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageSample {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// CPU since the sample before, in percent of one core; unknown of the first.
    pub cpu_percent: Option<f64>,
    /// CPU time of all its processes so far.
    pub cpu_ms: u64,
    /// Memory then.
    pub memory_bytes: u64,
    /// Processes then.
    pub processes: u32,
}

/// What a session has used lately.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageHistory {
    /// Its id; of a session that was launched again, that of its latest launch.
    pub id: String,
    /// The earliest first.
    pub samples: Vec<UsageSample>,
}
