//! Finds sessions, pens and strays without the daemon.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kennel_keeper::KeeperClient;
use kennel_keeper::protocol::{
    KeeperReport, KeeperRequest, KeeperState, LaunchStage, OUTCOME_FILE, OutcomeFile,
};
use kennel_pen::{HostSupport, PenId, PenName};
use rustix::fs::FlockOperation;
use serde::Serialize;

use super::process;
use crate::command_prelude::*;
use crate::connect::nothing_listens;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Everything that was found. The names of the fields are stable.
#[derive(Debug, Default, Serialize)]
pub(super) struct RescueFindings {
    pub(super) sessions: Vec<RescuedSession>,
    pub(super) pens: Vec<OrphanedPen>,
    pub(super) strays: Vec<StrayProcess>,
    /// What could not be examined, and why.
    pub(super) trouble: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RescuedSession {
    pub(super) id: String,
    pub(super) folder: String,
    pub(super) lock: LaunchLockState,
    pub(super) keeper: Option<RescuedKeeper>,
    pub(super) agent: Option<String>,
    pub(super) agent_lives: bool,
    pub(super) pen: Option<String>,
    pub(super) outcome: Option<String>,
    /// The lines that its keeper has written into the lock file.
    pub(super) identity: Vec<String>,
}

impl RescuedSession {
    pub(super) fn is_live(&self) -> bool {
        self.has_keeper() || self.agent_lives
    }

    pub(super) fn has_keeper(&self) -> bool {
        self.lock == LaunchLockState::Held || self.keeper.is_some()
    }
}

/// The lock of a launch, which its keeper holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LaunchLockState {
    Held,
    Free,
    Unknown,
}

#[derive(Debug, Serialize)]
pub(super) struct RescuedKeeper {
    pub(super) pid: i32,
    /// Its stage; none if it does not respond.
    pub(super) stage: Option<&'static str>,
}

/// A pen whose keeper has died.
#[derive(Debug, Serialize)]
pub(super) struct OrphanedPen {
    pub(super) path: String,
    pub(super) session: String,
    pub(super) pids: Vec<i32>,
}

/// A process with the home's cookie whose session is not live.
#[derive(Debug, Clone, Serialize)]
pub(super) struct StrayProcess {
    pub(super) pid: i32,
    pub(super) session: String,
    pub(super) command: String,
}

/// Searches everywhere. What can't be examined is reported, and the search continues.
pub(super) fn find(home: &HomeDir) -> RescueFindings {
    let mut found = RescueFindings::default();
    let folders = home.path("sessions");
    match fs::read_dir(&folders) {
        Ok(entries) => {
            let mut paths = entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>();
            paths.sort();
            for path in paths.iter().filter(|path| path.is_dir()) {
                let session = examine(path, home, &mut found.trouble);
                found.sessions.push(session);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => found.trouble.push(format!("{}: {error}", folders.display())),
    }
    match pens(home) {
        Ok(pens) => found.pens = pens,
        Err(error) => found.trouble.push(format!("pens: {error}")),
    }
    match strays(home, &found.sessions) {
        Ok(strays) => found.strays = strays,
        Err(error) => found.trouble.push(format!("processes: {error}")),
    }
    found
}

fn examine(folder: &Path, home: &HomeDir, trouble: &mut Vec<String>) -> RescuedSession {
    let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lock = lock_state(&folder.join("lock")).unwrap_or_else(|error| {
        trouble.push(format!("{id}: lock: {error}"));
        LaunchLockState::Unknown
    });
    let (keeper, state) = ask_keeper(folder).unwrap_or_else(|error| {
        trouble.push(format!("{id}: keeper: {error}"));
        (None, None)
    });
    let identity = if is_copy(&folder.join("lock")) {
        trouble.push(format!("{id}: the folder is a copy; its processes belong to another home"));
        String::new()
    } else {
        fs::read_to_string(folder.join("lock")).unwrap_or_default()
    };
    let outcome = OutcomeFile::read(&folder.join(OUTCOME_FILE)).ok().flatten();
    let outcome = outcome.map(|outcome| match outcome.status {
        Some(status) => status.to_string(),
        None => format!("never ran: {:?}", outcome.cause),
    });
    // The lines before the keeper's describe the origin of the launch.
    let noted = identity.lines().skip_while(|line| !line.starts_with("keeper "));
    let identity = noted.map(ToOwned::to_owned).collect::<Vec<_>>();
    let agent = process::agent(&identity).unwrap_or_else(|error| {
        trouble.push(format!("{id}: agent: {error}"));
        None
    });
    let mut session = RescuedSession {
        folder: folder.display().to_string(),
        lock,
        keeper,
        agent: agent.as_ref().map(|(identity, _)| identity.to_string()),
        agent_lives: agent.is_some(),
        pen: None,
        outcome,
        identity,
        id,
    };
    if let Some(state) = state {
        session.agent = session.agent.or(state.identity.map(|identity| identity.to_string()));
        session.pen = state.cgroup.map(|path| path.display().to_string());
    }
    if session.pen.is_none()
        && session.is_live()
        && let Ok(id) = PenId::parse(&session.id)
    {
        let name = PenName { home: home.id.clone(), session: id };
        let pens = HostSupport::find_pens(&name).unwrap_or_default();
        session.pen = pens.first().map(|path| path.display().to_string());
    }
    session
}

/// Whether the folder was copied from another home: the lock file contains its original inode.
fn is_copy(lock: &Path) -> bool {
    let text = fs::read_to_string(lock).unwrap_or_default();
    let original = text.lines().find_map(|line| line.strip_prefix("file ")?.parse::<u64>().ok());
    let inode = fs::metadata(lock).map(|file| file.ino()).ok();
    original.is_some() && original != inode
}

/// Returns whether the lock is held. The check takes a shared lock for an instant, so that two
/// checks don't take each other for a keeper.
fn lock_state(path: &Path) -> io::Result<LaunchLockState> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LaunchLockState::Free),
        Err(error) => return Err(error),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(LaunchLockState::Free),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(LaunchLockState::Held),
        Err(error) => Err(error.into()),
    }
}

