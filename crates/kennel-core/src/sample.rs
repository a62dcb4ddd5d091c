//! Sessions for tests.

use std::time::Duration;

use crate::event::{Event, StopWish};
use crate::id::{IdMaker, LaunchToken, SessionId};
use crate::session::{Owed, OwedKind, Reason, Session};
use crate::spec::{PenKind, SessionSpec};

pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// An id; greater numbers are later.
pub(crate) fn id(number: u64) -> SessionId {
    IdMaker::default().next(1_800_000_000_000 + number * 1_000_000, 7)
}

pub(crate) fn spec() -> SessionSpec {
    SessionSpec {
        name: None,
        argv: vec!["true".into()],
        cwd: "/".into(),
        terminal: None,
        stdin: false,
        pen: PenKind::Auto,
        grace: GRACE,
        linger: Duration::ZERO,
        lease: None,
        tethered: false,
        parent: None,
        outlives_parent: false,
        output_limit: 1 << 20,
        asked_by: "a test".into(),
    }
}

/// A new session that owes these.
pub(crate) fn owing(owed: &[OwedKind]) -> Session {
    let owed = owed.iter().map(|what| Owed { what: what.clone(), failures: 0, why: None });
    Session::new(id(1), spec(), LaunchToken::new(1), owed.collect())
}

/// A new session that owes its files.
pub(crate) fn session() -> Session {
    owing(&[OwedKind::RuntimeFiles])
}

pub(crate) fn born() -> Event {
    Event::Born { identity: "it".into(), pid: 42, pen: Some("/pen".into()) }
}

/// A client's wish.
pub(crate) fn stop(grace: Option<Duration>) -> Event {
    Event::StopAsked(StopWish { grace, reason: stopped() })
}

pub(crate) fn stopped() -> Reason {
    Reason::Stopped { by: "a client".into() }
}
