//! Admission: which launches start now, which wait in the queue, and which are refused.

use std::time::Duration;

use kennel_core::admission::{Admission, Applicant, Caps, decide};
use kennel_core::headroom::{Minima, check};
use kennel_core::{Keyed, Session, World};
use kennel_types::{Phase, SessionId, SessionSpec};

use crate::error::ApiError;
use crate::launch::request::LaunchRequest;
use crate::os::headroom::HeadroomMeter;

/// How long an ended session answers for its key by default.
const KEY_RETENTION: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchLimits {
    pub caps: Caps,
    pub minima: Minima,
    /// How long an ended session answers for its key.
    pub key_retention: Duration,
}

impl Default for LaunchLimits {
    fn default() -> Self {
        Self { caps: Caps::default(), minima: Minima::default(), key_retention: KEY_RETENTION }
    }
}

/// Where an admitted launch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum LaunchSlot {
    Now,
    Queued,
}

/// Counts live and queued sessions and compares them with the limits.
#[derive(Debug)]
pub(crate) struct AdmissionControl {
    limits: LaunchLimits,
    headroom: HeadroomMeter,
    /// How many sessions the daemon has descriptors for.
    live_limit: usize,
    live: usize,
    /// How many of the live sessions wait in the queue.
    queued: usize,
    check_requested: bool,
    /// Whether a timer is running that checks the queue again.
    has_timer: bool,
}

impl AdmissionControl {
    pub(crate) fn new(limits: LaunchLimits, headroom: HeadroomMeter, live_limit: usize) -> Self {
        Self {
            limits,
            headroom,
            live_limit,
            live: 0,
            queued: 0,
            check_requested: false,
            has_timer: false,
        }
    }

