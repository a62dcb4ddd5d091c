//! The owner's part in members: added, shown, removed, and recorded.

use std::time::{Duration, Instant};

use kennel_core::{Event, Member, MemberRemoveError, StopIntent};
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

/// A removal that has waited for a prompt, and may have to wait for another one.
#[derive(Debug)]
struct RemoveAfter {
    name: String,
    by: String,
    /// The prompt that had to end.
    ended: SessionId,
    /// When the client is answered at the latest.
    until: Instant,
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
            return Err(ApiError::leaving());
        }
        let taken =
            |error| ApiError::conflict(error).hint("choose another name, or remove that one");
        self.world.add_member(member.clone()).map_err(taken)?;
        Ok(member)
    }

    /// The member could not be recorded: so there is none.
    fn member_not_added(&mut self, name: &str) {
        if let Err(error) = self.world.remove_member(name) {
            tracing::warn!(%error, "can't drop a member that could not be recorded");
        }
    }

    /// Removes a member. A busy one is removed after its prompts have ended, if that is forced.
    pub(crate) fn remove_member(
        &mut self,
        name: &str,
        force: bool,
        by: String,
        answer: Answer<()>,
    ) {
        match self.remove_now(name, &by, answer) {
            None => {}
            Some((busy, answer)) if force => {
                let prompts = self.world.prompts_of(name).map(|session| session.spec.grace);
                let patience = prompts.max().unwrap_or_default().saturating_add(BEYOND_GRACE);
                let now = Instant::now();
                let until = now.checked_add(patience).unwrap_or(now + BEYOND_GRACE);
                self.remove_when_free(&busy, name, by, until, answer);
            }
            Some((busy, answer)) => {
                let hint = "stop that session first; --force stops it, and waits for its end";
                drop(answer.send(Err(ApiError::conflict(busy).hint(hint))));
            }
        }
    }

    /// Removes a member, or returns why it can't be removed.
    fn remove_now(
        &mut self,
        name: &str,
        by: &str,
        answer: Answer<()>,
    ) -> Option<(MemberRemoveError, Answer<()>)> {
        match self.world.remove_member(name) {
            Ok(member) => {
                self.note(None, "member_removed", format!("member {:?}, by {by}", member.name));
                point("daemon.member.removed");
                self.register.remove_member(name, move |result| {
                    drop(answer.send(result.map_err(|why| members::unrecorded(&why))));
                });
            }
            Err(MemberRemoveError::Unknown(name)) => {
                drop(answer.send(Err(no_member(&self.world, &name))))
            }
            Err(busy) => return Some((busy, answer)),
        }
        None
    }

    /// Stops what the member does and what waits for it; then it is removed.
    fn remove_when_free(
        &mut self,
        busy: &MemberRemoveError,
        name: &str,
        by: String,
        until: Instant,
        answer: Answer<()>,
    ) {
        let (MemberRemoveError::Busy { by: ended, .. }
        | MemberRemoveError::Awaited { by: ended, .. }) = busy
        else {
            return;
        };
        let prompts: Vec<_> = self.world.prompts_of(name).map(|it| it.id.clone()).collect();
        for id in &prompts {
            let reason = Reason::Stopped { by: by.clone() };
            self.apply(id, &Event::StopAsked(StopIntent { grace: None, reason }));
        }
        let (stopped, over) = tokio::sync::oneshot::channel::<Result<StopResponse, ApiError>>();
        let bus = self.bus.clone();
        let after = RemoveAfter { name: name.to_owned(), by, ended: ended.clone(), until, answer };
        let waits_for = ended.clone();
        tokio::spawn(async move {
            match over.await {
                Ok(Ok(stopped)) if stopped.result == StopResult::StillAlive => {
                    drop(after.answer.send(Err(members::not_ended(&after.name, &stopped))));
                }
                Ok(Ok(_)) => drop(bus.call(move |owner| owner.remove_after(after))),
                Ok(Err(refused)) => drop(after.answer.send(Err(refused))),
                Err(_) => drop(after.answer.send(Err(ApiError::gone()))),
            }
        });
        self.await_stopped(&waits_for, Instant::now(), until, stopped);
        self.answer_waiters(&waits_for, None);
    }

    /// Stops prompts that came in the meantime too, as long as there is time.
    fn remove_after(&mut self, after: RemoveAfter) {
        let RemoveAfter { name, by, ended, until, answer } = after;
        let Some((busy, answer)) = self.remove_now(&name, &by, answer) else { return };
        let same = matches!(
            &busy,
            MemberRemoveError::Busy { by, .. } | MemberRemoveError::Awaited { by, .. } if *by == ended
        );
        if same || Instant::now() >= until {
            let hint = "its prompts are being stopped; try again";
            return drop(answer.send(Err(ApiError::conflict(busy).hint(hint))));
        }
        self.remove_when_free(&busy, &name, by, until, answer);
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
