//! `kennel adopt`: tracks a process that the user started.

use kennel_sys::identity::ProcessIdentity;
use kennel_sys::pidfd;
use kennel_types::Title;
use kennel_types::api::{AdoptRequest, AdoptResponse};
use rustix::fd::AsFd;

use super::asked_by;
use super::report::parse_title;
use crate::command_prelude::*;
use crate::print::quote;
use crate::quantity::parse_new_name;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
    kennel adopt --name fix $$         Adopt the current shell
    eval \"$(kennel adopt --env $$)\"    Adopt it, and allow it to `kennel report`
    kennel adopt $PPID                 Adopt the agent, in a hook that the agent
                                       runs through `sh -c`

Exit codes: 0 on success; 1 if the request was refused or the process does not
exist; 201 for an invalid command line; 202 if home or daemon can't be used;
207 if Kennel itself failed.")]
pub(crate) struct AdoptArgs {
    /// Name of the session; must be unique among live sessions
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    name: Option<String>,
    /// Title to show in `kennel ps`
    #[arg(long, value_name = "TEXT", value_parser = parse_title)]
    title: Option<Title>,
    /// Print the environment variables that `kennel report` needs, for `eval` in
    /// a POSIX shell
    #[arg(long, conflicts_with = "json")]
    env: bool,
    /// Print the session and its token as JSON
    #[arg(long)]
    json: bool,
    /// Process to adopt [default: the parent process]
    #[arg(value_name = "PID", value_parser = parse_pid, allow_negative_numbers = true)]
    pid: Option<i32>,
}

fn parse_pid(text: &str) -> Result<i32, String> {
    let number = text.parse::<i32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("invalid pid {text:?}: expected a positive number"))
}

pub(crate) fn adopt(home: &HomeDir, args: AdoptArgs) -> Result<u8, CommandError> {
    let identity = match args.pid {
        Some(pid) => find(pid)?
            .ok_or_else(|| CommandError::refused(format!("process {pid} does not exist")))?,
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
    // Adopting the same process again returns the same session.
    let answer: AdoptResponse =
        daemon.repeat_if(RequestError::is_gone, |client| client.post("/v1/adopt", &request))?;
    if args.json {
        print::json(&answer)?;
    } else if args.env {
        print(&variables(home, &answer))?;
    } else {
        print(&format!("{}\n", answer.session.id))?;
    }
    Ok(0)
}

/// Identifies our parent. If it is still our parent after the handle is open, the pid is its own.
fn parent() -> Result<ProcessIdentity, CommandError> {
    let pid = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid());
    let found = if pid > 1 { find(pid)? } else { None };
    let still = rustix::process::getppid().is_some_and(|now| now.as_raw_pid() == pid);
    found.filter(|_| still).ok_or_else(|| {
        CommandError::refused("the parent process has exited")
            .hint("name the process: kennel adopt PID")
    })
}

fn find(pid: i32) -> Result<Option<ProcessIdentity>, CommandError> {
    let Some(handle) = pidfd::open(pid)? else { return Ok(None) };
    match ProcessIdentity::new(handle.as_fd(), pid) {
        Ok(identity) => Ok(Some(identity)),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(CommandError::internal(error)),
    }
}

/// Formats the variables that a session of Kennel has, except for the cookie, which marks pens.
fn variables(home: &HomeDir, answer: &AdoptResponse) -> String {
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
    fn refuses_an_invalid_pid() {
        for text in ["abc", "-5", "0", "", "99999999999"] {
            let error = parse_pid(text).unwrap_err();
            assert!(error.starts_with(&format!("invalid pid {text:?}")), "{error}");
        }
        assert_eq!(parse_pid("4711"), Ok(4711));
    }

    #[test]
    fn identifies_the_parent_and_no_other_process() {
        let parent = parent().unwrap();
        assert_eq!(parent.pid, rustix::process::getppid().unwrap().as_raw_pid());
        assert!(parent.exists().unwrap());
        assert!(find(i32::MAX).unwrap().is_none());
    }
}
