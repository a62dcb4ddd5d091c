//! From the word `Go` to the open gate.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use kennel_pen::holder::HeldKind;
use kennel_pen::{
    CallerEnds, Command, CreateError, GatedAgent, HostSupport, LaunchError, Pen, PenKind,
    PenLimitError, ResourceLimit, StdStream, StdStreams,
};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::connections::{Connections, LaunchControl};
use super::limits;
use super::setup::{self, Namespace};
use super::supervise::{LaunchSupervisor, hold};
use super::{YardInheritance, never_ran, now_ms};
use crate::fault;
use crate::journal::JournalWriter;
use crate::protocol::{
    Cause, KeeperReport, LaunchOrder, LaunchStage, OUTCOME_FILE, Outcome, OutcomeFile, Stdin,
};

/// How long the daemon may take for its next word: it is a program, not a person, but its disk may be slow.
const GRANT: Duration = Duration::from_secs(60);
/// How long the exec may take: a program on a slow network file system, not a hanging one.
const EXEC: Duration = Duration::from_secs(30);
/// How long a failed launch may take to be seen gone.
const ENDING: Duration = Duration::from_secs(5);

/// Why nothing runs.
#[derive(Debug)]
pub(super) enum NotLaunched {
    /// It was called off.
    Dismissed,
    /// It failed; the code is the program's exit code for it.
    Failed { code: u8, why: String },
}

impl NotLaunched {
    fn failed(code: u8, error: &(dyn Error + 'static)) -> Self {
        Self::Failed { code, why: with_causes(error) }
    }

    fn cause(self) -> Cause {
        match self {
            Self::Dismissed => Cause::Dismissed,
            Self::Failed { code, why } => Cause::Failed { code, why },
        }
    }
}

impl From<LaunchError> for NotLaunched {
    fn from(error: LaunchError) -> Self {
        match &error {
            LaunchError::Exec(_) | LaunchError::Pending { .. } => Self::failed(204, &error),
            LaunchError::Nul { .. } | LaunchError::VariableName { .. } => Self::failed(202, &error),
            _ => Self::failed(207, &error),
        }
    }
}

impl From<io::Error> for NotLaunched {
    fn from(error: io::Error) -> Self {
        Self::failed(207, &error)
    }
}

/// An error with its causes in one line, for a process that can't look at them.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

/// Sees one launch through, whatever comes of it.
pub(super) fn launch_and_hold(
    desk: &mut Connections,
    order: &mut LaunchOrder,
    namespace: Namespace,
    given: LaunchInputs<'_>,
) -> (Outcome, Option<OutcomeFile>) {
    let LaunchInputs { stdin, inherited, lock } = given;
    // While the daemon writes the row.
    let LaunchFiles { file, journal } = match prepare(desk, order, lock) {
        Ok(room) => room,
        Err(not) => {
            let file = OutcomeFile::reserve(&order.folder.join(OUTCOME_FILE)).ok();
            return (never_ran(not.cause()), file);
        }
    };
    let likelier = inherited.legacy.raise_for_agent();
    fault::point("keeper.prepared");
    if let Err(not) = await_word(desk, None, &LaunchControl::Go) {
        return (never_ran(not.cause()), Some(file));
    }
    fault::point("keeper.go");
    let mut pen = match make_pen(order, namespace, &inherited.ground) {
        Ok((pen, unmet)) => {
            unmet.iter().for_each(|error| desk.trouble(with_causes(error)));
            pen
        }
        Err(not) => return (never_ran(not.cause()), Some(file)),
    };
    fault::point("keeper.pen");
    let launched = launch(desk, &mut pen, order, stdin, lock);
    drop(likelier);
    let outcome = match launched {
        Ok(ends) => {
            setup::settle_down();
            fault::point("keeper.opened");
            hold(LaunchSupervisor::new(desk, pen, order, ends, journal))
        }
        Err(not) => end_failed_launch(desk, pen, not),
    };
    (outcome, Some(file))
}

/// Where what comes of a launch is put down.
struct LaunchFiles {
    file: OutcomeFile,
    journal: JournalWriter,
}

/// All that can fail for want of room comes before there is anything to be run.
fn prepare(
    desk: &mut Connections,
    order: &LaunchOrder,
    lock: BorrowedFd<'_>,
) -> Result<LaunchFiles, NotLaunched> {
    let mut prepared = || {
        setup::note_keeper(lock)?;
        let file = OutcomeFile::reserve(&order.folder.join(OUTCOME_FILE))?;
        let journal = JournalWriter::create(&order.folder.join("journal"), order.output_limit)?;
        desk.listen(&order.folder)?;
        Ok(LaunchFiles { file, journal })
    };
    prepared().map_err(|error: io::Error| no_folder(order, &error))
}

fn no_folder(order: &LaunchOrder, error: &io::Error) -> NotLaunched {
    let why = format!("the session's folder {}: {error}", order.folder.display());
    NotLaunched::Failed { code: 202, why }
}

/// What a keeper has for its launch besides the order.
pub(super) struct LaunchInputs<'a> {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) inherited: &'a YardInheritance,
    /// The file of the launch's lock.
    pub(super) lock: BorrowedFd<'a>,
}

