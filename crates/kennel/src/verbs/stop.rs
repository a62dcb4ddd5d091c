//! `kennel stop`: stops sessions, all at the same time.

use std::collections::BTreeSet;

use kennel_types::api::{StopRequest, StopResponse, StopResult};
use kennel_types::{Phase, StartedBy};
use rustix::process::{Resource, Rlimit};

use super::{asked_by, ended_text, label};
use crate::command_error::report;
use crate::command_prelude::*;
use crate::connect::find_inside;
use crate::foreground::NOTICE;
use crate::quantity::span;

#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct StopArgs {
    /// Stop all sessions except adopted ones
    #[arg(short, long, conflicts_with = "sessions")]
    all: bool,
    /// Time between TERM and KILL [default: the session's own]
    #[arg(short = 't', long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Option<Duration>,
    /// Allow this inside a session; that session is stopped, too
    #[arg(long)]
    from_inside: bool,
    /// Send KILL at once
    #[arg(long, conflicts_with = "grace")]
    now: bool,
    /// Names, ids, or unique prefixes of ids
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,
}

struct PendingStop {
    session: String,
    sent: Sent,
    retry: DaemonRetry,
}

/// Stops sessions and prints each result as soon as it is known.
pub(crate) fn stop(home: &HomeDir, args: &StopArgs) -> Result<u8, CommandError> {
    if !args.all && args.sessions.is_empty() {
        return Err(CommandError::usage("no session given")
            .hint("`kennel ps` lists sessions; `kennel stop --all` stops all of them"));
    }
    if args.all && !args.from_inside {
        refuse_inside(home)?;
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let sessions = if args.all { live_sessions(&daemon)? } else { once_each(&args.sessions) };
    if sessions.is_empty() {
        print_message("no live sessions to stop");
    }
    let request = StopRequest {
        grace_ms: args.grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)),
        now: args.now,
        by: asked_by("stop"),
        wait_ms: None,
    };
    stop_all(&daemon, sessions, &request)
}

/// Refuses to stop everything from inside a session, which would end this command, too.
pub(super) fn refuse_inside(home: &HomeDir) -> Result<(), CommandError> {
    let Some(inside) = find_inside(home) else { return Ok(()) };
    let session = inside.session.unwrap_or_else(|| "of this home".to_owned());
    let text = format!(
        "this command is inside session {session} ({}), which would be stopped, too",
        inside.mark
    );
    Err(CommandError::refused(text).hint("run it outside of the session, or use --from-inside"))
}

fn once_each(named: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    named.iter().filter(|name| seen.insert(*name)).cloned().collect()
}

fn live_sessions(daemon: &DaemonClient) -> Result<Vec<String>, CommandError> {
    let sessions = daemon.sessions(false)?;
    let (ours, others): (Vec<_>, Vec<_>) =
        sessions.into_iter().partition(|session| session.started_by == StartedBy::Kennel);
    for session in others {
        print_message(&format!("{}: adopted, not stopped", label(&session)));
    }
    Ok(ours.into_iter().map(|session| session.id).collect())
}

/// Stops all sessions at the same time, so that it takes one grace period.
fn stop_all(
    daemon: &DaemonClient,
    sessions: Vec<String>,
    request: &StopRequest,
) -> Result<u8, CommandError> {
    raise_descriptor_limit();
    let signals = Signals::listen()?;
    // On a terminal, a slow stop is reported once.
    let terminal = isatty(rustix::stdio::stderr());
    let mut notice_at = (terminal && !request.now).then(|| Instant::now() + NOTICE);
    let mut worst = 0;
    let mut asked = Vec::new();
    for session in sessions {
        match ask(daemon, &session, request) {
            Ok(sent) => asked.push(PendingStop { session, sent, retry: DaemonRetry::new() }),
            Err(error) => worst = worst.max(report(error)),
        }
    }
    while !asked.is_empty() {
        if let Some(signal) = signals.next_end()? {
            if terminal {
                start_line(false);
            }
            print_message("the stop continues in the background; `kennel stop --now` kills");
            return Ok(exit_code::of_signal(signal));
        }
        if notice_at.is_some_and(|at| at <= Instant::now()) {
            notice_at = None;
            asked.iter().for_each(|one| notice(daemon, &one.session, request));
        }
        let mut fds =
            asked.iter().map(|one| PollFd::new(&one.sent, PollFlags::IN)).collect::<Vec<_>>();
        fds.push(PollFd::new(&signals, PollFlags::IN));
        poll(&mut fds, notice_at)?;
        let ready = fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>();
        let mut waiting = Vec::new();
        for (one, ready) in asked.into_iter().zip(ready) {
            if ready {
                worst = worst.max(settle(daemon, one, request, &mut waiting)?);
            } else {
                waiting.push(one);
            }
        }
        asked = waiting;
    }
    Ok(worst)
}

