//! One step of the state: the core decides, changes are put on record, effects carried out, waiters told.

use std::collections::HashMap;

use kennel_core::{Effect, Event};
use kennel_keeper::fault::point;
use kennel_types::{Phase, RelaunchState, Report, SessionId, SessionView};

use super::Owner;
use super::runtime::{Before, Runtime};
use crate::clock;
use crate::convert;
use crate::view;
use crate::waiters::{self, Standing};
use kennel_register::{NewEvent, SessionRecord};

/// What happened to sessions in one step, for the event log.
pub(super) type News = HashMap<SessionId, Vec<NewEvent>>;
/// How sessions were before a step.
pub(super) type Watched = Vec<(SessionId, Before)>;

impl Owner {
    /// Takes in the sessions of the register.
    pub(super) fn restore(&mut self, sessions: Vec<SessionRecord>) {
        point("daemon.adopt.begun");
        let mut watched = Vec::new();
        for SessionRecord { session, times } in &sessions {
            let id = session.id.clone();
            watched.push((id.clone(), Before::from(session)));
            self.runtimes.insert(id.clone(), Runtime::new(*times));
            if session.is_live() {
                self.live += 1;
                if session.spec.parent.is_some() {
                    self.children.insert(id);
                }
            }
        }
        let effects = self.world.restore(sessions.into_iter().map(|stored| stored.session));
        let probed = effects.iter().filter(|(_, effect)| *effect == Effect::Probe);
        self.unprobed = probed.map(|(id, _)| id.clone()).collect();
        self.follow(&Event::Restored, watched, effects);
        self.adopted_if_done();
    }

    /// Something happened to a session.
    pub(super) fn happen(&mut self, id: &SessionId, event: &Event) {
        let watched = self.watch(id);
        let effects = self.world.step(id, event);
        self.follow(event, watched, effects);
    }

    /// How those are that a step of this one can change.
    fn watch(&self, id: &SessionId) -> Watched {
        let children = self.children.iter().filter(|child| *child != id);
        let ids = std::iter::once(id).chain(children);
        ids.filter_map(|id| Some((id.clone(), Before::from(self.world.get(id)?)))).collect()
    }

    /// Everything that follows from a step.
    pub(super) fn follow(
        &mut self,
        event: &Event,
        watched: Watched,
        effects: Vec<(SessionId, Effect)>,
    ) {
        self.count_event(event, &effects);
        let mut news = News::new();
        if let (Some(kind), Some((id, _))) = (kind_of(event, &effects), watched.first()) {
            self.report(&mut news, id, kind, event);
        }
        for (id, before) in &watched {
            self.count_step(id, *before, event);
            self.notice(&mut news, id, *before, event);
        }
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        for (id, before) in &watched {
            self.look_ahead(id, *before);
        }
        for event in news.into_values().flatten() {
            self.register.log(event);
        }
        for (id, _) in watched {
            self.tell_waiters(&id, Some(event));
        }
        self.leave_if_done();
    }

    fn report(&self, news: &mut News, id: &SessionId, kind: &str, event: &Event) {
        news.entry(id.clone()).or_default().push(NewEvent {
            time_ms: clock::now_ms(),
            session: Some(id.clone()),
            kind: kind.to_owned(),
            cause: convert::cause(event),
            by: convert::by(event),
        });
    }

