//! Views for monitoring: the readiness of the daemon, and the resources that sessions use.

use serde::{Deserialize, Serialize};

use super::UsageView;
use crate::session::Phase;

/// Whether the daemon can do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadyView {
    /// Whether all checks passed.
    pub ready: bool,
    /// The checks.
    pub checks: Vec<CheckView>,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckView {
    /// The name of the check. Stable.
    pub name: String,
    /// Whether the check passed.
    pub passed: bool,
    /// Why the check failed, as text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The resources that a session uses now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUsage {
    /// The session id.
    pub id: String,
    /// The session name.
    pub name: Option<String>,
    /// The phase of the session.
    pub phase: Phase,
    /// The resources of its pen, while the pen exists and its keeper responds.
    pub usage: Option<UsageView>,
    /// Why the usage is unknown, if that is unexpected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Recent samples, oldest first, if they were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<UsageSample>>,
}

/// A request for the resources that sessions use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct UsageRequest {
    /// How many recent samples to include for each session, at most 300. The daemon takes samples
    /// while clients request them.
    pub history: Option<u16>,
}

/// The resources that a session used at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageSample {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The CPU usage since the previous sample, in percent of one core. Null in the first sample.
    pub cpu_percent: Option<f64>,
    /// The CPU time of all its processes so far.
    pub cpu_ms: u64,
    /// The memory in use.
    pub memory_bytes: u64,
    /// The number of processes.
    pub processes: u32,
}

/// Recent samples of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageHistory {
    /// The id of the session's latest launch.
    pub id: String,
    /// The samples, oldest first.
    pub samples: Vec<UsageSample>,
}
