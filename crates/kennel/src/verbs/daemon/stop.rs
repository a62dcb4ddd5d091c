//! `kennel daemon stop`: the end of everything, told one by one.

use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use kennel_sys::pidfd;
use kennel_types::api::{ShutdownLine, ShutdownRequest, StopResult};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::process::Signal;

use crate::command_error::{CommandError, say};
use crate::connect::{AskError, DaemonClient, StartDaemon, YardStatus};
use crate::exit_code;
use crate::foreground;
use crate::home::Home;
use crate::plural::counted;
use crate::print::print;
use crate::quantity::parse_time;
use crate::verbs::stop::{line, refuse_inside};

/// How long the processes may take to leave once all is said.
const LEAVE: Duration = Duration::from_secs(10);

/// The flags of `kennel daemon stop`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct DaemonStopArgs {
    /// Leave the sessions running; the next daemon finds them
    #[arg(long, conflicts_with = "grace")]
    keep: bool,
    /// How long to wait between TERM and KILL [default: each session's own]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Option<Duration>,
    /// Even if this is inside a session, which is ended too
    #[arg(long)]
    from_inside: bool,
}

/// Stops the daemon. Starts none, but has a yard that lives bring a crashed one back: sessions are ended by it.
pub(crate) fn stop(home: &Home, args: &DaemonStopArgs) -> Result<u8, CommandError> {
    if !args.keep && !args.from_inside {
        refuse_inside(home)?;
    }
    let daemon = match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(daemon) => daemon,
        Err(_) => match YardStatus::look(home).map_err(CommandError::internal)? {
            None => {
                say("no daemon runs for this home");
                return Ok(0);
            }
            // Nobody is left to be ended by a daemon.
            Some(yard) if yard.keepers == 0 || args.keep => return end_yard(&yard, args.keep),
            Some(_) => DaemonClient::connect(home, StartDaemon::IfNeeded)?,
        },
    };
    let view = daemon.view()?;
    let processes = [Some(view.pid), view.yard_pid.filter(|_| !args.keep)];
    let handles = processes.into_iter().flatten().filter_map(handle).collect::<Vec<_>>();
    let request = ShutdownRequest {
        keep: args.keep,
        grace_ms: args.grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)),
    };
    let worst = tell_each(&daemon, &request)?;
    for handle in &handles {
        await_end(handle).map_err(CommandError::internal)?;
    }
    print(if args.keep {
        "the daemon has left; its sessions go on\n"
    } else {
        "the daemon has left\n"
    })?;
    match worst {
        0 => Ok(0),
        code => Err(CommandError::said(code)),
    }
}

/// Tells what becomes of each session, until that is all.
fn tell_each(daemon: &DaemonClient, request: &ShutdownRequest) -> Result<u8, CommandError> {
    let mut worst = 0;
    for told in daemon.lines::<ShutdownLine>("POST", "/v1/daemon/stop", Some(request))? {
        match told {
            Ok(ShutdownLine::Session(answer)) => {
                if answer.result == StopResult::StillAlive {
                    worst = exit_code::STILL_ALIVE;
                }
                print(&format!("{}\n", line(&answer)))?;
            }
            Ok(ShutdownLine::Done { .. }) => return Ok(worst),
            Err(error) => return Err(AskError::Lost(error).into()),
        }
    }
    Err(AskError::Lost(io::ErrorKind::UnexpectedEof.into()).into())
}

/// A handle on one of Kennel's own processes; none if it has gone.
fn handle(pid: i32) -> Option<OwnedFd> {
    pidfd::open(pid).ok().flatten()
}

fn await_end(process: &OwnedFd) -> io::Result<()> {
    foreground::poll(&mut [PollFd::new(process, PollFlags::IN)], Some(Instant::now() + LEAVE))
}

/// ForegroundStreams a yard that has no daemon.
fn end_yard(yard: &YardStatus, keep: bool) -> Result<u8, CommandError> {
    if keep {
        let keepers = counted(yard.keepers, "keeper");
        say(&format!("no daemon runs; yard {} goes on with {keepers}", yard.pid));
        return Ok(0);
    }
    // Its own socket told its pid a moment ago.
    let Some(process) = handle(yard.pid) else { return Ok(0) };
    let _sent_or_gone = pidfd::send(&process, Signal::TERM).map_err(CommandError::internal)?;
    await_end(&process).map_err(CommandError::internal)?;
    say(&format!("no daemon ran; yard {} was told to leave", yard.pid));
    Ok(0)
}
