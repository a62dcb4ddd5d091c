//! `kennel daemon stop`: stops all sessions and the daemon.

use std::io;

use kennel_sys::pidfd;
use kennel_types::api::{ShutdownLine, ShutdownRequest, StopResult};
use rustix::process::Signal;

use crate::command_prelude::*;
use crate::connect::YardStatus;
use crate::verbs::stop::{refuse_inside, result_line};

/// How long the processes may take to exit after their last response.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct DaemonStopArgs {
    /// Keep the sessions running; the next daemon takes them over
    #[arg(long, conflicts_with = "grace")]
    keep: bool,
    /// Time between TERM and KILL [default: each session's own]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Option<Duration>,
    /// Allow this inside a session; that session is stopped, too
    #[arg(long)]
    from_inside: bool,
}

/// Stops the daemon. After a crash, the yard restarts it if there are still sessions to stop.
pub(crate) fn stop(home: &HomeDir, args: &DaemonStopArgs) -> Result<u8, CommandError> {
    if !args.keep && !args.from_inside {
        refuse_inside(home)?;
    }
    let daemon = match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(daemon) => daemon,
        Err(_) => match YardStatus::fetch(home)? {
            None => {
                print_message("no daemon is running for this home");
                return Ok(0);
            }
            // Without keepers there are no sessions to stop.
            Some(yard) if yard.keepers == 0 || args.keep => return end_yard(&yard, args.keep),
            Some(_) => DaemonClient::connect(home, StartDaemon::IfNeeded)?,
        },
    };
    let view = daemon.view()?;
    let processes = [Some(view.pid), view.yard_pid.filter(|_| !args.keep)];
    let handles = processes
        .into_iter()
        .flatten()
        .filter_map(|pid| pidfd::open(pid).ok().flatten())
        .collect::<Vec<_>>();
    let request = ShutdownRequest {
        keep: args.keep,
        grace_ms: args.grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)),
    };
    let worst = print_each(&daemon, &request)?;
    for handle in &handles {
        readable(handle, Some(Instant::now() + EXIT_TIMEOUT))?;
    }
    let kept = if args.keep { "; its sessions keep running" } else { "" };
    print(&format!("daemon stopped{kept}\n"))?;
    Ok(worst)
}

/// Prints the result for each session until the daemon is done.
fn print_each(daemon: &DaemonClient, request: &ShutdownRequest) -> Result<u8, CommandError> {
    let mut worst = 0;
    for line in daemon.lines::<ShutdownLine>("POST", "/v1/daemon/stop", Some(request))? {
        match line {
            Ok(ShutdownLine::Session(answer)) => {
                if answer.result == StopResult::StillAlive {
                    worst = exit_code::STILL_ALIVE;
                }
                print(&format!("{}\n", result_line(&answer)))?;
            }
            Ok(ShutdownLine::Done { .. }) => return Ok(worst),
            Err(error) => return Err(RequestError::Lost(error).into()),
        }
    }
    Err(RequestError::Lost(io::ErrorKind::UnexpectedEof.into()).into())
}

fn end_yard(yard: &YardStatus, keep: bool) -> Result<u8, CommandError> {
    if keep {
        let keepers = counted(yard.keepers, "keeper");
        print_message(&format!(
            "no daemon is running; yard {} keeps running with {keepers}",
            yard.pid
        ));
        return Ok(0);
    }
    // The yard has just reported its pid over its socket.
    let Some(process) = pidfd::open(yard.pid)? else { return Ok(0) };
    let _sent_or_gone = pidfd::send(&process, Signal::TERM)?;
    readable(&process, Some(Instant::now() + EXIT_TIMEOUT))?;
    print_message(&format!("no daemon was running; yard {} was asked to exit", yard.pid));
    Ok(0)
}
