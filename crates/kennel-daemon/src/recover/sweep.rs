//! The sweep after adoption: it removes what former daemons left that belongs to no session.
//!
//! A folder without a row is that of a launch whose row never became durable: its keeper, if it
//! exists, still waits for the order to launch, and is dismissed. A pen without a session has a
//! dead owner, or could not be claimed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kennel_keeper::KeeperClientError;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, LaunchStage, PeerRole};
use kennel_pen::{HostSupport, LeftoverEnd};
use kennel_types::SessionId;

use crate::event_sender::EventSender;
use crate::keeper::lock::{self, Era};
use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::metrics::DaemonMetrics;
use crate::os::home::DaemonHome;
use crate::os::{if_exists, unblocked};
use crate::recover::census::{RecoveryRequest, SessionCensus};
use crate::recover::clean_up::{end_leftover, remove_folder};
use crate::recover::strays;

/// How long a keeper may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a pen may take to be empty.
const PEN_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn sweep(
    home: DaemonHome,
    owner: EventSender<RecoveryRequest>,
    metrics: Arc<DaemonMetrics>,
) {
    point("daemon.adopt.sweep");
    if let Err(error) = sweep_folders(&home, &owner).await {
        tracing::warn!(%error, "can't look for folders without a session");
    }
    if let Err(error) = sweep_pens(&home, &owner, &metrics).await {
        tracing::warn!(%error, "can't look for pens without a session");
    }
    point("daemon.adopt.swept");
}

async fn sweep_folders(home: &DaemonHome, owner: &EventSender<RecoveryRequest>) -> io::Result<()> {
    // The folders are listed first: a session is known before its folder is made.
    let listed = list(&home.sessions())?;
    let census = SessionCensus::take(owner).await?;
    for id in listed.into_iter().filter(|id| !census.known.contains(id)) {
        match sweep_folder(home, &id).await {
            Ok(what) => {
                let (session, cause) = (Some(id), what.to_owned());
                owner.send(RecoveryRequest::Note { session, kind: "swept", cause });
            }
            Err(error) => tracing::warn!(session = %id, %error, "can't sweep a folder"),
        }
    }
    Ok(())
}

fn list(sessions: &Path) -> io::Result<Vec<SessionId>> {
    let mut ids = Vec::new();
    for entry in if_exists(std::fs::read_dir(sessions))?.into_iter().flatten() {
        ids.extend(entry?.file_name().to_str().and_then(|name| SessionId::parse(name).ok()));
    }
    Ok(ids)
}

/// Ends what is left of a launch without a row, and removes its folder. Returns what it was.
async fn sweep_folder(home: &DaemonHome, id: &SessionId) -> io::Result<&'static str> {
    let folder = home.session(id);
    let (what, origin) = match lock::look(&folder)? {
        None => ("a folder without a session", None),
        Some(lock) if lock.held => {
            dismiss(&folder).await?;
            ("a keeper that waited for a session", lock.origin)
        }
        Some(lock) => ("a launch that never became a session", lock.origin),
    };
    if matches!(origin, Some((_, Era::Copied))) {
        return Err(io::Error::other("it was copied from another home"));
    }
    if let Some(name) = home.pen_name(id) {
        let ended = unblocked(move || {
            for path in HostSupport::find_pens(&name).map_err(io::Error::other)? {
                let left = end_leftover(&path, &name, Instant::now() + PEN_TIMEOUT)?;
                if !left.is_empty() {
                    return Err(io::Error::other(format!("{left:?} are still in its pen")));
                }
            }
            Ok(())
        });
        ended.await?;
    }
    unblocked(move || remove_folder(&folder)).await?;
    Ok(what)
}

