//! The one retry policy for a daemon that goes away.

use std::time::{Duration, Instant};

use crate::poll::poll;

/// How many times in a row a request is repeated.
const LIMIT: u32 = 50;
/// The pause between two tries. The first one follows at once.
const PAUSE: Duration = Duration::from_millis(50);
/// A daemon that served this long was healthy: its loss doesn't count with the earlier ones.
const HEALTHY: Duration = Duration::from_secs(30);

/// Decides whether a request is repeated after its daemon has gone away.
#[derive(Debug)]
pub(crate) struct DaemonRetry {
    /// Replaces the limit on the number of losses.
    deadline: Option<Instant>,
    losses: u32,
    sent_at: Instant,
}

impl DaemonRetry {
    /// Repeats a request a limited number of times in a row.
    pub(crate) fn new() -> Self {
        Self { deadline: None, losses: 0, sent_at: Instant::now() }
    }

    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::new() }
    }

    /// Counts a loss, and pauses. Returns whether the request may be sent again.
    pub(crate) fn another(&mut self) -> bool {
        let healthy = self.sent_at.elapsed() > HEALTHY;
        self.losses = if healthy { 1 } else { self.losses + 1 };
        let allowed = match self.deadline {
            Some(deadline) => Instant::now() < deadline,
            None => self.losses <= LIMIT,
        };
        // A daemon that is about to exit may still accept connections for a moment.
        if allowed && self.losses > 1 {
            // A pause that a signal ends early does no harm.
            poll(&mut [], Some(Instant::now() + PAUSE)).ok();
        }
        self.sent_at = Instant::now();
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_after_many_losses_or_at_the_deadline() {
        let mut retry = DaemonRetry { losses: LIMIT - 1, ..DaemonRetry::new() };
        assert!(retry.another());
        assert!(!retry.another());
        let mut retry = DaemonRetry { losses: LIMIT, ..DaemonRetry::until(Instant::now()) };
        assert!(!retry.another());
        retry.deadline = Some(Instant::now() + HEALTHY);
        assert!(retry.another(), "a deadline replaces the number of losses");
    }

    #[test]
    fn the_loss_of_a_healthy_daemon_starts_the_count_again() {
        let Some(long_ago) = Instant::now().checked_sub(2 * HEALTHY) else { return };
        let mut retry = DaemonRetry { losses: LIMIT, sent_at: long_ago, deadline: None };
        assert!(retry.another());
        assert_eq!(retry.losses, 1);
    }
}