/// Finds the keeper by its socket or its open files, and fetches its state.
fn ask_keeper(folder: &Path) -> io::Result<(Option<RescuedKeeper>, Option<KeeperState>)> {
    let client = match KeeperClient::connect(folder) {
        Ok(client) => client,
        Err(error) if nothing_listens(&error) => {
            let pid = process::all()?.into_iter().find(|pid| process::keeps(*pid, folder));
            return Ok((pid.map(|pid| RescuedKeeper { pid, stage: None }), None));
        }
        Err(error) => return Err(error),
    };
    let pid = rustix::net::sockopt::socket_peercred(&client)?.pid.as_raw_pid();
    let state = client.send(&KeeperRequest::Status).ok().and_then(|()| await_state(&client));
    let stage = state.as_ref().map(|state| stage(state.stage));
    Ok((Some(RescuedKeeper { pid, stage }), state))
}

fn await_state(client: &KeeperClient) -> Option<KeeperState> {
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    loop {
        match client.receive().ok()? {
            Some((KeeperReport::State(state), _)) => return Some(*state),
            Some(_) => {}
            None if Instant::now() >= deadline => return None,
            None => readable(client, Some(deadline)).ok()?,
        }
    }
}

fn stage(stage: LaunchStage) -> &'static str {
    match stage {
        LaunchStage::Waiting => "waiting to launch",
        LaunchStage::Gated => "at the gate",
        LaunchStage::Running => "running",
        LaunchStage::Ending => "ending",
        LaunchStage::Over => "over",
    }
}

fn pens(home: &HomeDir) -> anyhow::Result<Vec<OrphanedPen>> {
    let leftovers = HostSupport::leftovers(&home.id)?;
    let pen = |leftover: &kennel_pen::Leftover| OrphanedPen {
        path: leftover.path().display().to_string(),
        session: leftover.name().session.to_string(),
        pids: leftover.pids().unwrap_or_default(),
    };
    Ok(leftovers.iter().map(pen).collect())
}

/// Finds processes with the home's cookie whose session is not live.
pub(super) fn strays(home: &HomeDir, sessions: &[RescuedSession]) -> io::Result<Vec<StrayProcess>> {
    let live = |id: &str| sessions.iter().any(|session| session.id == id && session.is_live());
    let own = rustix::process::getpid().as_raw_pid();
    let mut strays = Vec::new();
    for pid in process::all()?.into_iter().filter(|pid| *pid != own) {
        if let Some(session) = process::session_of(pid, &home.id).filter(|session| !live(session)) {
            strays.push(StrayProcess { pid, session, command: process::command(pid) });
        }
    }
    Ok(strays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::flock;

    fn home() -> (tempfile::TempDir, HomeDir) {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().to_owned()).unwrap();
        (folder, home)
    }

    #[test]
    fn an_empty_home_has_no_sessions() {
        let (_folder, home) = home();
        let found = find(&home);
        assert!(found.sessions.is_empty() && found.strays.is_empty(), "{found:?}");
    }

    #[test]
    fn a_session_is_live_while_its_lock_is_held() {
        let (_folder, home) = home();
        let folder = home.path("sessions/0c3k5d9wq2fa");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("lock"), "yard x\nkeeper 7\n").unwrap();
        let lock = File::open(folder.join("lock")).unwrap();
        let session = || find(&home).sessions.remove(0);
        assert_eq!((session().lock, session().is_live()), (LaunchLockState::Free, false));
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let held = session();
        assert_eq!((held.lock, held.is_live()), (LaunchLockState::Held, true));
        assert_eq!(held.identity, ["keeper 7"]);
        drop(lock);
        assert_eq!(session().lock, LaunchLockState::Free);
    }

    #[test]
    fn recognises_a_copied_folder() {
        let (_folder, home) = home();
        let folder = home.path("sessions/0c3k5d9wq2fa");
        fs::create_dir_all(&folder).unwrap();
        let lock = folder.join("lock");
        fs::write(&lock, "").unwrap();
        let inode = fs::metadata(&lock).unwrap().ino();
        for (original, copied) in [(inode, false), (inode + 1, true)] {
            fs::write(&lock, format!("yard x\nfile {original}\n")).unwrap();
            assert_eq!(is_copy(&lock), copied);
        }
        assert!(!is_copy(&folder.join("none")));
    }
}
