//! How and when to end a pen: the decisions, without I/O or a clock.
//!
//! ```text
//!             stop requested                 grace over, kill requested, owner gone
//! Running ─────────────────► Stopping ──────────────────────────────► Killing
//!    │  agent exited                              ▲                      ▲
//!    └──────────────► Lingering ── linger over ───┘ (TERM, short grace)  │
//!                         └─────── kill requested, owner gone ───────────┘
//! ```
//! An empty pen ends it from anywhere. No transition leads back or makes a deadline later.

use std::time::{Duration, Instant};

/// The grace of processes that the agent left behind: their linger is already over.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndPhase {
    /// The end was not requested.
    Running,
    /// The agent has exited, and the processes that it left may keep running for a while.
    Lingering {
        until: Instant,
    },
    /// TERM was sent, and KILL follows then.
    Stopping {
        until: Instant,
    },
    Killing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum EndStep {
    /// Wait until then, or until something happens.
    Wait(Option<Instant>),
    Terminate,
    Kill,
}

#[derive(Debug, Clone)]
pub(crate) struct EndPolicy {
    phase: EndPhase,
    linger: Duration,
    grace: Duration,
    /// TERM is still to be sent.
    terminate: bool,
}

impl EndPolicy {
    pub(crate) fn new(linger: Duration, grace: Duration) -> Self {
        Self { phase: EndPhase::Running, linger, grace, terminate: false }
    }

    pub(crate) fn phase(&self) -> EndPhase {
        self.phase
    }

    pub(crate) fn agent_exited(&mut self, now: Instant) {
        if self.phase == EndPhase::Running {
            self.phase = EndPhase::Lingering { until: after(now, self.linger) };
        }
    }

    /// Requests the end, with `grace` instead of the pen's own if it is given.
    pub(crate) fn stop(&mut self, now: Instant, grace: Option<Duration>) {
        let until = after(now, grace.unwrap_or(self.grace));
        match self.phase {
            EndPhase::Running | EndPhase::Lingering { .. } => {
                self.phase = EndPhase::Stopping { until };
                self.terminate = true;
            }
            EndPhase::Stopping { until: before } => {
                self.phase = EndPhase::Stopping { until: before.min(until) };
            }
            EndPhase::Killing => {}
        }
    }

    pub(crate) fn kill(&mut self) {
        self.phase = EndPhase::Killing;
        self.terminate = false;
    }

    pub(crate) fn due(&mut self, now: Instant) -> EndStep {
        if std::mem::take(&mut self.terminate) {
            return EndStep::Terminate;
        }
        match self.phase {
            EndPhase::Running => EndStep::Wait(None),
            EndPhase::Lingering { until } if until <= now => {
                self.phase =
                    EndPhase::Stopping { until: after(now, self.grace.min(LEFTOVER_GRACE)) };
                EndStep::Terminate
            }
            EndPhase::Stopping { until } if until <= now => {
                self.kill();
                EndStep::Kill
            }
            EndPhase::Lingering { until } | EndPhase::Stopping { until } => {
                EndStep::Wait(Some(until))
            }
            EndPhase::Killing => EndStep::Kill,
        }
    }
}

/// Limits a wait, so that a deadline in the far future does not overflow.
fn after(now: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now + wait.min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINGER: Duration = Duration::from_secs(2);
    const GRACE: Duration = Duration::from_secs(10);

    fn policy() -> (EndPolicy, Instant) {
        (EndPolicy::new(LINGER, GRACE), Instant::now())
    }

    #[test]
    fn a_stop_terminates_once_and_kills_when_the_grace_is_over() {
        let (mut policy, start) = policy();
        assert_eq!(policy.due(start), EndStep::Wait(None));
        policy.stop(start, None);
        assert_eq!(policy.due(start), EndStep::Terminate);
        assert_eq!(policy.due(start), EndStep::Wait(Some(start + GRACE)));
        policy.agent_exited(start + GRACE / 2);
        assert_eq!(policy.due(start + GRACE), EndStep::Kill);
        assert_eq!(policy.due(start + GRACE * 2), EndStep::Kill);
    }

    #[test]
    fn processes_left_behind_get_the_linger_then_term_then_kill() {
        let (mut policy, start) = policy();
        policy.agent_exited(start);
        assert_eq!(policy.due(start), EndStep::Wait(Some(start + LINGER)));
        assert_eq!(policy.due(start + LINGER), EndStep::Terminate);
        assert_eq!(
            policy.due(start + LINGER),
            EndStep::Wait(Some(start + LINGER + LEFTOVER_GRACE))
        );
        assert_eq!(policy.due(start + LINGER + LEFTOVER_GRACE), EndStep::Kill);
    }

    #[test]
    fn an_endless_linger_or_grace_does_not_overflow() {
        let mut policy = EndPolicy::new(Duration::MAX, Duration::MAX);
        let now = Instant::now();
        policy.agent_exited(now);
        assert!(matches!(policy.due(now), EndStep::Wait(Some(_))));
        policy.stop(now, None);
        assert_eq!(policy.due(now), EndStep::Terminate);
        policy.kill();
        assert_eq!(policy.due(now), EndStep::Kill);
    }

    #[derive(Debug, Clone)]
    enum Event {
        Exited,
        Stop(Option<u64>),
        Kill,
        Later(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Exited),
            proptest::option::of(0_u64..20_000).prop_map(Event::Stop),
            Just(Event::Kill),
            (0_u64..5_000).prop_map(Event::Later),
        ]
    }

    fn rank(phase: EndPhase) -> u32 {
        match phase {
            EndPhase::Running => 0,
            EndPhase::Lingering { .. } => 1,
            EndPhase::Stopping { .. } => 2,
            EndPhase::Killing => 3,
        }
    }

    proptest! {
        /// In any order of events no transition leads back, and KILL is sent in the end.
        #[test]
        fn no_transition_leads_back_and_every_requested_end_leads_to_kill(
            events in proptest::collection::vec(event(), 0..40)
        ) {
            let (mut policy, mut now) = policy();
            let mut ending = false;
            for event in events {
                let before = policy.phase();
                match event {
                    Event::Exited => { policy.agent_exited(now); ending = true; }
                    Event::Stop(grace) => {
                        policy.stop(now, grace.map(Duration::from_millis));
                        ending = true;
                    }
                    Event::Kill => { policy.kill(); ending = true; }
                    Event::Later(ms) => now += Duration::from_millis(ms),
                }
                prop_assert!(rank(policy.phase()) >= rank(before));
                if let (EndPhase::Stopping { until: a }, EndPhase::Stopping { until: b }) = (before, policy.phase()) {
                    prop_assert!(b <= a);
                }
                let _now = policy.due(now);
            }
            if ending {
                now += LINGER + GRACE + Duration::from_secs(20);
                let mut kill = false;
                for _ in 0..4 {
                    kill |= policy.due(now) == EndStep::Kill;
                    now += GRACE;
                }
                prop_assert!(kill);
            } else {
                prop_assert_eq!(policy.due(now), EndStep::Wait(None));
            }
        }
    }
}
