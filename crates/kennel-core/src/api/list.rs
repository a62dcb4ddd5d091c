//! Lists of sessions, a page at a time.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::restart::RelaunchState;
use crate::session::{Phase, Session};
use crate::view::SessionView;

/// The longest page, and how long it is if nobody says so.
const LONGEST_PAGE: usize = 1000;

/// Which sessions to list: those of which everything holds that is said here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Also those that are over.
    pub all: bool,
    /// In this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Asked for under this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Prompts of this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Parts of this plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Started by this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Which come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// At most so many: 1 to 1,000, which it is if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub limit: Option<usize>,
    /// Those that come after this one: what the page before has as `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionId>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Those that were asked for first.
    Oldest,
    /// Those that were asked for last.
    Newest,
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// Where the next page goes on: its `after`. None: that was the last.
    pub next: Option<SessionId>,
}

/// A page that nobody can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("limit {0} is none: a page has 1 to {LONGEST_PAGE} sessions")]
pub struct LimitError(usize);

impl ListRequest {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), LimitError> {
        match self.limit {
            Some(limit) if !(1..=LONGEST_PAGE).contains(&limit) => Err(LimitError(limit)),
            _ => Ok(()),
        }
    }

    /// Whether a session belongs to the list.
    #[must_use]
    pub fn wants(&self, session: &Session) -> bool {
        let Self { all, phase, name, key, member, plan, parent, order: _, limit: _, after: _ } =
            self;
        let spec = &session.spec;
        let agent = spec.agent.as_deref();
        let is =
            |wanted: &Option<String>, it: Option<&str>| wanted.is_none() || wanted.as_deref() == it;
        let pending = session.relaunch == RelaunchState::Pending;
        let current = session.is_live() || pending || session.is_asking();
        // Who asks for a phase means all that are in it.
        (*all || phase.is_some() || current)
            && phase.is_none_or(|phase| phase == session.phase)
            && is(name, spec.name.as_deref())
            && is(key, spec.key.as_deref())
            && is(member, agent.and_then(|agent| agent.member.as_deref()))
            && is(plan, agent.and_then(|agent| agent.plan.as_ref()).map(|seat| seat.plan.as_str()))
            && is(parent, spec.parent.as_ref().map(SessionId::as_str))
    }

    /// The ids of the page that is asked for, of all sessions in the order of their ids; and where the next one goes on.
    pub fn page<'a>(
        &self,
        sessions: impl DoubleEndedIterator<Item = &'a Session>,
    ) -> (Vec<&'a SessionId>, Option<SessionId>) {
        let limit = self.limit.unwrap_or(LONGEST_PAGE);
        let wanted = sessions.filter(|session| self.wants(session)).map(|session| &session.id);
        let after = self.after.as_ref();
        let (ids, more): (Vec<_>, _) = match self.order.unwrap_or(Order::Oldest) {
            Order::Oldest => {
                let mut rest = wanted.skip_while(|id| after.is_some_and(|after| *id <= after));
                (rest.by_ref().take(limit).collect(), rest.next().is_some())
            }
            Order::Newest => {
                let mut rest =
                    wanted.rev().skip_while(|id| after.is_some_and(|after| *id >= after));
                (rest.by_ref().take(limit).collect(), rest.next().is_some())
            }
        };
        let next = if more { ids.last().map(|id| (*id).clone()) } else { None };
        (ids, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LaunchToken, SessionSpec};

    fn sessions() -> Vec<Session> {
        (0..5u8)
            .map(|number| {
                let id = SessionId::parse(&format!("0b6c0000000{number}")).unwrap();
                let name = (number % 2 == 0).then(|| "even".to_owned());
                let spec = SessionSpec { name, ..SessionSpec::default() };
                let mut session = Session::new(id, spec, LaunchToken::new(1), Vec::new());
                if number == 4 {
                    session.phase = Phase::Cleaned;
                }
                session
            })
            .collect()
    }

    fn numbers(ids: &[&SessionId]) -> String {
        ids.iter().filter_map(|id| id.as_str().chars().last()).collect()
    }

    #[test]
    fn pages_follow_each_other_without_a_gap_in_both_orders() {
        let sessions = sessions();
        for (order, whole) in [(Order::Oldest, "01234"), (Order::Newest, "43210")] {
            for limit in 1..7 {
                let mut seen = String::new();
                let mut after = None;
                loop {
                    let order = Some(order);
                    let request = ListRequest {
                        all: true,
                        limit: Some(limit),
                        after,
                        order,
                        ..ListRequest::default()
                    };
                    let (ids, next) = request.page(sessions.iter());
                    assert!(ids.len() <= limit);
                    seen += &numbers(&ids);
                    after = next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(seen, whole, "{limit}");
            }
        }
    }

    #[test]
    fn a_list_has_what_was_asked_for() {
        let sessions = sessions();
        let list = |request: ListRequest| numbers(&request.page(sessions.iter()).0);
        let plain = ListRequest::default();
        assert_eq!(list(plain.clone()), "0123");
        assert_eq!(list(ListRequest { all: true, ..plain.clone() }), "01234");
        assert_eq!(list(ListRequest { phase: Some(Phase::Cleaned), ..plain.clone() }), "4");
        assert_eq!(list(ListRequest { name: Some("even".into()), ..plain.clone() }), "02");
        assert_eq!(list(ListRequest { member: Some("m".into()), ..plain.clone() }), "");
        for (limit, fine) in [(0, false), (1, true), (1000, true), (1001, false)] {
            let request = ListRequest { limit: Some(limit), ..plain.clone() };
            assert_eq!(request.check().is_ok(), fine, "{limit}");
        }
    }
}
