//! What clients see of a session.

use std::path::Path;

use kennel_core::Session;
use kennel_register::SessionTimes;
use kennel_types::{Exit, LaunchView, PenKind, SessionView, StartedBy};

use crate::os::clock::rfc3339;

/// Returns the view of a session. `unsaved` is set if its last record failed.
pub(crate) fn session(
    session: &Session,
    times: SessionTimes,
    folder: &Path,
    unsaved: bool,
) -> SessionView {
    let launch = &session.launch;
    let pen = match (&launch.pen, &launch.identity) {
        _ if session.started_by == StartedBy::User => None,
        (Some(path), _) => Some(path.clone()),
        (None, Some(_)) if session.spec.pen == PenKind::Pidns => Some("pidns".to_owned()),
        (None, Some(_)) => Some("subtree".to_owned()),
        (None, None) => None,
    };
    SessionView {
        id: session.id.to_string(),
        name: session.spec.name.clone(),
        phase: session.phase,
        wanted: if session.is_stop_wanted() { "stopped" } else { "running" }.to_owned(),
        pid: launch.pid,
        pen,
        exit: session.exit.clone(),
        exit_code: session.exit.as_ref().and_then(Exit::shell_code),
        reason: session.reason.clone(),
        created_at: rfc3339(times.created_ms),
        started_at: times.started_ms.map(rfc3339),
        ended_at: times.ended_ms.map(rfc3339),
        spec: session.spec.clone(),
        owed: session.owed.clone(),
        survivors: session.survivors.clone(),
        folder: folder.display().to_string(),
        unrecorded: session.is_unrecorded() || unsaved,
        session: session.id.base().to_string(),
        attempt: session.id.attempt(),
        launches: session.id.attempt(),
        relaunch: session.relaunch.clone(),
        ready: session.ready,
        activity: session.reported.activity,
        title: session.reported.title.clone(),
        progress: session.reported.progress,
        queue_position: None,
        key: session.spec.key.clone(),
        kept: session.kept.clone(),
        started_by: session.started_by,
        judged: session.judged.clone(),
        trouble: Vec::new(),
    }
}

/// Returns the view of a launch: everything but its secret.
pub(crate) fn launch(session: &Session) -> LaunchView {
    LaunchView { granted: session.launch.granted, identity: session.launch.identity.clone() }
}
