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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}
