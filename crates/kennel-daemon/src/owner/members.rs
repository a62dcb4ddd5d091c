//! The owner's part in members: added, shown, removed, and recorded.

use std::time::{Duration, Instant};

use kennel_core::{Member, MemberRemoveError};
use kennel_keeper::fault::point;
use kennel_types::api::{CreateMemberRequest, MemberView, StopResponse, StopResult};
use kennel_types::{Reason, SessionId};

use super::Owner;
use super::launches::Runtime;
use crate::error::{Answer, ApiError, or_refuse};
use crate::prompt::members;
use crate::prompt::settle::no_member;

/// How long a removal waits for prompts beyond their grace.
const BEYOND_GRACE: Duration = Duration::from_secs(30);

struct MemberRemoval {
    name: String,
    by: String,
    /// When the client is answered at the latest, if the prompts of a busy member are to be
    /// stopped.
    until: Option<Instant>,
    /// The prompt whose end was awaited last.
    ended: Option<SessionId>,
    answer: Answer<()>,
}

impl Owner {
    pub(crate) fn member_views(&self) -> Vec<MemberView> {
        self.world.members().map(|member| self.member_view(member)).collect()
    }

    pub(crate) fn show_member(&self, name: &str) -> Result<MemberView, ApiError> {
        let member = self.world.member(name).ok_or_else(|| no_member(&self.world, name))?;
        Ok(self.member_view(member))
    }

    fn member_view(&self, member: &Member) -> MemberView {
        let busy = self.world.busy_with(&member.name);
        let since = busy.and_then(|session| self.launches.get(&session.id)).map(Runtime::since_ms);
        members::view(&self.world, member, since)
    }

    /// Answers when the member is on record.
    pub(crate) fn add_member(&mut self, new: CreateMemberRequest, answer: Answer<MemberView>) {
        let Some((member, answer)) = or_refuse(self.new_member(new), answer) else { return };
        let (name, shown) = (member.name.clone(), self.member_view(&member));
        self.note(None, "member_added", format!("member {name:?}"));
        point("daemon.member.added");
        let bus = self.bus.clone();
        self.register.save_member(member, move |result| match result {
            Ok(()) => drop(answer.send(Ok(shown))),
            Err(why) => {
                bus.call(move |owner| owner.member_not_added(&name));
                drop(answer.send(Err(members::unrecorded(&why))));
            }
        });
    }

    fn new_member(&mut self, new: CreateMemberRequest) -> Result<Member, ApiError> {
        let member = members::new_member(new)?;
        if self.shutdown.is_under_way() {
            return Err(ApiError::shutting_down());
        }
        let taken =
            |error| ApiError::conflict(error).hint("choose another name, or remove that one");
        self.world.add_member(member.clone()).map_err(taken)?;
        Ok(member)
    }

    fn member_not_added(&mut self, name: &str) {
        if let Err(error) = self.world.remove_member(name) {
            tracing::warn!(%error, "can't drop a member that could not be recorded");
        }
    }

    /// Removes a member. A busy one is removed after its prompts have ended, if that is forced.
    pub(crate) fn remove_member(
        &mut self,
        name: String,
        force: bool,
        by: String,
        answer: Answer<()>,
    ) {
        let until = force.then(|| {
            let graces = self.world.prompts_of(&name).map(|session| session.spec.grace);
            let limit = graces.max().unwrap_or_default().saturating_add(BEYOND_GRACE);
            let now = Instant::now();
            now.checked_add(limit).unwrap_or(now + BEYOND_GRACE)
        });
        self.try_removal(MemberRemoval { name, by, until, ended: None, answer });
    }

    /// Removes the member now, or stops its prompts first, including those that arrive before the
    /// deadline.
    fn try_removal(&mut self, removal: MemberRemoval) {
        use MemberRemoveError::{Awaited, Busy, Unknown};
        let refused = match (self.world.remove_member(&removal.name), removal.until) {
            (Ok(_), _) => return self.record_removal(removal),
            (Err(Unknown(name)), _) => no_member(&self.world, &name),
            (Err(Busy { by, .. } | Awaited { by, .. }), Some(until))
                if removal.ended.as_ref() != Some(&by) && Instant::now() < until =>
            {
                return self.stop_prompts(removal, by, until);
            }
            (Err(busy), Some(_)) => {
                ApiError::conflict(busy).hint("its prompts are being stopped; try again")
            }
            (Err(busy), None) => ApiError::conflict(busy)
                .hint("stop that session first; --force stops it and waits until it has ended"),
        };
        drop(removal.answer.send(Err(refused)));
    }

    fn record_removal(&mut self, removal: MemberRemoval) {
        let MemberRemoval { name, by, answer, .. } = removal;
        self.note(None, "member_removed", format!("member {name:?}, by {by}"));
        point("daemon.member.removed");
        self.register.remove_member(&name, move |result| {
            drop(answer.send(result.map_err(|why| members::unrecorded(&why))));
        });
    }

    /// Stops the member's current and queued prompts. Once this session has ended, the removal is
    /// tried again.
    fn stop_prompts(&mut self, removal: MemberRemoval, session: SessionId, until: Instant) {
        let prompts = self.world.prompts_of(&removal.name).map(|it| it.id.clone());
        for id in prompts.collect::<Vec<_>>() {
            self.call_off(&id, Reason::Stopped { by: removal.by.clone() });
        }
        let (answer, over) = tokio::sync::oneshot::channel::<Result<StopResponse, ApiError>>();
        let (bus, ended) = (self.bus.clone(), Some(session.clone()));
        tokio::spawn(async move {
            let refused = match over.await {
                Ok(Ok(stopped)) if stopped.result == StopResult::StillAlive => {
                    members::not_ended(&removal.name, &stopped)
                }
                Ok(Ok(_)) => {
                    let removal = MemberRemoval { ended, ..removal };
                    bus.call(move |owner| owner.try_removal(removal));
                    return;
                }
                Ok(Err(refused)) => refused,
                Err(_) => ApiError::gone(),
            };
            drop(removal.answer.send(Err(refused)));
        });
        self.await_stopped(&session, Instant::now(), until, answer);
        self.answer_waiters(&session, None);
    }

    // Records.

    pub(super) fn save_member(&mut self, member: Member) {
        let (bus, name) = (self.bus.clone(), member.name.clone());
        self.unsaved_members.remove(&name);
        self.register.save_member(member, move |result| {
            if let Err(why) = result {
                tracing::error!(member = name, %why, "can't record a member");
                bus.call(move |owner| owner.member_unsaved(name));
            }
        });
    }

    fn member_unsaved(&mut self, name: String) {
        self.unsaved_members.insert(name);
        self.save_again_later();
    }

    /// Tries again the records that failed. Returns whether there were any.
    pub(super) fn save_members_again(&mut self) -> bool {
        let unsaved = self.unsaved_members.take();
        for member in
            unsaved.iter().filter_map(|name| self.world.member(name)).cloned().collect::<Vec<_>>()
        {
            self.save_member(member);
        }
        !unsaved.is_empty()
    }
}
