//! A real agent is cancelled in each phase: the cancel is reported, no further launch follows, and
//! nothing is left.

use kennel_testing::{Ended, eventually};

use super::setup::RealAgentScene;

/// How long the tool and its escaped children sleep.
const SLEEPS: [u32; 3] = [281, 282, 289];

impl RealAgentScene {
    /// A missing conversation costs one fresh launch, which is cancelled while a tool runs.
    pub(super) fn stale_and_cancelled_during_a_tool(&self) {
        let before = self.member();
        let id = before["conversation"].as_str().expect("a conversation");
        self.lose(id);
        let busy = self.start("bash:stay", &["anna", "--retries", "3", "hello"]);
        eventually("the tool runs", || self.sleepers() == SLEEPS);
        busy.signal("INT");
        self.assert_cancelled(busy.wait(), 2);
        let member = self.member();
        assert_ne!(member["conversation"], id, "the dead one is forgotten");
        assert_eq!(member["attempts"].as_u64(), before["attempts"].as_u64().map(|n| n + 2));
    }

    /// A queued prompt is cancelled while the one before continues; then that one is cancelled.
    pub(super) fn cancel_queued_and_during_a_tool(&self) {
        let busy = self.start("bash:stay", &["anna", "--retries", "3", "hello"]);
        eventually("the tool runs", || self.sleepers() == SLEEPS);
        let waiting = self.start("ok@queued", &["anna", "--queue", "hello"]);
        eventually("it waits", || self.member()["waiting"] == 1);
        waiting.signal("INT");
        let reported = self.reported(waiting.wait());
        assert_eq!((reported.code, reported.verdict.as_str()), (130, "cancelled"), "{reported:?}");
        assert_eq!(self.calls("ok@queued"), 0, "{reported:?}");
        assert_eq!(self.sleepers(), SLEEPS, "the other one continues");
        busy.signal("INT");
        self.assert_cancelled(busy.wait(), 1);
    }

    /// While it waits for the API.
    pub(super) fn cancel_during_a_call(&self) {
        let asked = self.start("hang", &["anna", "--retries", "3", "hello"]);
        eventually("the API was called", || self.calls("hang") == 1);
        asked.signal("INT");
        self.assert_cancelled(asked.wait(), 1);
        assert_eq!(self.calls("hang"), 1);
    }

    /// Before its first request, from the moment the process exists.
    pub(super) fn cancel_at_the_start(&self) {
        let asked = self.start("ok@start", &["anna", "--retries", "3", "hello"]);
        eventually("it starts", || self.scene.keeper().is_some());
        asked.signal("INT");
        self.assert_cancelled(asked.wait(), 1);
    }

    #[track_caller]
    fn assert_cancelled(&self, ended: Ended, launches: usize) {
        assert_eq!(self.marked(), [], "after {ended:?}");
        self.scene.assert_nothing_left_soon();
        let reported = self.reported(ended);
        assert_eq!((reported.code, reported.verdict.as_str()), (130, "cancelled"), "{reported:?}");
        assert_eq!(reported.launches, launches, "{reported:?}");
    }
}
