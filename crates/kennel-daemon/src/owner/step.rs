//! One step of the state: the core decides, changes are recorded, effects carried out, waiters
//! answered.

use std::collections::HashMap;
use std::time::Instant;

use kennel_core::{Effect, Event, Session};
use kennel_keeper::fault::point;
use kennel_register::{NewEvent, SessionRecord};
use kennel_types::{AgentReport, Phase, RelaunchState, SessionId, SessionView};

use super::Owner;
use super::launches::{Before, Runtime};
use crate::keeper::translate;
use crate::os::clock;
use crate::owner::view;
use crate::owner::waiters::{self, SessionProgress};

/// What happened to sessions in one step, for the event log.
pub(super) type NewEvents = HashMap<SessionId, Vec<NewEvent>>;
pub(super) type Watched = Vec<(SessionId, Before)>;

impl Owner {
    pub(super) fn restore(&mut self, sessions: Vec<SessionRecord>) {
        point("daemon.adopt.begun");
        let mut watched = Vec::new();
        for SessionRecord { session, times } in &sessions {
            watched.push((session.id.clone(), Before::from(session)));
            self.launches.insert(&session.id, Runtime::new(*times));
            if session.is_live() {
                self.admission.add(session.phase);
                self.launches.add_child(session);
            }
        }
        let effects = self.world.restore(sessions.into_iter().map(|stored| stored.session));
        let probed = effects.iter().filter(|(_, effect)| *effect == Effect::Probe);
        self.adoption.begin(probed.map(|(id, _)| id.clone()).collect());
        self.follow_up(&Event::Restored, watched, effects);
        self.adoption.report_if_done();
    }

    pub(super) fn apply(&mut self, id: &SessionId, event: &Event) {
        let watched = self.watch(id);
        let effects = self.world.step(id, event);
        self.follow_up(event, watched, effects);
    }

    /// Returns the state of the sessions that a step of this one can change.
    fn watch(&self, id: &SessionId) -> Watched {
        let ids = self.launches.affected_by(id);
        ids.filter_map(|id| Some((id.clone(), Before::from(self.world.get(id)?)))).collect()
    }

    /// Carries out everything that follows from a step.
    pub(super) fn follow_up(
        &mut self,
        event: &Event,
        watched: Watched,
        effects: Vec<(SessionId, Effect)>,
    ) {
        self.count_event(event, &effects);
        let mut news = NewEvents::new();
        if let (Some(kind), Some((id, _))) = (kind_of(event, &effects), watched.first()) {
            report(&mut news, id, kind, event);
        }
        for (id, before) in &watched {
            self.record_changes(&mut news, id, *before, event);
        }
        self.carry_out_all(effects, &mut news);
        for (id, before) in &watched {
            self.decide_next(id, *before);
        }
        self.log_rest(news);
        for (id, _) in watched {
            self.answer_waiters(&id, Some(event));
        }
        self.exit_if_done();
    }

    /// Carries out effects. The first record of the session includes this entry of the event log.
    pub(super) fn carry_out_with(&mut self, event: NewEvent, effects: Vec<(SessionId, Effect)>) {
        let session = event.session.clone();
        let mut news: NewEvents = session.map(|id| (id, vec![event])).into_iter().collect();
        self.carry_out_all(effects, &mut news);
        self.log_rest(news);
    }

    /// Logs the events that no record has taken. Those of a record that follows wait for it:
    /// otherwise a new daemon could find the event without the record, and would log it again.
    fn log_rest(&mut self, news: NewEvents) {
        for (id, events) in news {
            let waits = self.world.get(&id).is_some_and(Session::is_record_outdated);
            match self.launches.get_mut(&id) {
                Some(runtime) if waits => runtime.unsaved_events.extend(events),
                _ => events.into_iter().for_each(|event| self.register.log(event)),
            }
        }
    }

    pub(super) fn carry_out_all(
        &mut self,
        effects: Vec<(SessionId, Effect)>,
        news: &mut NewEvents,
    ) {
        for (id, effect) in effects {
            self.carry_out(&id, effect, news);
        }
    }

    pub(super) fn has_ended(&self, id: &SessionId) -> bool {
        self.world.get(id).is_none_or(Session::has_ended)
    }