/// The pen, and the limits that it could not be given.
fn make_pen(
    order: &LaunchOrder,
    namespace: Namespace,
    ground: &HostSupport,
) -> Result<(Pen, Vec<PenLimitError>), NotLaunched> {
    let bare = HostSupport::without_cgroup();
    let (ground, kind) = match order.kind {
        HeldKind::Subtree | HeldKind::Namespace => (&bare, PenKind::Subtree),
        HeldKind::Auto => (ground, PenKind::Auto),
        HeldKind::Cgroup => (ground, PenKind::Cgroup),
    };
    let made = |error: CreateError| NotLaunched::failed(203, &error);
    if let Namespace::Failed(error) = &namespace {
        let why = format!("can't make a pid namespace: {error}");
        return Err(NotLaunched::Failed { code: 203, why });
    }
    let create = |ground: &HostSupport| {
        Pen::create_limited(ground, order.name.clone(), kind, &order.pen_limits())
    };
    let (mut pen, unmet) = create(ground)
        // The ground may have changed since the yard looked.
        .or_else(|_| create(&HostSupport::survey(&order.name.home)))
        .map_err(made)?;
    pen.arm().map_err(|error| NotLaunched::failed(203, &error))?;
    if let Namespace::New(init) = namespace {
        pen.in_namespace(init);
    }
    Ok((pen, unmet))
}

/// Makes the process, tells the daemon, and opens the gate when it says so.
fn launch(
    desk: &mut Connections,
    pen: &mut Pen,
    order: &mut LaunchOrder,
    stdin: Option<OwnedFd>,
    lock: BorrowedFd<'_>,
) -> Result<CallerEnds, NotLaunched> {
    let (limits, lower) = limits::attainable(&order.limits);
    order.limits = limits;
    for ResourceLimit { resource, hard, .. } in lower {
        desk.trouble(format!(
            "limit {resource} is {hard}, lower than asked for: the daemon was started with no more"
        ));
    }
    let cgroup = pen.cgroup_path().map(ToOwned::to_owned);
    let gated = pen.launch(command(order, stdin)?)?;
    if let (Some(terminal), Some(fd)) = (&order.terminal, &gated.ends.terminal)
        && let Some(settings) = &terminal.settings
    {
        settings.apply_to(fd.as_fd())?;
    }
    setup::note_agent(lock, gated.identity(), cgroup.as_deref())?;
    let agent = gated.pidfd().map(|fd| fd.try_clone_to_owned()).transpose()?;
    desk.born(gated.identity().clone(), cgroup.as_deref(), agent);
    fault::point("keeper.born");
    await_word(desk, Some(&gated), &LaunchControl::Open)?;
    fault::point("keeper.granted");
    desk.stage(LaunchStage::Running);
    let ends = gated.open(Instant::now() + EXEC)?;
    desk.tell_all(&KeeperReport::Running);
    Ok(ends)
}

/// Waits for this word of the daemon's. Anything that means the end means that nothing is run: a stop, a
/// dismissal, no daemon any more, a silence.
fn await_word(
    desk: &mut Connections,
    gated: Option<&GatedAgent<'_>>,
    wanted: &LaunchControl,
) -> Result<(), NotLaunched> {
    let deadline = Instant::now() + GRANT;
    loop {
        let words = desk.serve();
        let called_off = |word: &LaunchControl| {
            matches!(
                word,
                LaunchControl::Dismiss
                    | LaunchControl::Stop(_)
                    | LaunchControl::Kill
                    | LaunchControl::OwnerGone
            )
        };
        if words.iter().any(called_off) || !desk.has_daemon() {
            return Err(NotLaunched::Dismissed);
        }
        let due = words.contains(wanted);
        // Who comes so early may have something for the program already.
        desk.put_by(words.into_iter().filter(|word| word != wanted));
        if due {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let why = "the daemon did not grant the launch in time".to_owned();
            return Err(NotLaunched::Failed { code: 207, why });
        }
        if let Some(agent) = gated.and_then(GatedAgent::pidfd)
            && kennel_sys::pidfd::has_ended(agent)?
        {
            // It never gets to its program: opening the gate only tells why.
            return Ok(());
        }
        desk.wait(Some(deadline))?;
    }
}

/// Whatever was started is ended, and seen to be, before anyone is told that it failed.
fn end_failed_launch(desk: &mut Connections, mut pen: Pen, not: NotLaunched) -> Outcome {
    let mut outcome = never_ran(not.cause());
    loop {
        match pen.end(Instant::now() + ENDING) {
            Ok(kennel_pen::EndOutcome::Empty) => break,
            Ok(kennel_pen::EndOutcome::StillAlive(survivors)) => {
                desk.tell_all(&KeeperReport::StillAlive(survivors));
            }
            Err(error) => desk.trouble(format!("a failed launch can't be ended: {error}")),
        }
        desk.knock();
        desk.serve();
    }
    outcome.folder_left = pen.try_remove().is_err();
    outcome.ended_ms = now_ms();
    outcome
}

/// The command; its arguments and environment, which may have secrets in them, go with it.
fn command(order: &mut LaunchOrder, stdin: Option<OwnedFd>) -> Result<Command, NotLaunched> {
    let argv = std::mem::take(&mut order.argv);
    let [program, arguments @ ..] = &argv[..] else {
        return Err(NotLaunched::Failed { code: 202, why: "there is no command".into() });
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