/// Dismisses a keeper without a row, so that it does not launch, and waits until it has exited.
async fn dismiss(folder: &Path) -> io::Result<()> {
    let deadline = tokio::time::Instant::now() + EXIT_TIMEOUT;
    let requested = tokio::time::timeout_at(deadline, request_exit(folder)).await;
    match requested.map_err(io::Error::other)? {
        // It has exited by itself in the meantime, or is about to: the lock shows it.
        Ok(()) | Err(KeeperRequestError::Client(KeeperClientError::Closed)) => {}
        Err(error) => return Err(io::Error::other(error)),
    }
    while lock::is_held(folder)? {
        if tokio::time::Instant::now() >= deadline {
            return Err(io::Error::other("its keeper does not exit"));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn request_exit(folder: &Path) -> Result<(), KeeperRequestError> {
    let connection = loop {
        match KeeperConnection::connect(folder) {
            Err(KeeperRequestError::NotListening) => {
                if !lock::is_held(folder)? {
                    return Ok(());
                }
                tokio::time::sleep(PAUSE).await;
            }
            other => break other?,
        }
    };
    connection.greet(PeerRole::Client).await?;
    connection.send(&KeeperRequest::Status).await?;
    let stage = connection.wait_for(|report, _| match report {
        KeeperReport::State(state) => Some(state.stage),
        _ => None,
    });
    let stage = stage.await?;
    if !matches!(stage, LaunchStage::Waiting | LaunchStage::Gated | LaunchStage::Over) {
        let why = "its program runs, but the session is not on record: `kennel rescue` shows it";
        return Err(KeeperRequestError::Refused(why.to_owned()));
    }
    // The first greeting is not a daemon's: a daemon's connection renews the lease of the keeper.
    connection.greet(PeerRole::Daemon).await?;
    if stage != LaunchStage::Over {
        connection.send(&KeeperRequest::Dismiss).await?;
        connection
            .wait_for(|report, _| matches!(report, KeeperReport::Gone(_)).then_some(()))
            .await?;
    }
    connection.send(&KeeperRequest::Release).await
}

/// Removes the pens without a session's folder: a shutdown while the daemon examines this machine
/// leaves a trial pen. Blocks.
pub(crate) fn remove_trial_pens(home: &DaemonHome, deadline: Instant) -> io::Result<()> {
    for (name, path) in HostSupport::pens(&home.id).map_err(io::Error::other)? {
        if !home.sessions().join(name.session.as_str()).try_exists()? {
            let left = end_leftover(&path, &name, deadline)?;
            if !left.is_empty() {
                tracing::warn!(pen = %name, pids = ?left, "can't end a trial pen");
            }
        }
    }
    Ok(())
}

async fn sweep_pens(
    home: &DaemonHome,
    owner: &EventSender<RecoveryRequest>,
    metrics: &Arc<DaemonMetrics>,
) -> io::Result<()> {
    let (home, census, metrics) =
        (home.clone(), SessionCensus::take(owner).await?, Arc::clone(metrics));
    let swept = unblocked(move || {
        let mut ended = Vec::new();
        for pen in strays::strayed_pens(&home, &census)? {
            let pids = pen.pids()?;
            let session = pen.name().session.to_string();
            metrics.strays_found.inc_by(pids.len() as u64);
            match pen.end(Instant::now() + PEN_TIMEOUT)? {
                LeftoverEnd::Removed => {
                    metrics.strays_ended.inc_by(pids.len() as u64);
                    ended.push((session, pids.len()));
                }
                LeftoverEnd::StillAlive(pids) => {
                    tracing::warn!(session, ?pids, "can't end a stray pen yet");
                }
            }
        }
        Ok(ended)
    });
    for (session, processes) in swept.await? {
        let cause = format!("ended a pen of session {session} with {processes} processes");
        let session = SessionId::parse(&session).ok();
        owner.send(RecoveryRequest::Note { session, kind: "stray_ended", cause });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kennel_pen::HomeId;

    use super::*;

    #[test]
    fn lists_only_folders_that_are_named_like_sessions() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(list(&home.path().join("none")).unwrap(), []);
        let id = kennel_types::IdMaker::default().next(0, 1);
        for name in [id.as_str(), "lost+found", "UPPER"] {
            std::fs::create_dir(home.path().join(name)).unwrap();
        }
        assert_eq!(list(home.path()).unwrap(), [id]);
    }

    #[tokio::test]
    async fn removes_a_folder_without_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let home = DaemonHome { folder: folder.path().to_owned(), id: HomeId::random().unwrap() };
        let id = kennel_types::IdMaker::default().next(0, 1);
        std::fs::create_dir_all(home.session(&id).join("journal")).unwrap();
        sweep_folder(&home, &id).await.unwrap();
        assert!(!home.session(&id).exists());
    }
}
