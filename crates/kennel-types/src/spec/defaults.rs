//! The defaults of a session.

use std::time::Duration;

/// The time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);
/// How long processes that an agent leaves behind may run after its exit.
pub const DEFAULT_LINGER: Duration = Duration::from_secs(2);
/// How long a session runs without a daemon.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(15 * 60);
/// The maximum output to keep on disk, in bytes.
pub const DEFAULT_OUTPUT_LIMIT: u64 = 64 << 20;

// For `#[serde(default)]`.

pub(super) fn grace() -> Duration {
    GRACE
}

pub(super) fn linger() -> Duration {
    DEFAULT_LINGER
}

#[expect(clippy::unnecessary_wraps, reason = "the field is optional")]
pub(super) fn lease() -> Option<Duration> {
    Some(DEFAULT_LEASE)
}

pub(super) fn output_limit() -> u64 {
    DEFAULT_OUTPUT_LIMIT
}
