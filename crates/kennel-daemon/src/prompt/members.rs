//! Members: how they are checked and shown, and which of their records failed.

use std::collections::HashSet;
use std::path::Path;

use kennel_core::{Member, World};
use kennel_register::WriteError;
use kennel_types::api::{CreateMemberRequest, MemberView, StopResponse};
use kennel_types::{Phase, TokenUsage};

use crate::error::ApiError;
use crate::os::clock;
use crate::prompt::settle::check_agent;

#[derive(Debug, Default)]
pub(crate) struct UnsavedMembers(HashSet<String>);

impl UnsavedMembers {
    pub(crate) fn insert(&mut self, name: String) {
        self.0.insert(name);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns the members whose record must be tried again.
    pub(crate) fn take(&mut self) -> Vec<String> {
        self.0.drain().collect()
    }
}

pub(crate) fn new_member(new: CreateMemberRequest) -> Result<Member, ApiError> {
    let CreateMemberRequest { name, settings, cwd } = new;
    kennel_types::check_member_name(&name).map_err(ApiError::invalid)?;
    if !Path::new(&cwd).is_absolute() {
        return Err(ApiError::invalid(format!("cwd {cwd:?} is not absolute")));
    }
    check_agent(&settings)?;
    Ok(Member {
        name,
        settings,
        cwd,
        conversation: None,
        usage: TokenUsage::default(),
        reported_usage: TokenUsage::default(),
        attempts: 0,
        last: None,
        counted: Vec::new(),
        created_ms: clock::now_ms(),
    })
}

/// Returns what clients see of a member; `busy_since` is when the session began that it works on.
pub(crate) fn view(world: &World, member: &Member, busy_since: Option<u64>) -> MemberView {
    MemberView {
        name: member.name.clone(),
        settings: member.settings.clone(),
        cwd: member.cwd.clone(),
        conversation: member.conversation.clone(),
        usage: member.usage,
        attempts: member.attempts,
        last_verdict: member.last.as_ref().map(|last| last.kind),
        last_session: member.last.as_ref().map(|last| last.session.to_string()),
        last_at: member.last.as_ref().map(|last| clock::rfc3339(last.at_ms)),
        busy_with: world.busy_with(&member.name).map(|session| session.id.to_string()),
        busy_since: busy_since.map(clock::rfc3339),
        waiting: world.waits_for(&member.name).count() as u64,
        created_at: clock::rfc3339(member.created_ms),
    }
}

/// Refuses the removal of a member whose session can't be ended: which one, and why.
pub(crate) fn not_ended(name: &str, stopped: &StopResponse) -> ApiError {
    let (session, lost) = (&stopped.session, stopped.session.phase == Phase::Lost);
    let mut left: Vec<_> = stopped
        .survivors
        .iter()
        .map(|it| format!("{} (pid {}): {}", it.name, it.pid, it.why))
        .collect();
    left.extend(session.owed.iter().filter_map(|owed| owed.why.clone()));
    let why = match (lost, left.is_empty()) {
        (true, _) => "it can no longer be observed".to_owned(),
        (false, true) => "its end takes longer than expected".to_owned(),
        (false, false) => left.join("; "),
    };
    let text =
        format!("member {name:?} is not removed: session {} can't be ended yet: {why}", session.id);
    ApiError::conflict(text).hint(if lost {
        format!("`kennel forget {}` gives it up; then remove the member", session.session)
    } else {
        "the stop continues; try again when the session has ended".to_owned()
    })
}

pub(crate) fn unrecorded(why: &WriteError) -> ApiError {
    ApiError::busy(format!("can't record it: {why}"))
}

#[cfg(test)]
mod tests {
    use kennel_types::AgentSettings;

    use super::*;

    #[test]
    fn refuses_a_relative_folder_and_an_unknown_agent() {
        let settings = AgentSettings { agent: "claude".into(), ..AgentSettings::default() };
        let new = |cwd: &str, settings: &AgentSettings| {
            let (name, cwd) = ("ada".to_owned(), cwd.to_owned());
            new_member(CreateMemberRequest { name, settings: settings.clone(), cwd })
        };
        assert_eq!(new("/work", &settings).unwrap().name, "ada");
        let refused = new("work", &settings).unwrap_err().problem();
        assert_eq!(refused.detail, "cwd \"work\" is not absolute");
        assert!(new("/work", &AgentSettings { agent: "none-such".into(), ..settings }).is_err());
    }

    #[test]
    fn a_failed_record_is_tried_again_once() {
        let mut unsaved = UnsavedMembers::default();
        unsaved.insert("ada".into());
        unsaved.insert("bob".into());
        unsaved.remove("bob");
        assert_eq!(unsaved.take(), ["ada"]);
        assert!(unsaved.take().is_empty());
    }
}
