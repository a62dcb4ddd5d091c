//! `kennel adopt`: a process that a user started becomes a session that is followed.

use clap::Args;
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::pidfd;
use kennel_types::Title;
use kennel_types::api::{AdoptAnswer, AdoptRequest};
use rustix::fd::AsFd;

use super::asked_by;
use super::report::parse_title;
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::home::Home;
use crate::plural::quote;
use crate::print::{self, print};
use crate::quantity::parse_new_name;

/// How often it is asked for again if the daemon vanishes over it: the same process is the same session.
const TIMES: u32 = 5;

/// The flags of `kennel adopt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kennel adopt --name fix $$             in a shell: the shell itself
  eval \"$(kennel adopt --env $$)\"        the same, and it can `kennel report`
  kennel adopt $PPID                     in a hook that runs by `sh -c`: the
                                         agent, which is the parent of that sh

Exit codes: 0; 1 if it was refused or there is no such process; 201 if the
command line was not understood; 202 if home or daemon can't be used; 207 if
Kennel itself failed.")]
pub(crate) struct AdoptArgs {
    /// A name for it, which no live session has
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    name: Option<String>,
    /// What it is about, for `kennel ps`
    #[arg(long, value_name = "TEXT", value_parser = parse_title)]
    title: Option<Title>,
    /// Print the variables that `kennel report` needs, for `eval` in a POSIX
    /// shell
    #[arg(long, conflicts_with = "json")]
    env: bool,
    /// Print JSON, for programs: the session, and its token
    #[arg(long)]
    json: bool,
    /// Which process [default: the one that called us]
    #[arg(value_name = "PID", value_parser = parse_pid, allow_negative_numbers = true)]
    pid: Option<i32>,
}

fn parse_pid(text: &str) -> Result<i32, String> {
    let number = text.parse::<i32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text:?} is not a pid; that is a number, as `ps` shows it"))
}

/// Registers it; prints the session's id.
pub(crate) fn adopt(home: &Home, args: AdoptArgs) -> Result<u8, CommandError> {
    let identity = match args.pid {
        Some(pid) => named(pid)?,
        None => parent()?,
    };
    let request = AdoptRequest {
        pid: identity.pid,
        identity: Some(identity.to_record()),
        name: args.name,
        title: args.title,
        by: asked_by("adopt"),
    };
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let answer = ask(&daemon, &request)?;
    if args.json {
        print::json(&answer)?;
    } else if args.env {
        print(&variables(home, &answer))?;
    } else {
        print(&format!("{}\n", answer.session.id))?;
    }
    Ok(0)
}

fn ask(daemon: &DaemonClient, request: &AdoptRequest) -> Result<AdoptAnswer, CommandError> {
    let mut times = 0;
    loop {
        times += 1;
        match daemon.post("/v1/adopt", request) {
            Err(error) if error.is_gone() && times < TIMES => daemon.find_again()?,
            answer => return Ok(answer?),
        }
    }
}

/// The process that has this number now.
fn named(pid: i32) -> Result<ProcessIdentity, CommandError> {
    look(pid)?.ok_or_else(|| {
        CommandError::because(
            exit_code::REFUSED,
            format!("there is no process {pid}, or it has ended"),
        )
    })
}

/// The process that called us, which is still there when we have a handle on it: then its number is its own.
fn parent() -> Result<ProcessIdentity, CommandError> {
    let pid = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid());
    let found = if pid > 1 { look(pid)? } else { None };
    let still = rustix::process::getppid().is_some_and(|now| now.as_raw_pid() == pid);
    found.filter(|_| still).ok_or_else(|| {
        CommandError::because(exit_code::REFUSED, "the process that called us has ended")
            .hint("name the one that is meant: kennel adopt PID")
    })
}

fn look(pid: i32) -> Result<Option<ProcessIdentity>, CommandError> {
    let Some(handle) = pidfd::open(pid).map_err(CommandError::internal)? else { return Ok(None) };
    match ProcessIdentity::new(handle.as_fd(), pid) {
        Ok(identity) => Ok(Some(identity)),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(CommandError::internal(error)),
    }
}

/// What an agent that Kennel has started finds in its environment, but for the cookie: nobody is held by it.
fn variables(home: &Home, answer: &AdoptAnswer) -> String {
    let home = home.folder.display().to_string();
    let variables = [
        ("KENNEL_HOME", home.as_str()),
        ("KENNEL_SESSION", &answer.session.id),
        ("KENNEL_TOKEN", answer.token.secret()),
        ("KENNEL_TOKEN_FILE", &answer.token_file),
        ("KENNEL_SOCKET", &answer.socket),
    ];
    variables.iter().map(|(name, value)| format!("export {name}={}\n", quote(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pid_is_told_as_such() {
        for text in ["abc", "-5", "0", "", "99999999999"] {
            let told = parse_pid(text).unwrap_err();
            assert!(told.starts_with(&format!("{text:?} is not a pid")), "{told}");
        }
        assert_eq!(parse_pid("4711"), Ok(4711));
    }

    #[test]
    fn the_parent_is_known_and_nobody_is_no_process() {
        let parent = parent().unwrap();
        assert_eq!(parent.pid, rustix::process::getppid().unwrap().as_raw_pid());
        assert!(parent.exists().unwrap());
        assert!(named(i32::MAX).is_err());
    }
}
