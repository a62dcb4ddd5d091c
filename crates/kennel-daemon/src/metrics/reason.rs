//! Names of reasons, as label values.

use kennel_types::Reason;

/// All reasons.
pub(super) const REASONS: [&str; 14] = [
    "exited",
    "stopped",
    "client_gone",
    "parent_ended",
    "shutdown",
    "failed",
    "lease_over",
    "not_ready",
    "timed_out",
    "idle",
    "silent",
    "keeper_died",
    "rebooted",
    "forgotten",
];

/// The name of a reason in JSON; a launch without one ended by itself.
pub(super) fn name(reason: Option<&Reason>) -> &'static str {
    reason.map_or("exited", Reason::name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_are_those_in_json() {
        let (by, why) = (String::new(), String::new());
        let limit = Duration::ZERO;
        let all = [
            Reason::Exited,
            Reason::Stopped { by: by.clone() },
            Reason::ClientGone,
            Reason::ParentEnded,
            Reason::Shutdown,
            Reason::Failed { code: kennel_types::LaunchFailure::Setup, why },
            Reason::LeaseOver,
            Reason::NotReady { after: limit, saw: None },
            Reason::TimedOut { limit },
            Reason::Idle { limit },
            Reason::Silent { limit },
            Reason::KeeperDied,
            Reason::Rebooted,
            Reason::Forgotten { by },
        ];
        assert_eq!(all.each_ref().map(|reason| name(Some(reason))), REASONS);
        for reason in &all {
            assert_eq!(serde_json::to_value(reason).unwrap()["kind"], name(Some(reason)));
        }
    }
}
