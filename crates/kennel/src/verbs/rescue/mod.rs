//! `kennel rescue`: what is there, without daemon and records.
//!
//! Folders tell which sessions there were; a lock that is held, that a keeper lives; its socket, how it is;
//! the names of cgroups, which pens lost their keeper; a cookie in the environment, whose a process is.

mod end;
mod find;
mod process;

use clap::Args;

use crate::command_error::CommandError;
use crate::connect::find_inside;
use crate::exit_code;
use crate::home::Home;
use crate::print::{self, ColorMode, TextStyle, print, sanitize};
use find::{LaunchLockState, RescueFindings, RescuedSession};

/// The flags of `kennel rescue`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct RescueArgs {
    /// End everything that was found, and say what came of it
    #[arg(long)]
    end: bool,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Lists what is there, or ends it.
pub(crate) fn rescue(home: &Home, args: &RescueArgs) -> Result<u8, CommandError> {
    if args.end
        && let Some(inside) = find_inside(home)
    {
        let text = format!(
            "this is inside a session of the home ({}), and would be ended too",
            inside.mark
        );
        return Err(CommandError::because(exit_code::REFUSED, text).hint("run it from outside"));
    }
    let found = find::find(home);
    if !args.end {
        if args.json {
            print::json(&found)?;
        } else {
            print(&text(&found, ColorMode::of_stdout()))?;
        }
        return Ok(0);
    }
    let ended = end::end(home, &found);
    if args.json {
        print::json(&ended)?;
    } else {
        print(&ended.text())?;
    }
    match ended.still_alive.is_empty() {
        true => Ok(0),
        false => Err(CommandError::said(exit_code::STILL_ALIVE)),
    }
}

fn text(found: &RescueFindings, ink: ColorMode) -> String {
    let mut out = String::new();
    let (live, over): (Vec<_>, Vec<_>) = found.sessions.iter().partition(|s| s.is_live());
    for session in &live {
        out += &ink.paint(TextStyle::Heading, &session.id);
        out += &format!("  {}\n", describe(session));
        for line in &session.identity {
            out += &format!("    {}\n", sanitize(line));
        }
    }
    out += &match live.len() {
        0 => "no session is live".to_owned(),
        1 => "1 session is live".to_owned(),
        number => format!("{number} sessions are live"),
    };
    out += &match over.len() {
        1 => "; 1 has ended\n".to_owned(),
        number => format!("; {number} have ended\n"),
    };
    if !found.pens.is_empty() {
        out += "\nPens whose keeper has died:\n";
        for pen in &found.pens {
            out += &format!("  {}  pids {:?}\n", pen.path, pen.pids);
        }
    }
    if !found.strays.is_empty() {
        out += "\nProcesses with this home's cookie, of no live session:\n";
        for stray in &found.strays {
            out += &format!(
                "  {}  of {}  {}\n",
                stray.pid,
                sanitize(&stray.session),
                sanitize(&stray.command)
            );
        }
    }
    if !found.trouble.is_empty() {
        out += "\nNot found out:\n";
        for trouble in &found.trouble {
            out += &format!("  {}\n", sanitize(trouble));
        }
    }
    if !live.is_empty() || !found.pens.is_empty() || !found.strays.is_empty() {
        out += "\n`kennel rescue --end` ends all of it.\n";
    }
    out
}

fn describe(session: &RescuedSession) -> String {
    let keeper = match (&session.keeper, session.lock) {
        (Some(keeper), _) => match &keeper.stage {
            Some(stage) => format!("keeper {} answers: {stage}", keeper.pid),
            None => format!("keeper {} does not answer", keeper.pid),
        },
        (None, LaunchLockState::Held) => {
            "its lock is held, but no keeper is to be found".to_owned()
        }
        (None, _) => "it has lost its keeper".to_owned(),
    };
    match &session.agent {
        Some(agent) => format!("{keeper}; agent {agent}"),
        None => keeper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use find::{OrphanedPen, RescuedKeeper, StrayProcess};

    fn session(id: &str, lock: LaunchLockState) -> RescuedSession {
        RescuedSession {
            id: id.to_owned(),
            folder: format!("/h/sessions/{id}"),
            lock,
            keeper: None,
            agent: None,
            agent_lives: false,
            pen: None,
            outcome: None,
            identity: Vec::new(),
        }
    }

    #[test]
    fn an_empty_home_is_told_in_a_line() {
        let found = RescueFindings {
            sessions: vec![session("a", LaunchLockState::Free)],
            ..RescueFindings::default()
        };
        assert_eq!(text(&found, ColorMode::Plain), "no session is live; 1 has ended\n");
    }

    #[test]
    fn everything_that_is_there_is_told() {
        let keeper =
            |stage: Option<&str>| Some(RescuedKeeper { pid: 7, stage: stage.map(Into::into) });
        let mut running = session("a", LaunchLockState::Held);
        running.keeper = keeper(Some("running"));
        running.agent = Some("pid 8 (inode 9)".to_owned());
        running.identity = vec!["keeper 7".to_owned()];
        let mut silent = session("b", LaunchLockState::Held);
        silent.keeper = keeper(None);
        let found = RescueFindings {
            sessions: vec![
                running,
                silent,
                session("c", LaunchLockState::Held),
                session("d", LaunchLockState::Free),
            ],
            pens: vec![OrphanedPen {
                path: "/sys/fs/cgroup/kennel-x-y".into(),
                session: "y".into(),
                pids: vec![5],
            }],
            strays: vec![StrayProcess { pid: 6, session: "z".into(), command: "sleep 9".into() }],
            trouble: vec!["pens: EIO".into()],
        };
        assert_eq!(
            text(&found, ColorMode::Plain),
            "\
a  keeper 7 answers: running; agent pid 8 (inode 9)
    keeper 7
b  keeper 7 does not answer
c  its lock is held, but no keeper is to be found
3 sessions are live; 1 has ended

Pens whose keeper has died:
  /sys/fs/cgroup/kennel-x-y  pids [5]

Processes with this home's cookie, of no live session:
  6  of z  sleep 9

Not found out:
  pens: EIO

`kennel rescue --end` ends all of it.
"
        );
    }
}