    fn count_event(&self, event: &Event, effects: &[(SessionId, Effect)]) {
        if effects.is_empty() {
            return; // it changed nothing
        }
        match event {
            Event::KeeperLost => drop(self.metrics.keepers_lost.inc()),
            Event::CleanUpFailed { .. } => drop(self.metrics.cleanups_failed.inc()),
            _ => {}
        }
    }

    fn count_step(&mut self, id: &SessionId, before: Before, now: Before, event: &Event) {
        let (Some(session), Some(runtime)) = (self.world.get(id), self.launches.get_mut(id)) else {
            return;
        };
        if now.stop_wanted && !before.stop_wanted {
            runtime.stop_asked = Some(Instant::now());
        }
        if before.phase == Phase::Queued && now.phase != Phase::Queued {
            runtime.accepted = Some(Instant::now()); // what it waited for was its turn
        }
        if now.phase == Phase::Running
            && matches!(event, Event::Opened)
            && let Some(accepted) = runtime.accepted.take()
        {
            self.metrics.launch.observe(accepted.elapsed());
        }
        if session.has_ended() && before.phase < Phase::Reaped {
            self.metrics.ended(session.reason.as_ref());
            if !matches!(event, Event::Forgotten { .. }) {
                self.metrics.reaped.inc();
            }
            if let Some(asked) = runtime.stop_asked.take() {
                self.metrics.stop.observe(asked.elapsed());
            }
        }
    }

    fn record_changes(
        &mut self,
        news: &mut NewEvents,
        id: &SessionId,
        before: Before,
        event: &Event,
    ) {
        let Some(session) = self.world.get(id) else { return };
        let now = Before::from(session);
        if now == before {
            return;
        }
        let (ended, live) = (session.has_ended(), session.is_live());
        self.count_step(id, before, now, event);
        if now.stop_wanted && !before.stop_wanted {
            report(news, id, "wanted_stopped", event);
            self.cancel_worktree(id);
        }
        if now.phase == before.phase {
            return;
        }
        // One step may pass two phases: reaped and cleaned share a record.
        if now.phase == Phase::Cleaned && before.phase < Phase::Reaped && !was_forgotten(event) {
            report(news, id, Phase::Reaped.name(), event);
        }
        report(news, id, now.phase.name(), event);
        log_phase(id, now.phase, event);
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.made_progress();
            let times = &mut runtime.times;
            if now.phase == Phase::Running && matches!(event, Event::Opened) {
                times.note_start(clock::now_ms());
            }
            if ended {
                times.note_end(runtime.ended_ms.unwrap_or_else(clock::now_ms));
                runtime.release();
            }
        }
        if !live {
            if self.launches.link(id).is_none() {
                self.forget_keeper(id);
            }
            self.launches.remove_child(id);
            self.admission.has_ended();
            if self.retention.count_ended() {
                self.bus.call(Self::trim);
            }
        }
    }

    /// Decides what follows a step: a relaunch, a verdict, the next session in the queue.
    fn decide_next(&mut self, id: &SessionId, before: Before) {
        let Some(session) = self.world.get(id) else { return };
        let (now, awaits_verdict) = (session.phase, session.awaits_verdict());
        if now != before.phase {
            if before.phase == Phase::Queued {
                self.admission.has_left_queue();
                self.delete_stored_if_unneeded(id);
            }
            if now == Phase::Cleaned {
                self.consider_restart(id);
            }
            if now >= Phase::Running {
                self.check_queue_soon();
            }
        }
        if awaits_verdict && !before.awaits_verdict {
            self.judge(id);
        }
        self.settle_relaunch(id);
        self.finish_if_called_off(id);
    }

    /// A prompt is over when its next attempt is cancelled during the pause: no phase shows that.
    fn finish_if_called_off(&mut self, id: &SessionId) {
        let over = self.world.get(id).is_some_and(|session| {
            let called_off = matches!(session.relaunch, RelaunchState::CalledOff { .. });
            called_off && session.judged.is_some() && !session.is_asking()
        });
        if over {
            self.report_to_plan(id);
            self.check_queue_soon();
        }
    }

    /// Answers the waiters whose condition the session has reached.
    pub(super) fn answer_waiters(&mut self, id: &SessionId, event: Option<&Event>) {
        let Some(session) = self.world.get(id) else { return };
        let progress = waiters::progress(session, event);
        if progress == SessionProgress::Open {
            return;
        }
        let Some(runtime) = self.launches.get_mut(id) else { return };
        let due: Vec<_> =
            runtime.waiters.extract_if(.., |waiter| waiter.is_due(progress)).collect();
        let view = if due.is_empty() { None } else { self.view(id) };
        if let Some(view) = view {
            for waiter in due {
                waiter.answer(view.clone(), progress);
            }
        }
        self.repeat_resumes(id, progress);
        self.report_shutdown_progress(id, progress);
    }

    pub(super) fn view(&self, id: &SessionId) -> Option<SessionView> {
        let mut view = self.view_without_position(id)?;
        if view.phase == Phase::Queued {
            view.queue_position = self.world.queue_position(id).map(|place| place as u64);
        }
        Some(view)
    }

    /// Like [`Owner::view`], without the position in the queue, which is expensive to find.
    pub(super) fn view_without_position(&self, id: &SessionId) -> Option<SessionView> {
        let session = self.world.get(id)?;
        let runtime = self.launches.get(id)?;
        let folder = self.home.session(id);
        let mut view = view::session(session, runtime.times, &folder, runtime.unsaved);
        view.kept = self.world.kept_by(id).cloned().collect();
        view.trouble.clone_from(&runtime.trouble);
        view.launches = self.launches_of(id);
        Some(view)
    }

    pub(super) fn launches_of(&self, id: &SessionId) -> u32 {
        self.world.newest(id).map_or(1, |newest| newest.id.attempt())
    }

    /// Adds an entry to the event log that is not a step of a session.
    pub(crate) fn note(&self, session: Option<SessionId>, kind: &str, cause: String) {
        tracing::info!(session = session.as_ref().map(SessionId::as_str), kind, "{cause}");
        self.register.log(new_event(session, kind, cause, None));
    }
}

