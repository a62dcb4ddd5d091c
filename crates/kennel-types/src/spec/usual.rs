//! What goes for a session if nobody says otherwise.

use std::time::Duration;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);
/// How long what an agent leaves behind may go on.
pub const USUAL_LINGER: Duration = Duration::from_secs(2);
/// How long it goes on without a daemon.
pub const USUAL_LEASE: Duration = Duration::from_secs(15 * 60);
/// How many bytes of its output are kept.
pub const USUAL_OUTPUT: u64 = 64 << 20;

// For `#[serde(default)]`.

pub(super) fn grace() -> Duration {
    GRACE
}

pub(super) fn linger() -> Duration {
    USUAL_LINGER
}

#[expect(clippy::unnecessary_wraps, reason = "the field is optional")]
pub(super) fn lease() -> Option<Duration> {
    Some(USUAL_LEASE)
}

pub(super) fn output_limit() -> u64 {
    USUAL_OUTPUT
}
