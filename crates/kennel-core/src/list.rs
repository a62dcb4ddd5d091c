//! Which sessions belong to a list, page by page.

use kennel_types::api::{ListOrder, ListRequest};
use kennel_types::{RelaunchState, SessionId};

use crate::session::Session;

fn wants(request: &ListRequest, session: &Session) -> bool {
    let ListRequest { all, phase, name, key, member, plan, parent, order: _, limit: _, after: _ } =
        request;
    let spec = &session.spec;
    let agent = spec.agent.as_deref();
    let is =
        |wanted: &Option<String>, it: Option<&str>| wanted.is_none() || wanted.as_deref() == it;
    let pending = session.relaunch == RelaunchState::Pending;
    let current = session.is_live() || pending || session.is_asking();
    // A request for a phase includes ended sessions.
    (*all || phase.is_some() || current)
        && phase.is_none_or(|phase| phase == session.phase)
        && is(name, spec.name.as_deref())
        && is(key, spec.key.as_deref())
        && is(member, agent.and_then(|agent| agent.member.as_deref()))
        && is(plan, agent.and_then(|agent| agent.plan.as_ref()).map(|it| it.plan.as_str()))
        && is(parent, spec.parent.as_ref().map(SessionId::as_str))
}

/// Returns the ids of the requested page, and the id after which the next page starts. `sessions`
/// are all sessions, in the order of their ids.
pub fn page<'a>(
    request: &ListRequest,
    sessions: impl DoubleEndedIterator<Item = &'a Session>,
) -> (Vec<&'a SessionId>, Option<SessionId>) {
    let limit = request.page_size();
    let wanted = sessions.filter(|session| wants(request, session)).map(|session| &session.id);
    let after = request.after.as_ref();
    let (ids, more): (Vec<_>, _) = match request.order.unwrap_or(ListOrder::Oldest) {
        ListOrder::Oldest => {
            let mut rest = wanted.skip_while(|id| after.is_some_and(|after| *id <= after));
            (rest.by_ref().take(limit).collect(), rest.next().is_some())
        }
        ListOrder::Newest => {
            let mut rest = wanted.rev().skip_while(|id| after.is_some_and(|after| *id >= after));
            (rest.by_ref().take(limit).collect(), rest.next().is_some())
        }
    };
    let next = if more { ids.last().map(|id| (*id).clone()) } else { None };
    (ids, next)
}

#[cfg(test)]
mod tests {
    use kennel_types::{LaunchToken, Phase, SessionSpec};

    use super::*;

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
        for (order, whole) in [(ListOrder::Oldest, "01234"), (ListOrder::Newest, "43210")] {
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
                    let (ids, next) = page(&request, sessions.iter());
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
    fn a_list_contains_the_requested_sessions() {
        let sessions = sessions();
        let list = |request: ListRequest| numbers(&page(&request, sessions.iter()).0);
        let plain = ListRequest::default();
        assert_eq!(list(plain.clone()), "0123");
        assert_eq!(list(ListRequest { all: true, ..plain.clone() }), "01234");
        assert_eq!(list(ListRequest { phase: Some(Phase::Cleaned), ..plain.clone() }), "4");
        assert_eq!(list(ListRequest { name: Some("even".into()), ..plain.clone() }), "02");
        assert_eq!(list(ListRequest { member: Some("m".into()), ..plain.clone() }), "");
    }
}