    /// Notices what a step has changed.
    fn notice(&mut self, news: &mut News, id: &SessionId, before: Before, event: &Event) {
        let Some(session) = self.world.get(id) else { return };
        let now = Before::from(session);
        if now == before {
            return;
        }
        let (ended, live) = (session.has_ended(), session.is_live());
        if now.stop_wanted && !before.stop_wanted {
            self.report(news, id, "wanted_stopped", event);
            self.call_off_making(id);
        }
        if now.phase == before.phase {
            return;
        }
        // Both, if two were passed in one step: reaped and cleaned share a record.
        if now.phase == Phase::Cleaned && before.phase < Phase::Reaped && !was_forgotten(event) {
            self.report(news, id, phase_name(Phase::Reaped), event);
        }
        self.report(news, id, phase_name(now.phase), event);
        log_phase(id, now.phase, event);
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.made_progress();
            let times = &mut runtime.times;
            if now.phase == Phase::Running && matches!(event, Event::Opened) {
                times.note_start(clock::now_ms());
            }
            if ended {
                times.note_end(runtime.ended_ms.unwrap_or_else(clock::now_ms));
                runtime.let_go();
            }
        }
        if !live {
            if self.runtimes.get(id).is_some_and(|runtime| runtime.link.is_none()) {
                self.forget_keeper(id);
            }
            self.children.remove(id);
            self.live = self.live.saturating_sub(1);
            self.one_more_ended();
        }
    }

    /// What a step of a session means for what follows it, and for those in line.
    fn look_ahead(&mut self, id: &SessionId, before: Before) {
        let Some(session) = self.world.get(id) else { return };
        let (now, awaits_verdict) = (session.phase, session.awaits_verdict());
        if now != before.phase {
            if before.phase == Phase::Queued {
                self.queued = self.queued.saturating_sub(1);
                self.forget_if_needless(id);
            }
            if now == Phase::Cleaned {
                self.consider_restart(id);
            }
            if now >= Phase::Running {
                self.line_may_move();
            }
        }
        if awaits_verdict && !before.awaits_verdict {
            self.judge(id);
        }
        self.settle_again(id);
        self.called_off_if_so(id);
    }

    /// A prompt whose next attempt was called off during its pause is over with that: no phase tells.
    fn called_off_if_so(&mut self, id: &SessionId) {
        let over = self.world.get(id).is_some_and(|session| {
            let called_off = matches!(session.relaunch, RelaunchState::CalledOff { .. });
            called_off && session.judged.is_some() && !session.is_asking()
        });
        if over {
            self.tell_plan(id);
            self.line_may_move();
        }
    }

    /// Tells those who wait for what a session is now.
    pub(super) fn tell_waiters(&mut self, id: &SessionId, event: Option<&Event>) {
        let Some(session) = self.world.get(id) else { return };
        let standing = waiters::standing(session, event);
        if standing == Standing::Open {
            return;
        }
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        let due: Vec<_> =
            runtime.waiters.extract_if(.., |waiter| waiter.is_due(standing)).collect();
        let view = if due.is_empty() { None } else { self.view(id) };
        if let Some(view) = view {
            for waiter in due {
                waiter.tell(view.clone(), standing);
            }
        }
        self.tell_resumers(id, standing);
        self.told_while_leaving(id, standing);
    }

    /// What clients are shown of a session.
    pub(super) fn view(&self, id: &SessionId) -> Option<SessionView> {
        let mut view = self.view_out_of_line(id)?;
        if view.phase == Phase::Queued {
            view.queue_place = self.world.place_in_line(id).map(|place| place as u64);
        }
        Some(view)
    }

    /// The same, but for its place in line: to find that is dear if there are many.
    pub(super) fn view_out_of_line(&self, id: &SessionId) -> Option<SessionView> {
        let session = self.world.get(id)?;
        let runtime = self.runtimes.get(id)?;
        let folder = self.home.session(id);
        let mut view = view::session(session, runtime.times, &folder, runtime.unsaved);
        view.kept = self.world.kept_by(id).cloned().collect();
        view.trouble.clone_from(&runtime.trouble);
        view.launches = self.launches_of(id);
        Some(view)
    }

    /// How many launches there have been of the session that this one is of.
    pub(super) fn launches_of(&self, id: &SessionId) -> u32 {
        self.world.newest(id).map_or(1, |newest| newest.id.attempt())
    }

    /// Puts something into the event log that is no step of a session.
    pub(super) fn note(&self, session: Option<SessionId>, kind: &str, cause: String) {
        tracing::info!(session = session.as_ref().map(SessionId::as_str), kind, "{cause}");
        let (time_ms, kind) = (clock::now_ms(), kind.to_owned());
        self.register.log(NewEvent { time_ms, session, kind, cause, by: None });
    }

    /// Says so when every session was looked at.
    pub(super) fn adopted_if_done(&mut self) {
        if self.unprobed.is_empty()
            && let Some(adopted) = self.adopted.take()
        {
            point("daemon.adopt.done");
            // Whoever waited may have lost patience.
            adopted.send(()).ok();
        }
    }
}

/// Every phase is in the event log; the daemon's own log has what is out of the ordinary.
fn log_phase(id: &SessionId, phase: Phase, event: &Event) {
    let (session, name) = (id.as_str(), phase_name(phase));
    match phase {
        Phase::Lost => tracing::warn!(session, phase = name, "{}", convert::cause(event)),
        _ => tracing::debug!(session, phase = name, "{}", convert::cause(event)),
    }
}

fn was_forgotten(event: &Event) -> bool {
    matches!(event, Event::Forgotten { .. })
}

/// What is worth an entry by itself, if it changed something.
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
        Event::BecameReady { .. } | Event::Reported(Report::Ready) => Some("ready"),
        Event::ReadyOverdue { .. } => Some("not_ready"),
        Event::Reported(_) => Some("reported"),
        _ => None,
    }
}

/// A phase's name, as clients see it.
pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Queued => "queued",
        Phase::Making => "making",
        Phase::Reserved => "reserved",
        Phase::Launching => "launching",
        Phase::Starting => "starting",
        Phase::Running => "running",
        Phase::Stopping => "stopping",
        Phase::Lost => "lost",
        Phase::Reaped => "reaped",
        Phase::Cleaned => "cleaned",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_have_the_names_that_clients_see() {
        for phase in [Phase::Reserved, Phase::Stopping, Phase::Lost, Phase::Cleaned] {
            let shown = serde_json::to_string(&phase).unwrap();
            assert_eq!(shown, format!("{:?}", phase_name(phase)));
        }
    }
}
