//! Tests of the helpers that several verbs share, and a session for the tests of the verbs.

use std::time::Duration;

use kennel_types::{PenKind, Phase, ReadyState, RelaunchState, SessionSpec};

use super::*;

#[test]
fn formats_exit_statuses() {
    let signal = |signal, core, oom| Exit::Signal { signal, core, oom };
    for (exit, text) in [
        (None, "-"),
        (Some(Exit::Code { code: 0 }), "0"),
        (Some(signal(15, false, false)), "143 (TERM)"),
        (Some(signal(11, true, false)), "139 (SEGV, core)"),
        (Some(signal(9, false, true)), "137 (out of memory)"),
        (Some(Exit::NeverRan), "never ran"),
        (Some(Exit::Unknown { why: "x".into() }), "unknown"),
    ] {
        assert_eq!(exit_text(exit.as_ref()), text);
    }
    assert_eq!(ended_text(Some(&Exit::Code { code: 3 })), "exit 3");
    assert_eq!(ended_text(Some(&Exit::NeverRan)), "never ran");
}

/// Returns a session for tests.
pub(in crate::verbs) fn session() -> SessionView {
    SessionView {
        id: "0c3k5d9wq2fa".to_owned(),
        name: Some("fix-login".to_owned()),
        phase: Phase::Running,
        wanted: "running".to_owned(),
        pid: Some(4711),
        pen: Some("subtree".to_owned()),
        exit: None,
        exit_code: None,
        reason: None,
        created_at: "2026-01-31T12:00:00.000Z".to_owned(),
        started_at: Some("2026-01-31T12:00:00.010Z".to_owned()),
        ended_at: None,
        spec: SessionSpec {
            name: Some("fix-login".to_owned()),
            argv: ["claude", "-p", "fix the login page"].map(ToOwned::to_owned).to_vec(),
            cwd: "/home/u/src".to_owned(),
            terminal: None,
            stdin: false,
            pen: PenKind::Auto,
            grace: Duration::from_secs(10),
            linger: Duration::from_secs(2),
            lease: Some(Duration::from_secs(900)),
            tethered: false,
            parent: None,
            outlives_parent: false,
            output_limit: 64 << 20,
            asked_by: "test".to_owned(),
            ..SessionSpec::default()
        },
        owed: Vec::new(),
        survivors: Vec::new(),
        folder: "/home/u/.local/state/kennel/sessions/0c3k5d9wq2fa".to_owned(),
        unrecorded: false,
        trouble: Vec::new(),
        session: "0c3k5d9wq2fa".to_owned(),
        attempt: 1,
        launches: 1,
        relaunch: RelaunchState::Undecided,
        ready: ReadyState::Unasked,
        activity: None,
        title: None,
        progress: None,
        queue_position: None,
        key: None,
        kept: Vec::new(),
        started_by: StartedBy::Kennel,
        judged: None,
    }
}