/// Prints what a slow stop is waiting for.
fn notice(daemon: &DaemonClient, name: &str, request: &StopRequest) {
    // Without an answer there is no notice; the stop continues.
    let Ok(session) = daemon.session(name) else { return };
    let grace = request.grace_ms.map_or(session.spec.grace, Duration::from_millis);
    let left = grace.saturating_sub(NOTICE);
    if session.phase < Phase::Reaped && !left.is_zero() {
        print_note(&format!("{name}: TERM sent, KILL in {}", span(left)));
    }
}

/// Requests a stop. If the daemon goes away before it has the request, the next one gets it.
fn ask(daemon: &DaemonClient, session: &str, request: &StopRequest) -> Result<Sent, CommandError> {
    let path = session_path(session, "/stop");
    daemon.repeat_if(RequestError::is_gone, |client| {
        client.send("POST", &path, Some(request), Timeout::None)
    })
}

/// Stops a session without output, unless it is still alive.
pub(super) fn stop_quietly(
    daemon: &DaemonClient,
    session: &str,
    request: &StopRequest,
) -> Result<(), CommandError> {
    let answer: StopResponse = ask(daemon, session, request)?.receive()?;
    match answer.result == StopResult::StillAlive {
        true => Err(CommandError::because(exit_code::STILL_ALIVE, result_line(&answer))),
        false => Ok(()),
    }
}

/// Prints the result of a stop. If the daemon went away, the stop is requested again.
fn settle(
    daemon: &DaemonClient,
    asked: PendingStop,
    request: &StopRequest,
    waiting: &mut Vec<PendingStop>,
) -> Result<u8, CommandError> {
    let PendingStop { session, sent, mut retry } = asked;
    match sent.receive::<StopResponse>() {
        Ok(answer) => {
            print(&format!("{}\n", result_line(&answer)))?;
            Ok(if answer.result == StopResult::StillAlive { exit_code::STILL_ALIVE } else { 0 })
        }
        Err(error) if error.is_gone() => {
            daemon.retry(&mut retry, error)?;
            let again = ask(daemon, &session, request);
            let again = again.map(|sent| waiting.push(PendingStop { session, sent, retry }));
            Ok(again.map_or_else(report, |()| 0))
        }
        Err(error) => Ok(report(error.into())),
    }
}

pub(super) fn result_line(answer: &StopResponse) -> String {
    let session = label(&answer.session);
    let ended = ended_text(answer.session.exit.as_ref());
    match answer.result {
        StopResult::Stopped => {
            format!(
                "{session}: stopped in {}, {ended}",
                span(Duration::from_millis(answer.took_ms))
            )
        }
        StopResult::AlreadyGone => format!("{session}: already gone, {ended}"),
        StopResult::StillAlive => {
            let mut line = format!("{session}: still alive; Kennel keeps trying");
            for survivor in &answer.survivors {
                line += &format!("\n  {}", sanitize(&survivor.to_string()));
            }
            line
        }
    }
}

/// Raises the descriptor limit: each stop needs one.
fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    // If it can't be raised, stops beyond the limit fail with an error.
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::session;
    use kennel_types::{Exit, Survivor};

    #[test]
    fn stops_a_repeated_session_once() {
        let named = ["b", "a", "b"].map(ToOwned::to_owned);
        assert_eq!(once_each(&named), ["b", "a"]);
    }

    #[test]
    fn formats_every_result() {
        let mut answer = StopResponse {
            result: StopResult::Stopped,
            survivors: Vec::new(),
            session: session(),
            took_ms: 320,
        };
        answer.session.exit = Some(Exit::Signal { signal: 15, core: false, oom: false });
        assert_eq!(result_line(&answer), "fix-login: stopped in 320ms, exit 143 (TERM)");
        answer.result = StopResult::AlreadyGone;
        assert_eq!(result_line(&answer), "fix-login: already gone, exit 143 (TERM)");
        answer.result = StopResult::StillAlive;
        answer.survivors =
            vec![Survivor { pid: 7, name: "dd".into(), why: "uninterruptible".into() }];
        assert_eq!(
            result_line(&answer),
            "fix-login: still alive; Kennel keeps trying\n  pid 7 (dd): uninterruptible"
        );
    }
}
