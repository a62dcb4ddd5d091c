//! The limits of admission.

use std::time::Duration;

use kennel_core::admission::Caps;
use kennel_core::headroom::Minima;

/// How long an ended session answers for its key by default.
const KEY_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// What is checked before a session may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchLimits {
    /// How many sessions may exist at once.
    pub caps: Caps,
    /// What must be free on the machine.
    pub minima: Minima,
    /// How long an ended session answers for its key.
    pub key_retention: Duration,
}

impl Default for LaunchLimits {
    fn default() -> Self {
        Self { caps: Caps::default(), minima: Minima::default(), key_retention: KEY_RETENTION }
    }
}
