//! On what terms sessions are taken in.

use std::time::Duration;

use kennel_core::admission::Caps;
use kennel_core::headroom::Minima;

/// How long the key of a session that has ended stands for it, unless told otherwise.
const KEY_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// What is asked before a session may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchLimits {
    /// How many there may be at once.
    pub caps: Caps,
    /// What must be free.
    pub minima: Minima,
    /// How long the key of one that has ended stands for it.
    pub key_retention: Duration,
}

impl Default for LaunchLimits {
    fn default() -> Self {
        Self { caps: Caps::default(), minima: Minima::default(), key_retention: KEY_RETENTION }
    }
}
