//! Sessions and events that the unit tests share.

use std::time::Duration;

use kennel_types::{
    IdMaker, LaunchToken, Owed, OwedKind, Reason, SessionId, SessionSpec, WorktreeSpec,
};

use crate::event::{Event, StopIntent};
use crate::session::Session;

pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Returns an id. Greater numbers are later.
pub(crate) fn id(number: u64) -> SessionId {
    IdMaker::default().next(1_800_000_000_000 + number * 1_000_000, 7)
}

pub(crate) fn spec() -> SessionSpec {
    SessionSpec {
        argv: vec!["true".into()],
        grace: GRACE,
        asked_by: "a test".into(),
        ..SessionSpec::default()
    }
}

/// Returns a session with a changed spec that owes its runtime files.
pub(crate) fn asking(change: impl FnOnce(&mut SessionSpec)) -> Session {
    let mut spec = spec();
    change(&mut spec);
    let files = Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None };
    Session::new(id(1), spec, LaunchToken::new(1), vec![files])
}

/// Returns a worktree to create.
pub(crate) fn worktree() -> WorktreeSpec {
    WorktreeSpec {
        repo: "/repo".into(),
        path: "/tree".into(),
        branch: "b".into(),
        ..WorktreeSpec::default()
    }
}

/// Returns the same worktree as an owed resource.
pub(crate) fn tree() -> OwedKind {
    OwedKind::Worktree {
        repo: "/repo".into(),
        path: "/tree".into(),
        branch: "b".into(),
        record: None,
    }
}

/// Returns a new session that owes these resources.
pub(crate) fn owing(owed: &[OwedKind]) -> Session {
    let owed = owed.iter().map(|what| Owed { what: what.clone(), failures: 0, why: None });
    Session::new(id(1), spec(), LaunchToken::new(1), owed.collect())
}

/// Returns a new session that owes its runtime files.
pub(crate) fn session() -> Session {
    owing(&[OwedKind::RuntimeFiles])
}

pub(crate) fn born() -> Event {
    Event::Born { identity: "it".into(), pid: 42, pen: Some("/pen".into()) }
}

/// Returns a client's stop.
pub(crate) fn stop(grace: Option<Duration>) -> Event {
    Event::StopAsked(StopIntent { grace, reason: stopped() })
}

pub(crate) fn stopped() -> Reason {
    Reason::Stopped { by: "a client".into() }
}
