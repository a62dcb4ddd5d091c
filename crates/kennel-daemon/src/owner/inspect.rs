//! Everything about a session: its processes, its usage, its history.

use std::io;
use std::path::Path;
use std::time::Duration;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use kennel_pen::{PenProcess, PenUsage};
use kennel_register::{EventQuery, Register};
use kennel_sys::identity::{ProcessIdentity, ProcessStat};
use kennel_types::api::{InspectView, ProcessView, UsageView};
use kennel_types::{PenKind, Phase, SessionId, StartedBy};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::os::home::DaemonHome;
use crate::os::proc;

const KEEPER_TIMEOUT: Duration = Duration::from_secs(2);
const TIMELINE: usize = 1000;

/// Adds a session's processes and its history. What can't be found out is reported as trouble.
pub(crate) async fn inspect(
    home: &DaemonHome,
    register: &Register,
    id: SessionId,
    view: &mut InspectView,
) {
    let InspectView { session, members, usage, timeline, launch, keeper_pid, trouble, .. } = view;
    if keeper_pid.is_some() {
        let folder = home.session(&id);
        let asked = ask(&folder, &[KeeperRequest::Members, KeeperRequest::Usage]);
        match timeout(KEEPER_TIMEOUT, asked).await {
            Ok(Ok((found, used))) => {
                (*members, *usage) = (found.iter().map(member).collect(), Some(used));
            }
            // It has just ended: no process is left.
            Ok(Err(KeeperRequestError::NotListening)) => {}
            Ok(Err(error)) => trouble.push(format!("can't reach its keeper: {error}")),
            Err(_) => trouble.push("its keeper does not answer".to_owned()),
        }
    }
    let listed = match (session.spec.pen, *keeper_pid) {
        _ if session.started_by == StartedBy::User && session.phase < Phase::Reaped => {
            Some(user_processes(launch.identity.as_deref()))
        }
        // A keeper in a pid namespace reports pids of that namespace.
        (PenKind::Pidns, Some(keeper)) => Some(namespace_processes(keeper)),
        _ => None,
    };
    match listed {
        None => {}
        Some(Ok(listed)) => *members = listed,
        Some(Err(error)) => {
            members.clear();
            trouble.push(format!("can't list its processes: {error}"));
        }
    }
    let (register, session_id) = (register.clone(), Some(id));
    let query = EventQuery { since: 0, session: session_id, limit: TIMELINE };
    match spawn_blocking(move || register.events(query)).await {
        Ok(Ok(events)) => *timeline = events,
        Ok(Err(error)) => trouble.push(error.to_string()),
        Err(error) => trouble.push(error.to_string()),
    }
    if let Some(lost) = session.survivors.first() {
        trouble.push(format!("can't end pid {} ({}): {}", lost.pid, lost.name, lost.why));
    }
}

async fn ask(
    folder: &Path,
    requests: &[KeeperRequest],
) -> Result<(Vec<PenProcess>, UsageView), KeeperRequestError> {
    let keeper = KeeperConnection::connect(folder)?;
    keeper.greet(PeerRole::Client).await?;
    for request in requests {
        keeper.send(request).await?;
    }
    let mut members = Vec::new();
    let usage = keeper.wait_for(|report, _| match report {
        KeeperReport::Members(found) => {
            members = found;
            None
        }
        KeeperReport::Usage(usage) => Some(usage_view(&usage)),
        _ => None,
    });
    let usage = usage.await?;
    Ok((members, usage))
}

pub(crate) async fn usage(folder: &Path) -> Result<UsageView, KeeperRequestError> {
    Ok(ask(folder, &[KeeperRequest::Usage]).await?.1)
}

/// Returns the view of a process, with its parent and command line from `/proc`.
fn member(member: &PenProcess) -> ProcessView {
    ProcessView {
        pid: member.pid,
        parent: ProcessStat::read(member.pid).ok().flatten().map_or(0, |stat| stat.parent),
        name: member.name.clone(),
        state: member.state.to_string(),
        command: proc::command(member.pid),
    }
}

/// Lists a process that a user started and its current descendants: it has no pen.
fn user_processes(identity: Option<&str>) -> io::Result<Vec<ProcessView>> {
    let Some(identity) = identity.and_then(ProcessIdentity::parse) else { return Ok(Vec::new()) };
    if !identity.exists()? {
        return Ok(Vec::new());
    }
    process_trees(vec![identity.pid])
}

/// Lists the processes below the init of a pid namespace, which is the only child of the known
/// keeper process.
fn namespace_processes(keeper: i32) -> io::Result<Vec<ProcessView>> {
    let mut pending = Vec::new();
    for init in proc::children_of(keeper)? {
        pending.extend(proc::children_of(init)?);
    }
    process_trees(pending)
}

/// Lists these processes and their current descendants.
fn process_trees(mut pending: Vec<i32>) -> io::Result<Vec<ProcessView>> {
    let mut members: Vec<ProcessView> = Vec::new();
    while let Some(pid) = pending.pop() {
        let Some(stat) = ProcessStat::read(pid)? else { continue };
        pending.extend(proc::children_of(pid)?);
        members.push(ProcessView {
            pid,
            parent: stat.parent,
            name: stat.name,
            state: stat.state.to_string(),
            command: proc::command(pid),
        });
    }
    members.sort_by_key(|member| member.pid);
    Ok(members)
}

fn usage_view(usage: &PenUsage) -> UsageView {
    UsageView {
        cpu_ms: u64::try_from(usage.cpu.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: usage.memory,
        processes: usage.processes,
    }
}