/// Returns an entry of the event log about what happens now.
pub(super) fn new_event(
    session: Option<SessionId>,
    kind: &str,
    cause: String,
    by: Option<String>,
) -> NewEvent {
    NewEvent { time_ms: clock::now_ms(), session, kind: kind.to_owned(), cause, by }
}

fn report(news: &mut NewEvents, id: &SessionId, kind: &str, event: &Event) {
    let entry = new_event(Some(id.clone()), kind, translate::cause(event), translate::by(event));
    news.entry(id.clone()).or_default().push(entry);
}

/// Every phase is in the event log; the daemon's own log has only what is unusual.
fn log_phase(id: &SessionId, phase: Phase, event: &Event) {
    let (session, name) = (id.as_str(), phase.name());
    match phase {
        Phase::Lost => tracing::warn!(session, phase = name, "{}", translate::cause(event)),
        _ => tracing::debug!(session, phase = name, "{}", translate::cause(event)),
    }
}

fn was_forgotten(event: &Event) -> bool {
    matches!(event, Event::Forgotten { .. })
}

/// Returns the kind of an event that gets an entry of its own, if it changed something.
fn kind_of(event: &Event, effects: &[(SessionId, Effect)]) -> Option<&'static str> {
    if effects.is_empty() {
        return None;
    }
    match event {
        Event::Exited { .. } => Some("exited"),
        Event::StillAlive { .. } => Some("still_alive"),
        Event::KeeperLost => Some("keeper_lost"),
        Event::CleanUpFailed { .. } => Some("clean_up_failed"),
        Event::Kept { .. } => Some("kept"),
        Event::Probed(kennel_core::Probe::Running { .. }) => Some("adopted"),
        Event::BecameReady { .. } | Event::Reported(AgentReport::Ready) => Some("ready"),
        Event::ReadyOverdue { .. } => Some("not_ready"),
        Event::Reported(_) => Some("reported"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_names_are_those_of_the_api() {
        for phase in [Phase::Reserved, Phase::Stopping, Phase::Lost, Phase::Cleaned] {
            let shown = serde_json::to_string(&phase).unwrap();
            assert_eq!(shown, format!("{:?}", phase.name()));
        }
    }
}
