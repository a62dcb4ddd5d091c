//! Rows that an older version wrote.

use kennel_types::{Phase, Readiness, ReadyState, RelaunchState, Restart};

use crate::event::Event;
use crate::session::Session;

const OLD: &str = r#"{
    "id": "01n1d7rg000z",
    "spec": {
        "name": "ada", "argv": ["true"], "cwd": "/", "terminal": null, "stdin": false, "pen": "auto",
        "grace": {"secs": 10, "nanos": 0}, "linger": {"secs": 0, "nanos": 0},
        "lease": {"secs": 900, "nanos": 0}, "tethered": false, "parent": null,
        "outlives_parent": false, "output_limit": 1048576, "asked_by": "ada (1000)"
    },
    "wanted": {"wanted": "running"},
    "phase": "running",
    "launch": {
        "token": "00000000000000000000000000000001", "recorded": true, "keeper_ready": true,
        "granted": true, "identity": "it", "pid": 42, "pen": "/pen"
    },
    "reason": null,
    "exit": null,
    "owed": [{"what": {"kind": "runtime_files"}, "failures": 0, "why": null}],
    "survivors": []
}"#;

#[test]
fn an_old_row_is_read() {
    let mut session: Session = serde_json::from_str(OLD).unwrap();
    assert_eq!((session.phase, session.id.attempt()), (Phase::Running, 1));
    assert_eq!((session.ready, &session.spec.ready), (ReadyState::Unasked, &Readiness::None));
    assert_eq!(session.spec.restart, Restart::Never);
    assert_eq!((session.relaunch.clone(), session.ticket), (RelaunchState::Undecided, 0));
    assert!(session.kept.is_empty() && session.spec.worktree.is_none());
    assert_eq!(session.step(&Event::Restored), [crate::effect::Effect::Probe]);
}
