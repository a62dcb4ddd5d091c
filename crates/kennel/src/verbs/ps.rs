//! `kennel ps`: lists sessions.

use kennel_types::{Phase, ReadyState, RelaunchState};

use super::exit_text;
use crate::command_prelude::*;
use crate::print::shell_words;
use crate::session_outcome::{reported, state};
use crate::timestamp;

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
pub(crate) struct PsArgs {
    /// Show ended sessions, too
    #[arg(short, long)]
    all: bool,
    /// Print only ids
    #[arg(short, long)]
    quiet: bool,
    /// Print a JSON array of sessions
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

pub(crate) fn ps(daemon: &DaemonClient, args: &PsArgs) -> Result<u8, CommandError> {
    let sessions = daemon.sessions(args.all)?;
    if args.json {
        print::json(&sessions)?;
    } else if args.quiet {
        print(&sessions.iter().map(|session| format!("{}\n", session.id)).collect::<String>())?;
    } else {
        print(&text(&sessions, timestamp::now_ms(), print::width(), ColorMode::of_stdout()))?;
    }
    Ok(0)
}

fn text(sessions: &[SessionView], now: u64, width: Option<usize>, color: ColorMode) -> String {
    let any_reports = sessions.iter().any(|session| reported(session).is_some());
    let mut columns = vec![
        Column::whole("ID"),
        Column::cut("NAME", 12),
        Column::whole("PHASE"),
        Column::number("PID").spare(),
        Column::number("AGE").spare(),
        Column::whole("EXIT"),
    ];
    columns.extend(any_reports.then_some(Column::cut("STATUS", 12)));
    columns.push(Column::cut("COMMAND", 10));
    let mut table = TextTable::new(&columns);
    for session in sessions {
        let faint =
            if session.phase >= Phase::Reaped { TextStyle::Faint } else { TextStyle::Plain };
        let mut row = vec![
            Cell::styled(&session.id, faint),
            Cell::new(session.name.as_deref().unwrap_or("-")),
            Cell::styled(state(session), style(session)),
            Cell::new(session.pid.map_or("-".to_owned(), |pid| pid.to_string())),
            Cell::new(timestamp::age(&session.created_at, now)),
            Cell::new(exit_text(session.exit.as_ref())),
        ];
        let report = reported(session).map_or("-".to_owned(), |report| sanitize(&report));
        row.extend(any_reports.then(|| Cell::styled(report, faint)));
        row.push(Cell::styled(sanitize(&command(session)), faint));
        table.row(row);
    }
    table.text(width, color) + &notes(sessions)
}

fn style(session: &SessionView) -> TextStyle {
    match session.phase {
        _ if session.relaunch == RelaunchState::Pending => TextStyle::Busy,
        _ if !session.survivors.is_empty() && session.phase < Phase::Reaped => TextStyle::Bad,
        Phase::Running if session.ready == ReadyState::Waiting => TextStyle::Busy,
        Phase::Running => TextStyle::Good,
        Phase::Lost => TextStyle::Bad,
        Phase::Cleaned => TextStyle::Faint,
        _ => TextStyle::Busy,
    }
}

/// Formats the command. For a prompt or a chat it is the agent and the member or plan: their
/// command lines are generated and say little.
fn command(session: &SessionView) -> String {
    let Some(agent) = &session.spec.agent else { return shell_words(&session.spec.argv) };
    let of = match (&agent.member, &agent.plan) {
        (_, Some(agent)) => format!(" for {} of plan {}", agent.name, agent.plan),
        (Some(member), None) => format!(" for {member}"),
        (None, None) => String::new(),
    };
    let what = if agent.interactive { "chat" } else { "prompt" };
    format!("{} ({what}{of})", agent.settings.agent)
}

/// Formats problems that don't fit into the table.
fn notes(sessions: &[SessionView]) -> String {
    let mut notes = String::new();
    for session in sessions {
        let id = &session.id;
        if session.phase < Phase::Reaped {
            for survivor in &session.survivors {
                notes += &format!("{id}: still alive: {}\n", sanitize(&survivor.to_string()));
            }
        }
        if session.phase == Phase::Lost {
            notes += &format!("{id}: it is unknown whether it has ended; Kennel keeps checking\n");
        }
        for owed in session.owed.iter().filter(|owed| owed.failures > 0) {
            let why = owed.why.as_deref().unwrap_or("unknown reason");
            notes += &format!(
                "{id}: cleanup is pending (failed attempts: {}): {}\n",
                owed.failures,
                sanitize(why)
            );
        }
        if session.unrecorded {
            notes += &format!("{id}: its outcome could not be recorded\n");
        }
    }
    if notes.is_empty() { notes } else { format!("\n{notes}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::session;
    use kennel_types::{Exit, StartedBy, Survivor};

    fn now() -> u64 {
        timestamp::parse("2026-01-31T12:05:30Z").unwrap()
    }

    #[test]
    fn the_list_fits_the_terminal() {
        let mut ended = session();
        ended.id = "0c3k5d9wq2fb".to_owned();
        ended.name = None;
        ended.phase = Phase::Cleaned;
        ended.exit = Some(Exit::Signal { signal: 15, core: false, oom: false });
        ended.spec.argv = vec!["sh".to_owned(), "-c".to_owned(), "a\nb\x1b[31m".to_owned()];
        let shown = text(&[session(), ended], now(), Some(80), ColorMode::Plain);
        insta::assert_snapshot!(shown);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }

    #[test]
    fn a_narrow_terminal_omits_columns() {
        let shown = text(&[session()], now(), Some(56), ColorMode::Plain);
        insta::assert_snapshot!(shown);
        let shown = text(&[session()], now(), Some(55), ColorMode::Plain);
        assert!(shown.starts_with("ID            NAME       PHASE    EXIT  COMMAND\n"), "{shown}");
    }

    #[test]
    fn shows_reports_of_agents_if_there_are_any() {
        let mut up = session();
        up.ready = ReadyState::Ready;
        up.activity = Some(kennel_types::AgentActivity::Busy);
        up.progress = Some(40_u64.try_into().unwrap());
        up.title = Some("the login page".to_owned().try_into().unwrap());
        let mut waiting = session();
        waiting.ready = ReadyState::Waiting;
        insta::assert_snapshot!(text(&[up, waiting], now(), None, ColorMode::Plain));
    }

    #[test]
    fn an_empty_list_has_only_a_header() {
        assert_eq!(
            text(&[], 0, Some(80), ColorMode::Plain),
            "ID  NAME  PHASE  PID  AGE  EXIT  COMMAND\n"
        );
    }

    #[test]
    fn shows_queue_position_and_pending_restart() {
        let mut queued = session();
        queued.phase = Phase::Queued;
        queued.queue_position = Some(3);
        let mut pending = session();
        pending.phase = Phase::Cleaned;
        pending.relaunch = RelaunchState::Pending;
        let shown = text(&[queued, pending], now(), None, ColorMode::Plain);
        assert!(shown.contains(" queued (3) ") && shown.contains(" restarting "), "{shown}");
    }

    #[test]
    fn marks_an_adopted_session() {
        let mut own = session();
        own.started_by = StartedBy::User;
        let shown = text(&[own], now(), None, ColorMode::Plain);
        assert!(shown.contains(" running (adopted) "), "{shown}");
    }

    #[test]
    fn names_processes_that_are_still_alive() {
        let mut stuck = session();
        stuck.phase = Phase::Stopping;
        stuck.survivors =
            vec![Survivor { pid: 99, name: "dd".into(), why: "uninterruptible".into() }];
        let shown = text(&[stuck], now(), None, ColorMode::Plain);
        assert!(
            shown.ends_with("\n\n0c3k5d9wq2fa: still alive: pid 99 (dd): uninterruptible\n"),
            "{shown}"
        );
    }
}
