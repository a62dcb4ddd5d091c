//! Members: added, shown, removed, and put on record.

use std::collections::HashSet;

use kennel_core::api::{MemberAnswer, NewMember};
use kennel_core::{Event, Member, MemberRemoveError, Reason, SessionId, StopWish};
use kennel_keeper::fault::point;

use super::Owner;
use super::prompts::check_seat;
use crate::clock;
use crate::message::{Answer, Message};
use crate::refused::Refused;
use crate::register::WriteError;
use crate::waiters::Waiter;

/// What somebody wants of members.
#[derive(Debug)]
pub(crate) enum MemberCommand {
    /// All of them.
    List { answer: Answer<Vec<MemberAnswer>> },
    /// One.
    Show { name: String, answer: Answer<MemberAnswer> },
    /// A new one; answered when it is on record.
    Add { member: NewMember, answer: Answer<MemberAnswer> },
    /// One is forgotten; if it is busy and that is wanted, after its prompts have ended.
    Remove { name: String, force: bool, by: String, answer: Answer<()> },
}

/// What the owner has of members beyond what the core decides by.
#[derive(Debug, Default)]
pub(super) struct Seats {
    /// Those whose record failed.
    unsaved: HashSet<String>,
    /// The prompts for which somebody waits, tied.
    pub(super) tied: HashSet<SessionId>,
}

impl Owner {
    pub(super) fn member_command(&mut self, command: MemberCommand) {
        match command {
            MemberCommand::List { answer } => {
                let all = self.world.members().map(|member| self.member_answer(member)).collect();
                drop(answer.send(Ok(all)));
            }
            MemberCommand::Show { name, answer } => {
                let member = self.world.member(&name);
                let shown = member.map(|member| self.member_answer(member));
                drop(answer.send(shown.ok_or_else(|| self.no_member(&name))));
            }
            MemberCommand::Add { member, answer } => self.add_member(member, answer),
            MemberCommand::Remove { name, force, by, answer } => {
                self.remove_member(&name, force, &by, answer);
            }
        }
    }

    fn member_answer(&self, member: &Member) -> MemberAnswer {
        let busy = self.world.busy_with(&member.name).map(|session| session.id.clone());
        let since = busy.as_ref().and_then(|id| self.runtimes.get(id)).map(|runtime| {
            clock::rfc3339(runtime.times.started_ms.unwrap_or(runtime.times.created_ms))
        });
        MemberAnswer {
            name: member.name.clone(),
            seat: member.seat.clone(),
            cwd: member.cwd.clone(),
            conversation: member.conversation.clone(),
            usage: member.usage,
            attempts: member.attempts,
            last_verdict: member.last.as_ref().map(|last| last.kind),
            last_session: member.last.as_ref().map(|last| last.session.to_string()),
            last_at: member.last.as_ref().map(|last| clock::rfc3339(last.at_ms)),
            busy_with: busy.map(|id| id.to_string()),
            busy_since: since,
            waiting: self.world.waits_for(&member.name).count() as u64,
            created_at: clock::rfc3339(member.created_ms),
        }
    }

    fn add_member(&mut self, new: NewMember, answer: Answer<MemberAnswer>) {
        let member = match self.new_member(new) {
            Ok(member) => member,
            Err(refused) => return drop(answer.send(Err(refused))),
        };
        let (name, shown) = (member.name.clone(), self.member_answer(&member));
        let saved = member.clone();
        if let Err(taken) = self.world.add_member(member) {
            let refused = Refused::conflict(taken).hint("choose another name, or remove that one");
            return drop(answer.send(Err(refused)));
        }
        self.note(None, "member_added", format!("member {name:?}"));
        point("daemon.member.added");
        let bus = self.bus.clone();
        self.register.save_member(saved, move |result| match result {
            Ok(()) => drop(answer.send(Ok(shown))),
            Err(why) => {
                bus.send(Message::MemberNotAdded { name }).ok();
                drop(answer.send(Err(unwritten(&why))));
            }
        });
    }