    pub(crate) fn limits(&self) -> &LaunchLimits {
        &self.limits
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn add(&mut self, phase: Phase) {
        self.live += 1;
        self.queued += usize::from(phase == Phase::Queued);
    }

    pub(crate) fn has_ended(&mut self) {
        self.live = self.live.saturating_sub(1);
    }

    pub(crate) fn has_left_queue(&mut self) {
        self.queued = self.queued.saturating_sub(1);
    }

    /// Returns what the idempotency key of a request stands for.
    pub(crate) fn keyed(
        &self,
        world: &World,
        spec: &SessionSpec,
        ended_ago: impl Fn(&Session) -> Option<Duration>,
    ) -> Keyed {
        match world.by_key(spec, self.limits.key_retention, ended_ago) {
            // A client may repeat a request from the foreground or in the background: it is the
            // same work.
            Keyed::Different { by, fields } if fields == ["tethered"] => Keyed::Same(by),
            keyed => keyed,
        }
    }

    /// Whether a session that ended this long ago still answers for its key.
    pub(crate) fn holds_key(&self, session: &Session, ended_ago: Option<Duration>) -> bool {
        session.spec.key.is_some() && ended_ago.is_some_and(|ago| ago < self.limits.key_retention)
    }

    /// Decides where a launch begins. Nothing is created before this, so a refusal leaves nothing
    /// behind.
    pub(crate) fn slot_for(
        &mut self,
        world: &World,
        launch: &LaunchRequest,
    ) -> Result<LaunchSlot, ApiError> {
        self.check_descriptors()?;
        self.check_headroom(launch.spec.terminal.is_some())?;
        if self.limits.caps == Caps::default() {
            return Ok(LaunchSlot::Now);
        }
        let counts = world.session_counts(&self.limits.caps);
        let applicant = Applicant { name: launch.spec.name.as_deref(), may_queue: launch.queue };
        match decide(&self.limits.caps, &counts, applicant) {
            Admission::Admit => Ok(LaunchSlot::Now),
            Admission::Queue { .. } => Ok(LaunchSlot::Queued),
            Admission::Refuse(over) => Err(ApiError::busy(over)
                .hint("stop some, queue this one with --queue, or raise the limit in kennel.toml")),
        }
    }

    /// Checks that the daemon has descriptors for one more session.
    pub(crate) fn check_descriptors(&self) -> Result<(), ApiError> {
        if self.live < self.live_limit {
            return Ok(());
        }
        let are = if self.live == 1 { "session is" } else { "sessions are" };
        let text =
            format!("{} {are} live, and there are descriptors for {}", self.live, self.live_limit);
        Err(ApiError::busy(text)
            .hint("stop some, or allow the daemon more descriptors (ulimit -n)"))
    }

    pub(crate) fn check_headroom(&mut self, wants_terminal: bool) -> Result<(), ApiError> {
        let measured = self.headroom.measured();
        check(&measured, &self.limits.minima, wants_terminal).map_err(|shortages| {
            ApiError::busy(shortages)
                .hint("running sessions continue; stop some, or free resources on the machine")
        })
    }

    /// Returns whether a check of the queue must be requested: a session waits, and no check is
    /// pending.
    #[must_use]
    pub(crate) fn request_check(&mut self) -> bool {
        self.queued > 0 && !std::mem::replace(&mut self.check_requested, true)
    }

    /// A check begins. Returns whether anything waits in the queue.
    #[must_use]
    pub(crate) fn begin_check(&mut self) -> bool {
        self.check_requested = false;
        self.queued > 0
    }

    pub(crate) fn next_in_queue(&self, world: &World) -> Vec<SessionId> {
        world.next_in_queue(&self.limits.caps)
    }

    /// Returns whether a timer must be started that checks the queue again: nothing reports when
    /// the machine has room.
    #[must_use]
    pub(crate) fn start_timer(&mut self) -> bool {
        !std::mem::replace(&mut self.has_timer, true)
    }

    pub(crate) fn timer_fired(&mut self) {
        self.has_timer = false;
    }
}

/// Explains how a request differs from the session that has its key.
pub(crate) fn different_request(by: &SessionId, fields: &[&str]) -> ApiError {
    let words: Vec<_> = fields.iter().map(|field| flag_of(field)).collect();
    let message = format!(
        "session {by} has this key and was requested differently: {} differ{}",
        words.join(", "),
        if fields.len() == 1 { "s" } else { "" }
    );
    ApiError::conflict(message).hint("use another key for another request")
}

/// Returns what a field of a request is called on the command line.
fn flag_of(field: &str) -> String {
    match field {
        "argv" => "the command".to_owned(),
        "cwd" => "the folder".to_owned(),
        "stdin" => "standard input (-i)".to_owned(),
        "terminal" => "the terminal (-t)".to_owned(),
        "tethered" => "running in the background (-d)".to_owned(),
        "outlives_parent" => "--stay".to_owned(),
        "parent" => "the session that sends the request".to_owned(),
        flag => format!("--{}", flag.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::request::tests::request;

    fn admission(limits: LaunchLimits, live_limit: usize) -> AdmissionControl {
        let pid = rustix::process::getpid().as_raw_pid();
        AdmissionControl::new(limits, HeadroomMeter::new("/".into(), pid), live_limit)
    }

    #[test]
    fn refuses_more_sessions_than_there_are_descriptors_for() {
        let launch = LaunchRequest::new(request(&["true"]), None).unwrap();
        let (mut admission, world) = (admission(LaunchLimits::default(), 2), World::default());
        admission.add(Phase::Reserved);
        assert_eq!(admission.slot_for(&world, &launch).unwrap(), LaunchSlot::Now);
        admission.add(Phase::Reserved);
        let refused = admission.slot_for(&world, &launch).unwrap_err().problem();
        assert_eq!(refused.detail, "2 sessions are live, and there are descriptors for 2");
        admission.has_ended();
        assert!(admission.slot_for(&world, &launch).is_ok());
    }

    #[test]
    fn queues_what_is_over_the_limit_if_it_may_wait() {
        let caps = Caps { live: Some(0), ..Caps::default() };
        let mut admission = admission(LaunchLimits { caps, ..LaunchLimits::default() }, 10);
        let world = World::default();
        let mut launch = LaunchRequest::new(request(&["true"]), None).unwrap();
        assert_eq!(admission.slot_for(&world, &launch).unwrap_err().problem().code, "busy");
        launch.queue = true;
        assert_eq!(admission.slot_for(&world, &launch).unwrap(), LaunchSlot::Queued);
    }

    #[test]
    fn requests_one_check_of_the_queue_at_a_time() {
        let mut admission = admission(LaunchLimits::default(), 10);
        assert!(!admission.request_check(), "nothing waits");
        admission.add(Phase::Queued);
        assert!(admission.request_check());
        assert!(!admission.request_check(), "a check is pending");
        assert!(admission.begin_check());
        assert!(admission.request_check());
        admission.has_left_queue();
        assert!(!admission.begin_check());
        assert!(admission.start_timer() && !admission.start_timer());
        admission.timer_fired();
        assert!(admission.start_timer());
    }

    #[test]
    fn a_different_request_is_explained_with_the_flags_of_the_command_line() {
        let id = SessionId::parse("0c3k5d9wq2fa").unwrap();
        let text = |fields: &[&str]| different_request(&id, fields).problem().detail;
        assert!(text(&["argv"]).ends_with(": the command differs"));
        assert!(text(&["cwd", "output_limit"]).ends_with(": the folder, --output-limit differ"));
    }
}
