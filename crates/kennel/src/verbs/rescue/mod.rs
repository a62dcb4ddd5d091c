//! `kennel rescue`: finds and ends sessions without the daemon and the register.
//!
//! The evidence: session folders; held locks, which prove live keepers; keepers' sockets, which
//! report their state; cgroup names, which show pens without a keeper; and cookies in the
//! environment of processes.

mod end;
mod find;
mod process;

use crate::command_prelude::*;
use crate::connect::find_inside;
use find::{LaunchLockState, RescueFindings, RescuedSession, StrayProcess};

#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct RescueArgs {
    /// End everything that was found
    #[arg(long)]
    end: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn rescue(home: &HomeDir, args: &RescueArgs) -> Result<u8, CommandError> {
    if args.end
        && let Some(inside) = find_inside(home)
    {
        let text = format!(
            "this command is inside a session of the home ({}) and would be ended, too",
            inside.mark
        );
        return Err(CommandError::refused(text).hint("run it outside of the session"));
    }
    let found = find::find(home);
    if !args.end {
        return print::json_or_text(args.json, &found, || text(&found, ColorMode::of_stdout()));
    }
    let ended = end::end(home, &found);
    print::json_or_text(args.json, &ended, || ended.text())?;
    Ok(if ended.still_alive.is_empty() { 0 } else { exit_code::STILL_ALIVE })
}

fn text(found: &RescueFindings, color: ColorMode) -> String {
    let mut out = String::new();
    let (live, over): (Vec<_>, Vec<_>) = found.sessions.iter().partition(|s| s.is_live());
    for session in &live {
        out += &color.paint(TextStyle::Heading, &session.id);
        out += &format!("  {}\n", describe(session));
        for line in &session.identity {
            out += &format!("    {}\n", sanitize(line));
        }
    }
    out += &match live.len() {
        0 => "no live sessions".to_owned(),
        number => counted(number, "live session"),
    };
    out += &format!(", {} ended\n", over.len());
    let pens = found.pens.iter().map(|pen| format!("{}  pids {:?}", pen.path, pen.pids)).collect();
    let stray = |stray: &StrayProcess| {
        let (session, command) = (sanitize(&stray.session), sanitize(&stray.command));
        format!("{}  session {session}  {command}", stray.pid)
    };
    let lists: [(&str, Vec<String>); 3] = [
        ("Pens without a keeper", pens),
        (
            "Strays (processes with this home's cookie but no live session)",
            found.strays.iter().map(stray).collect(),
        ),
        ("Errors", found.trouble.iter().map(|trouble| sanitize(trouble)).collect()),
    ];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        out += &format!("\n{title}:\n  {}\n", lines.join("\n  "));
    }
    if !live.is_empty() || !found.pens.is_empty() || !found.strays.is_empty() {
        out += "\nRun `kennel rescue --end` to end all of these.\n";
    }
    out
}

fn describe(session: &RescuedSession) -> String {
    let keeper = match (&session.keeper, session.lock) {
        (Some(keeper), _) => match &keeper.stage {
            Some(stage) => format!("keeper {}: {stage}", keeper.pid),
            None => format!("keeper {} does not respond", keeper.pid),
        },
        (None, LaunchLockState::Held) => "the lock is held, but no keeper was found".to_owned(),
        (None, _) => "no keeper".to_owned(),
    };
    match &session.agent {
        Some(agent) => format!("{keeper}; agent {agent}"),
        None => keeper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use find::{OrphanedPen, RescuedKeeper};

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
    fn an_idle_home_is_one_line() {
        let found = RescueFindings {
            sessions: vec![session("a", LaunchLockState::Free)],
            ..RescueFindings::default()
        };
        assert_eq!(text(&found, ColorMode::Plain), "no live sessions, 1 ended\n");
    }

    #[test]
    fn lists_everything() {
        let keeper = |stage| Some(RescuedKeeper { pid: 7, stage });
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
a  keeper 7: running; agent pid 8 (inode 9)
    keeper 7
b  keeper 7 does not respond
c  the lock is held, but no keeper was found
3 live sessions, 1 ended

Pens without a keeper:
  /sys/fs/cgroup/kennel-x-y  pids [5]

Strays (processes with this home's cookie but no live session):
  6  session z  sleep 9

Errors:
  pens: EIO

Run `kennel rescue --end` to end all of these.
"
        );
    }
}
