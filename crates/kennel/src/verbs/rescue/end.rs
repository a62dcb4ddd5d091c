//! Ends the processes that were found: through the keeper if there is one, otherwise directly.

use std::path::Path;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole, VERSION};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_pen::{HostSupport, LeftoverEnd, Survivor};
use kennel_sys::pidfd;
use rustix::process::Signal;
use serde::Serialize;

use super::find::{self, RescueFindings, RescuedSession};
use super::process::{self, Killed};
use crate::command_prelude::*;

const KEEPER_TIMEOUT: Duration = Duration::from_secs(10);
const PROCESS_TIMEOUT: Duration = Duration::from_secs(3);
/// How often to search for strays, since one may start another.
const ROUNDS: usize = 10;

/// What was ended. The names of the fields are stable.
#[derive(Debug, Default, Serialize)]
pub(super) struct RescueOutcome {
    pub(super) ended: Vec<String>,
    pub(super) still_alive: Vec<String>,
    pub(super) trouble: Vec<String>,
}

impl RescueOutcome {
    pub(super) fn text(&self) -> String {
        if self.ended.is_empty() && self.still_alive.is_empty() && self.trouble.is_empty() {
            return "nothing to end\n".to_owned();
        }
        let list = |lines: &[String], what: &str| {
            lines.iter().map(|line| format!("{what}: {line}\n")).collect::<String>()
        };
        list(&self.ended, "ended")
            + &list(&self.still_alive, "still alive")
            + &list(&self.trouble, "error")
    }

    fn note(&mut self, what: String, killed: std::io::Result<Killed>) {
        match killed {
            Ok(Killed::Yes) => self.ended.push(what),
            Ok(Killed::NotThere) => {}
            Ok(Killed::StillAlive) => self.still_alive.push(what),
            Ok(Killed::NotPermitted) => self.still_alive.push(format!("{what}: not permitted")),
            Err(error) => self.trouble.push(format!("{what}: {error}")),
        }
    }
}

/// Ends everything: keepers end their trees, and everything without a keeper is ended directly.
pub(super) fn end(home: &HomeDir, found: &RescueFindings) -> RescueOutcome {
    let mut ended = RescueOutcome { trouble: found.trouble.clone(), ..RescueOutcome::default() };
    for session in found.sessions.iter().filter(|session| session.has_keeper()) {
        end_session(session, &mut ended);
    }
    end_pens(home, &mut ended);
    for session in &found.sessions {
        end_agent(session, &mut ended);
    }
    end_strays(home, &mut ended);
    ended
}

fn end_session(session: &RescuedSession, ended: &mut RescueOutcome) {
    let folder = Path::new(&session.folder);
    let name = format!("session {}", session.id);
    match by_keeper(folder) {
        Some(survivors) if survivors.is_empty() => ended.ended.push(name),
        Some(survivors) => {
            let survivors = survivors.iter().map(|survivor| format!("{name}: {survivor}"));
            ended.still_alive.extend(survivors);
        }
        None => {
            let Some(keeper) = session.keeper.as_ref().map(|keeper| keeper.pid) else {
                ended.trouble.push(format!("{name}: its keeper was not found"));
                return;
            };
            // The yard ends its tree, or the code below does.
            let deadline = Instant::now() + PROCESS_TIMEOUT;
            let killed = process::kill(keeper, || process::keeps(keeper, folder), deadline);
            ended.note(format!("{name}: keeper {keeper}, which did not respond"), killed);
        }
    }
}

/// Asks the keeper to kill its tree, and returns the survivors; nothing if it doesn't answer.
fn by_keeper(folder: &Path) -> Option<Vec<Survivor>> {
    let client = KeeperClient::connect(folder).ok()?;
    // A suspended keeper must continue.
    if let Ok(peer) = rustix::net::sockopt::socket_peercred(&client)
        && let Ok(Some(keeper)) = pidfd::open(peer.pid.as_raw_pid())
        && process::keeps(peer.pid.as_raw_pid(), folder)
    {
        let _sent_or_gone = pidfd::send(&keeper, Signal::CONT);
    }
    client.send(&KeeperRequest::Hello { version: VERSION, role: PeerRole::Client }).ok()?;
    client.send(&KeeperRequest::Kill).ok()?;
    let deadline = Instant::now() + KEEPER_TIMEOUT;
    loop {
        match client.receive() {
            Ok(Some((KeeperReport::Gone(_), _))) | Err(KeeperClientError::Closed) => {
                return Some(Vec::new());
            }
            Ok(Some((KeeperReport::StillAlive(survivors), _))) => return Some(survivors),
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < deadline => readable(&client, Some(deadline)).ok()?,
            Ok(None) | Err(_) => return None,
        }
    }
}

fn end_pens(home: &HomeDir, ended: &mut RescueOutcome) {
    let leftovers = match HostSupport::leftovers(&home.id) {
        Ok(leftovers) => leftovers,
        Err(error) => return ended.trouble.push(format!("pens: {error}")),
    };
    for leftover in leftovers {
        let pen = format!("pen {}", leftover.path().display());
        match leftover.end(Instant::now() + PROCESS_TIMEOUT) {
            Ok(LeftoverEnd::Removed) => ended.ended.push(pen),
            Ok(LeftoverEnd::StillAlive(pids)) => {
                ended.still_alive.push(format!("{pen}: pids {pids:?}"));
            }
            Err(error) => ended.trouble.push(format!("{pen}: {error}")),
        }
    }
}

/// Ends an agent and its descendants by the recorded identity: the only trace if the agent cleared
/// its environment, has no cgroup, and its keeper and yard are dead.
fn end_agent(session: &RescuedSession, ended: &mut RescueOutcome) {
    let name = format!("session {}", session.id);
    let (identity, agent) = match process::agent(&session.identity) {
        Ok(Some(agent)) => agent,
        Ok(None) => return,
        Err(error) => return ended.trouble.push(format!("{name}: agent: {error}")),
    };
    match process::suspend_tree(identity.pid, &agent) {
        Ok(below) => {
            for (pid, process) in below {
                let killed = process::kill_handle(&process, Instant::now() + PROCESS_TIMEOUT);
                ended.note(format!("{name}: pid {pid}, a descendant of its agent"), killed);
            }
        }
        Err(error) => ended.trouble.push(format!("{name}: descendants of its agent: {error}")),
    }
    let killed = process::kill_handle(&agent, Instant::now() + PROCESS_TIMEOUT);
    ended.note(format!("{name}: agent {identity}"), killed);
}

fn end_strays(home: &HomeDir, ended: &mut RescueOutcome) {
    let mut given_up = Vec::new();
    for _ in 0..ROUNDS {
        let strays = match find::strays(home, &[]) {
            Ok(strays) => strays,
            Err(error) => return ended.trouble.push(format!("processes: {error}")),
        };
        let mut any = false;
        for stray in strays {
            if given_up.contains(&stray.pid) {
                continue;
            }
            any = true;
            let is_meant = || process::session_of(stray.pid, &home.id).is_some();
            let killed = process::kill(stray.pid, is_meant, Instant::now() + PROCESS_TIMEOUT);
            if !matches!(killed, Ok(Killed::Yes | Killed::NotThere)) {
                given_up.push(stray.pid);
            }
            ended.note(format!("pid {} of session {}", stray.pid, stray.session), killed);
        }
        if !any {
            return;
        }
    }
}
