//! From the request `Go` to the open gate.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use kennel_pen::supervise::{create_pen, end_failed_launch, with_causes};
use kennel_pen::{
    CallerEnds, Command, GatedAgent, HostSupport, LaunchError, Pen, PenLimitError, ResourceLimit,
    StdStream, StdStreams,
};
use kennel_sys::namespace::NamespaceInit;
use kennel_sys::resources::RESOURCES;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::connections::{Connections, PeerEvent};
use super::limits;
use super::setup;
use super::supervise::supervise;
use super::{YardInheritance, never_ran, now_ms};
use crate::fault;
use crate::journal::JournalWriter;
use crate::lock_note;
use crate::protocol::{
    Cause, KeeperReport, KeeperRequest, LaunchOrder, LaunchStage, OUTCOME_FILE, Outcome,
    OutcomeFile, Stdin, apply_settings,
};

/// How long the daemon may take for its next request: enough for a slow disk.
const GRANT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the exec may take: enough for a slow network file system.
const EXEC_TIMEOUT: Duration = Duration::from_secs(30);

fn failed(code: u8, error: &(dyn Error + 'static)) -> Cause {
    Cause::Failed { code, why: with_causes(error) }
}

impl From<LaunchError> for Cause {
    fn from(error: LaunchError) -> Self {
        match &error {
            LaunchError::Exec(_) | LaunchError::Pending { .. } => failed(204, &error),
            LaunchError::Invalid(_) => failed(202, &error),
            _ => failed(207, &error),
        }
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        failed(207, &error)
    }
}

pub(super) fn launch_and_supervise(
    connections: &mut Connections,
    order: &mut LaunchOrder,
    namespace: io::Result<Option<NamespaceInit>>,
    stdin: Option<OwnedFd>,
    inherited: &YardInheritance,
    lock: BorrowedFd<'_>,
) -> (Outcome, Option<OutcomeFile>) {
    // This runs while the daemon writes its record.
    let (file, journal) = match prepare(connections, order, lock) {
        Ok(files) => files,
        Err(cause) => {
            let file = OutcomeFile::reserve(&order.folder.join(OUTCOME_FILE)).ok();
            return (never_ran(cause), file);
        }
    };
    let oom_score = inherited.facts.raise_for_agent();
    fault::point("keeper.prepared");
    if let Err(cause) = wait_for(connections, None, &KeeperRequest::Go) {
        return (never_ran(cause), Some(file));
    }
    fault::point("keeper.go");
    let mut pen = match make_pen(order, namespace, &inherited.support) {
        Ok((pen, unmet)) => {
            unmet.iter().for_each(|error| connections.trouble(with_causes(error)));
            pen
        }
        Err(cause) => return (never_ran(cause), Some(file)),
    };
    fault::point("keeper.pen");
    let launched = launch(connections, &mut pen, order, stdin, lock);
    drop(oom_score);
    let outcome = match launched {
        Ok(ends) => {
            setup::raise_priority();
            fault::point("keeper.opened");
            supervise(connections, pen, order, ends, journal)
        }
        // Everything that was started is ended before the failure is reported.
        Err(cause) => {
            let folder_left = end_failed_launch(pen, |event| {
                connections.report(event);
                connections.check_listener();
                connections.serve();
            });
            Outcome { folder_left, ended_ms: now_ms(), ..never_ran(cause) }
        }
    };
    (outcome, Some(file))
}

/// Reserves everything that can fail for lack of disk space, before anything runs.
fn prepare(
    connections: &mut Connections,
    order: &LaunchOrder,
    lock: BorrowedFd<'_>,
) -> Result<(OutcomeFile, JournalWriter), Cause> {
    let mut prepared = || {
        lock_note::write_keeper(lock)?;
        let file = OutcomeFile::reserve(&order.folder.join(OUTCOME_FILE))?;
        let journal = JournalWriter::create(&order.folder.join("journal"), order.output_limit)?;
        connections.listen(&order.folder)?;
        Ok((file, journal))
    };
    prepared().map_err(|error: io::Error| {
        let why = format!("can't prepare the folder {}: {error}", order.folder.display());
        Cause::Failed { code: 202, why }
    })
}

/// Creates the pen. Also returns the limits that it could not be given.
fn make_pen(
    order: &LaunchOrder,
    namespace: io::Result<Option<NamespaceInit>>,
    support: &HostSupport,
) -> Result<(Pen, Vec<PenLimitError>), Cause> {
    let init = namespace.map_err(|error| {
        let why = format!("can't create a pid namespace: {error}");
        Cause::Failed { code: 203, why }
    })?;
    let create = |support: &HostSupport| {
        create_pen(support, &order.name, order.kind, &order.pen_limits(), init)
    };
    create(support)
        // Host support may have changed since the yard tested it.
        .or_else(|_| create(&HostSupport::survey(&order.name.home)))
        .map_err(|error| failed(203, &error))
}

/// Creates the process, reports it to the daemon, and opens the gate on request.
fn launch(
    connections: &mut Connections,
    pen: &mut Pen,
    order: &mut LaunchOrder,
    stdin: Option<OwnedFd>,
    lock: BorrowedFd<'_>,
) -> Result<CallerEnds, Cause> {
    let (limits, lower) = limits::attainable(&order.limits);
    order.limits = limits;
    for ResourceLimit { resource, hard, .. } in lower {
        let name =
            RESOURCES.get(resource as usize).map(|known| format!("{known:?}").to_uppercase());
        connections.trouble(format!(
            "RLIMIT_{} is {hard}, lower than requested: the daemon itself has no higher limit",
            name.unwrap_or_else(|| resource.to_string()),
        ));
    }
    let cgroup = pen.cgroup_path().map(ToOwned::to_owned);
    let gated = pen.launch(command(order, stdin)?)?;
    if let (Some(terminal), Some(fd)) = (&order.terminal, &gated.ends.terminal)
        && let Some(settings) = &terminal.settings
    {
        apply_settings(settings, fd.as_fd())?;
    }
    lock_note::write_agent(lock, gated.identity(), cgroup.as_deref())?;
    let agent = gated.pidfd().map(|fd| fd.try_clone_to_owned()).transpose()?;
    connections.born(gated.identity().clone(), cgroup.as_deref(), agent);
    fault::point("keeper.born");
    wait_for(connections, Some(&gated), &KeeperRequest::Open)?;
    fault::point("keeper.granted");
    connections.set_stage(LaunchStage::Running);
    let ends = gated.open(Instant::now() + EXEC_TIMEOUT)?;
    connections.send_to_all(&KeeperReport::Running);
    Ok(ends)
}

/// Waits for this request of the daemon. A stop, a dismissal, a daemon that is gone and a timeout
/// all call the launch off.
fn wait_for(
    connections: &mut Connections,
    gated: Option<&GatedAgent<'_>>,
    wanted: &KeeperRequest,
) -> Result<(), Cause> {
    use KeeperRequest::{Dismiss, Kill, Stop};
    use PeerEvent::{OwnerGone, Request};
    let deadline = Instant::now() + GRANT_TIMEOUT;
    loop {
        let events = connections.serve();
        let calls_off = |event: &PeerEvent| {
            matches!(event, OwnerGone | Request(_, Dismiss | Stop { .. } | Kill))
        };
        if events.iter().any(calls_off) || !connections.has_daemon() {
            return Err(Cause::Dismissed);
        }
        let granted = events.iter().any(|event| event.is(wanted));
        // An early client may already have sent input for the program.
        connections.keep_early(events.into_iter().filter(|event| !event.is(wanted)));
        if granted {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let why = "the daemon did not grant the launch in time".to_owned();
            return Err(Cause::Failed { code: 207, why });
        }
        if let Some(agent) = gated.and_then(GatedAgent::pidfd)
            && kennel_sys::pidfd::has_ended(agent)?
        {
            // The process never becomes its program. Opening the gate returns the reason.
            return Ok(());
        }
        connections.wait(Some(deadline))?;
    }
}

/// Builds the command. Arguments and environment may contain secrets, so the order keeps no copy.
fn command(order: &mut LaunchOrder, stdin: Option<OwnedFd>) -> Result<Command, Cause> {
    let argv = std::mem::take(&mut order.argv);
    let [program, arguments @ ..] = &argv[..] else {
        return Err(Cause::Failed { code: 202, why: "the command is empty".into() });
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(std::mem::take(&mut order.env));
    command.folder(&order.cwd).umask(order.umask);
    for limit in &order.limits {
        command.limit(*limit);
    }
    command.streams(match &order.terminal {
        Some(terminal) => StdStreams::Terminal {
            size: terminal.size,
            stderr: terminal.stderr_apart.then_some(StdStream::Pipe),
        },
        None => StdStreams::Each {
            stdin: match (order.stdin, stdin) {
                (Stdin::Pipe, _) => StdStream::Pipe,
                (Stdin::Given, Some(fd)) => StdStream::File(fd),
                (Stdin::Given | Stdin::Null, _) => StdStream::Null,
            },
            stdout: StdStream::Pipe,
            stderr: StdStream::Pipe,
        },
    });
    Ok(command)
}
