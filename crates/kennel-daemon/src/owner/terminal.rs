//! Sessions that a user started in their own terminal: taken in, followed, let go.

use std::time::Duration;

use kennel_core::{Admitted, Event, Session};
use kennel_keeper::fault::point;
use kennel_types::{LaunchToken, Report, SessionId, SessionView, StartedBy, Survivor};

use super::Owner;
use super::again::owed;
use super::ask::random;
use super::runtime::{Followed, Runtime};
use super::step::{News, phase_name};
use crate::adoptee::Adoptee;
use crate::clock;
use crate::effects::terminal::{self, Errand, Handle, Look, Sighting};
use crate::message::{Answer, Message};
use crate::refused::Refused;
use crate::waiters::Waiter;
use kennel_register::{NewEvent, SessionTimes};

impl Owner {
    pub(super) fn is_terminal(&self, id: &SessionId) -> bool {
        self.world.get(id).is_some_and(|session| session.started_by == StartedBy::Terminal)
    }

    /// Follows a process from now on; answered once it does. Whoever asks again gets the same session.
    pub(super) fn adopt(&mut self, adoptee: Adoptee, answer: Answer<SessionView>) {
        let title = adoptee.title.clone();
        match self.take_in(adoptee) {
            Ok(id) => {
                if let Some(title) = title {
                    self.happen(&id, &Event::Reported(Report::Title { title }));
                }
                self.wait(&id, Waiter::Started(answer));
            }
            // Whoever has gone does not want to know.
            Err(refused) => drop(answer.send(Err(refused))),
        }
    }

    fn take_in(&mut self, adoptee: Adoptee) -> Result<SessionId, Refused> {
        let identity = adoptee.identity.to_record();
        if let Some(known) = self.world.follower_of(&identity) {
            return same(known, adoptee.spec.name.as_deref());
        }
        if self.leaving.is_some() {
            return Err(Refused::leaving());
        }
        self.check_name(adoptee.spec.name.as_deref())?;
        if self.live >= self.live_most {
            return Err(self.out_of_descriptors());
        }
        let random = random().map_err(|error| Refused::internal(format!("no random: {error}")))?;
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of many")]
        let id = self.ids.next(clock::now_ms(), random[0] as u32);
        let (token, pid) = (LaunchToken::new(random[1]), adoptee.identity.pid);
        let by = Some(adoptee.spec.asked_by.clone()).filter(|by| !by.is_empty());
        let session = Session::adopted(id.clone(), adoptee.spec, token, (identity, pid), owed());
        let phase = session.phase;
        let effects = match self.world.admit(session) {
            Admitted::Refused(refusal) => return Err(refusal.into()),
            Admitted::Admitted { effects } => effects,
        };
        point("daemon.terminal.admitted");
        let (created_ms, started_ms) = (clock::now_ms(), adoptee.started_ms);
        self.runtimes.insert(
            id.clone(),
            Runtime::new(SessionTimes { created_ms, started_ms, ..SessionTimes::default() }),
        );
        self.live += 1;
        let mut news = News::new();
        news.entry(id.clone()).or_default().push(NewEvent {
            time_ms: created_ms,
            session: Some(id.clone()),
            kind: phase_name(phase).to_owned(),
            cause: format!("pid {pid}, which was started in a terminal, is adopted"),
            by,
        });
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        Ok(id)
    }

    /// Looks for its process.
    pub(super) fn look_for(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let look = Look {
            identity: session.launch.identity.clone(),
            folder: self.home.session(id),
            token: session.launch.token.secret().to_owned(),
            // Of those that are on record from before, only.
            rebooted: self.rebooted && self.unprobed.contains(id),
        };
        let (bus, session, places) = (self.bus.clone(), id.clone(), self.probes.clone());
        tokio::spawn(async move {
            // Never closed: without a place it goes on all the same.
            let _place = places.acquire().await;
            let sighting = Box::new(look.run().await);
            bus.send(Message::Sighted { session, sighting }).ok();
        });
    }

    /// A look for a process has come to something.
    pub(super) fn sighted(&mut self, id: &SessionId, sighting: Sighting) {
        let Sighting { probe, handle } = sighting;
        let lives = self.world.get(id).is_some_and(|session| !session.has_ended());
        if let (Some(handle), Some(runtime), true) = (handle, self.runtimes.get_mut(id), lives) {
            let (bus, session, followed) = (self.bus.clone(), id.clone(), handle.clone());
            let following = Errand::begin(async move {
                let tell = |event| {
                    let session = session.clone();
                    bus.send(Message::Happened { session, event }).ok();
                };
                let event = terminal::follow(followed, tell).await;
                tell(event);
            });
            runtime.followed = Some(Followed { handle, _following: following, ending: None });
        }
        self.happen(id, &Event::Probed(probe));
        point("daemon.terminal.followed");
        self.unprobed.remove(id);
        self.adopted_if_done();
    }

    /// Ends its process, and no other.
    pub(super) fn end_process(&mut self, id: &SessionId, grace: Duration) {
        let Some(pid) = self.world.get(id).and_then(|session| session.launch.pid) else { return };
        let followed = self.runtimes.get_mut(id).and_then(|runtime| runtime.followed.as_mut());
        // It is not followed if it has just ended, and its end is on its way.
        let Some(followed) = followed else { return };
        let (bus, session) = (self.bus.clone(), id.clone());
        let tell = move |event| {
            bus.send(Message::Happened { session: session.clone(), event }).ok();
        };
        let handle = followed.handle.clone();
        followed.ending = Some(Errand::begin(async move {
            let alive = |survivors: Vec<Survivor>| tell(Event::StillAlive { survivors });
            terminal::end(handle.clone(), pid, grace, alive).await;
            tell(terminal::gone_soon(handle).await);
        }));
    }

    /// A handle on its process, for those who have something for it.
    pub(super) fn handle_of(&self, reference: &str) -> Result<Handle, Refused> {
        let id = self.find(reference)?;
        let followed = self.runtimes.get(&id).and_then(|runtime| runtime.followed.as_ref());
        let gone = || Refused::conflict(format!("session {id} does not run"));
        followed.map(|followed| followed.handle.clone()).ok_or_else(gone)
    }

    /// It is not followed any more; nothing is done to it. Answered once that is on record.
    pub(super) fn let_go_of(&mut self, id: &SessionId, by: String, answer: Answer<SessionView>) {
        let has_ended = |owner: &Self| owner.world.get(id).is_none_or(Session::has_ended);
        let refused = if has_ended(self) {
            Refused::conflict(format!("session {id} has ended"))
        } else {
            self.happen(id, &Event::Forgotten { by });
            if has_ended(self) {
                return self.wait(id, Waiter::Settled(answer));
            }
            Refused::conflict(format!("session {id} is just being looked for"))
                .hint("try again in a moment")
        };
        drop(answer.send(Err(refused)));
    }
}

/// The same process is the same session, unless it is to have another name.
fn same(known: &Session, name: Option<&str>) -> Result<SessionId, Refused> {
    match (&known.spec.name, name) {
        (Some(has), Some(wanted)) if has == wanted => Ok(known.id.clone()),
        (_, None) => Ok(known.id.clone()),
        (has, Some(_)) => {
            let has = has.as_ref().map_or("no name".to_owned(), |has| format!("the name {has:?}"));
            let text = format!("this process is session {} already, with {has}", known.id);
            Err(Refused::conflict(text).hint("`kennel forget` lets go of it"))
        }
    }
}
