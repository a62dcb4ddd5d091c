//! What the daemon reports: failed cleanup, kept worktrees, and the API over TCP.

use kennel_types::api::{ListenState, ListenView, WorktreesView};
use kennel_types::{Phase, WorktreeState};

use super::Finding;
use super::FindingState::{Bad, Good};
use crate::command_prelude::*;

/// Returns nothing if no daemon runs: the doctor starts none.
pub(super) fn findings(home: Option<&HomeDir>) -> Vec<Finding> {
    let Some(daemon) = home.and_then(|home| DaemonClient::connect(home, StartDaemon::Never).ok())
    else {
        return Vec::new();
    };
    let sessions = daemon.sessions(true);
    let worktrees = daemon.get::<WorktreesView>("/v1/worktrees");
    let mut findings: Vec<_> = match (sessions, worktrees) {
        (Ok(sessions), Ok(worktrees)) => {
            [owed(&sessions), kept(&worktrees)].into_iter().flatten().collect()
        }
        (Err(error), _) | (_, Err(error)) => {
            let text = format!("can't ask the daemon about pending cleanup: {error}");
            vec![Finding::new("owed", Bad, text)]
        }
    };
    findings.extend(daemon.view().ok().and_then(|view| view.listen).map(|listen| api(&listen)));
    findings
}

fn api(listen: &ListenView) -> Finding {
    match listen.state {
        ListenState::Open => Finding::new("api", Good, listen.url.clone()),
        ListenState::Failing => {
            let why = listen.why.as_deref().unwrap_or("unknown");
            Finding::new("api", Bad, format!("not listening on TCP: {why}"))
        }
    }
}

/// Reports cleanup that has failed so far.
fn owed(sessions: &[SessionView]) -> Option<Finding> {
    let ended = sessions.iter().filter(|session| session.phase >= Phase::Reaped);
    let mut failed_cleanups = ended.flat_map(|session| {
        let failed = session.owed.iter().filter(|owed| owed.failures > 0);
        failed.map(move |owed| (session, owed))
    });
    let (session, owed) = failed_cleanups.next()?;
    let count = 1 + failed_cleanups.count();
    let text = format!(
        "{} will be retried; session {} (failed attempts: {}): {}",
        counted(count, "failed cleanup"),
        session.id,
        owed.failures,
        owed.why.as_deref().unwrap_or("unknown"),
    );
    Some(Finding::new("owed", Bad, text))
}

fn kept(found: &WorktreesView) -> Option<Finding> {
    let kept = found.worktrees.iter().filter(|tree| tree.state == WorktreeState::Kept).count();
    let text = format!("{} kept (see `kennel worktrees`)", counted(kept, "worktree"));
    (kept > 0).then(|| Finding::new("worktrees", Good, text))
}