    fn new_member(&self, new: NewMember) -> Result<Member, Refused> {
        let NewMember { name, seat, cwd } = new;
        Member::check_name(&name).map_err(Refused::invalid)?;
        if !std::path::Path::new(&cwd).is_absolute() {
            return Err(Refused::invalid(format!("cwd {cwd:?} is not absolute")));
        }
        check_seat(&seat)?;
        if self.leaving.is_some() {
            return Err(Refused::leaving());
        }
        Ok(Member {
            name,
            seat,
            cwd,
            conversation: None,
            usage: kennel_core::Usage::default(),
            told: kennel_core::Usage::default(),
            attempts: 0,
            last: None,
            created_ms: clock::now_ms(),
        })
    }

    /// What is on no record is none.
    pub(super) fn member_not_added(&mut self, name: &str) {
        if let Err(error) = self.world.remove_member(name) {
            tracing::warn!(%error, "a member that is on no record stays for now");
        }
    }

    fn remove_member(&mut self, name: &str, force: bool, by: &str, answer: Answer<()>) {
        match self.world.remove_member(name) {
            Ok(member) => {
                self.note(None, "member_removed", format!("member {:?}, by {by}", member.name));
                point("daemon.member.removed");
                self.register.remove_member(name, move |result| {
                    drop(answer.send(result.map_err(|why| unwritten(&why))));
                });
            }
            Err(MemberRemoveError::Unknown(name)) => drop(answer.send(Err(self.no_member(&name)))),
            Err(busy) if !force => {
                let hint = "stop that session first; --force stops it, and waits for its end";
                drop(answer.send(Err(Refused::conflict(busy).hint(hint))));
            }
            Err(MemberRemoveError::Busy { name, by: session }) => {
                self.remove_when_free(&name, &session, by, answer);
            }
        }
    }

    /// Ends what the member does, and all that waits for it; then it is removed.
    fn remove_when_free(&mut self, name: &str, busy: &SessionId, by: &str, answer: Answer<()>) {
        let waiting: Vec<_> = self.world.waits_for(name).map(|it| it.id.clone()).collect();
        for id in waiting.iter().chain([busy]) {
            let reason = Reason::Stopped { by: by.to_owned() };
            self.happen(id, &Event::StopAsked(StopWish { grace: None, reason }));
        }
        let (told, over) = tokio::sync::oneshot::channel();
        let (bus, name, by) = (self.bus.clone(), name.to_owned(), by.to_owned());
        tokio::spawn(async move {
            match over.await {
                Ok(Ok(_)) => {
                    let remove = MemberCommand::Remove { name, force: true, by, answer };
                    let command = crate::message::Command::Member(remove);
                    bus.send(Message::Command(command)).ok();
                }
                Ok(Err(refused)) => drop(answer.send(Err(refused))),
                Err(_) => drop(answer.send(Err(Refused::gone()))),
            }
        });
        self.wait(busy, Waiter::Settled(told));
    }

    // The record.

    pub(super) fn save_member(&mut self, member: Member) {
        let (bus, name) = (self.bus.clone(), member.name.clone());
        self.seats.unsaved.remove(&name);
        self.register.save_member(member, move |result| {
            if let Err(why) = result {
                tracing::error!(member = name, %why, "a member is not on record as it is");
                bus.send(Message::MemberUnsaved { name }).ok();
            }
        });
    }

    pub(super) fn member_unsaved(&mut self, name: String) {
        self.seats.unsaved.insert(name);
        self.save_again_later();
    }

    /// Tries again with those whose record failed. Whether there were some.
    pub(super) fn save_members_again(&mut self) -> bool {
        let unsaved: Vec<_> = self.seats.unsaved.drain().collect();
        for member in
            unsaved.iter().filter_map(|name| self.world.member(name)).cloned().collect::<Vec<_>>()
        {
            self.save_member(member);
        }
        !unsaved.is_empty()
    }
}

fn unwritten(why: &WriteError) -> Refused {
    Refused::busy(format!("it could not be put on record: {why}"))
}
