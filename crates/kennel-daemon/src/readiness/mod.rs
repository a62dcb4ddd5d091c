//! Readiness: watches for the condition that was requested, and for the timeout.
//!
//! ```text
//! AwaitReady ──> watch ──┬── the condition holds ───> BecameReady
//!                        └── the timeout is over ────> ReadyOverdue
//! StopAwaiting, or the end of the session: the task is aborted at any step
//! ```
//! A watch has no state of its own: a new daemon starts another one, with the rest of the time.

mod attempt;
mod http;
mod lines;
mod output;
mod strip;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_types::{Readiness, SessionId, SessionSpec};
use kennel_worktree::WorktreeRecord;
use tokio::task::spawn_blocking;

use self::attempt::Observed;
use self::http::HttpTarget;
use crate::error::ApiError;
use crate::event_sender::EventSender;
use crate::os::AbortOnDrop;

/// Checks whether the condition can be watched, before anything is made.
pub(crate) fn check(spec: &SessionSpec) -> Result<(), ApiError> {
    let wrong = |why: String| ApiError::invalid(format!("ready: {why}"));
    // It may come as JSON fields: a condition that can't be written as text is invalid.
    let text = spec.ready.to_string();
    let again = text.parse::<Readiness>().map_err(|error| wrong(error.to_string()))?;
    if again != spec.ready {
        return Err(wrong(format!("invalid condition {text:?}")));
    }
    match &spec.ready {
        Readiness::Line { pattern } => drop(lines::compile(pattern).map_err(wrong)?),
        Readiness::Http { url } => drop(HttpTarget::parse(url).map_err(wrong)?),
        Readiness::Socket { path }
            if !path.starts_with('/') && spec.cwd.contains(char::REPLACEMENT_CHARACTER) =>
        {
            let why = format!("{path:?} is relative to a folder whose path is not UTF-8");
            return Err(wrong(why).hint("give the absolute path of the socket"));
        }
        _ => {}
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) session: SessionId,
    pub(crate) readiness: Readiness,
    /// How long it may take from the opening of the gate.
    pub(crate) timeout: Option<Duration>,
    /// When the gate was opened, by a clock that stops while the machine sleeps.
    pub(crate) opened: Instant,
    /// The base of relative paths, unless it has a worktree.
    pub(crate) cwd: PathBuf,
    pub(crate) worktree: Option<WorktreeRecord>,
    pub(crate) folder: PathBuf,
    pub(crate) owner: EventSender<(SessionId, Event)>,
}

impl Watch {
    pub(crate) fn begin(self) -> AbortOnDrop {
        point("daemon.ready.begun");
        AbortOnDrop::spawn(self.run())
    }

    async fn run(self) {
        let observed = Observed::default();
        let event = tokio::select! {
            // A condition that holds at the timeout counts.
            biased;
            how = self.wait_for_condition(&observed) => {
                point("daemon.ready.seen");
                Event::BecameReady { how }
            }
            () = self.time_is_over() => {
                point("daemon.ready.overdue");
                Event::ReadyOverdue { saw: observed.last() }
            }
        };
        self.owner.send((self.session, event));
    }

    async fn time_is_over(&self) {
        match self.timeout.and_then(|timeout| self.opened.checked_add(timeout)) {
            Some(until) => tokio::time::sleep_until(until.into()).await,
            None => std::future::pending().await,
        }
    }

    async fn agents_folder(&self) -> PathBuf {
        let Some(record) = self.worktree.clone() else { return self.cwd.clone() };
        let top = record.path.clone();
        spawn_blocking(move || record.cwd()).await.unwrap_or(top)
    }

    /// Waits for the condition and returns what was seen. What was seen instead is noted.
    async fn wait_for_condition(&self, observed: &Observed) -> String {
        match &self.readiness {
            Readiness::None => std::future::pending().await,
            // The agent's report arrives by the API.
            Readiness::Report => {
                observed.note("no report arrived");
                std::future::pending().await
            }
            Readiness::Line { pattern } => output::matched(&self.folder, pattern, observed).await,
            Readiness::Socket { path } => {
                let path = self.agents_folder().await.join(path);
                attempt::until(observed, || attempt::socket(&path)).await;
                format!("{} accepts connections", path.display())
            }
            Readiness::Tcp { host, port } => {
                attempt::until(observed, || attempt::tcp(host, *port)).await;
                format!("{host} port {port} accepts connections")
            }
            Readiness::Http { url } => {
                attempt::until(observed, || http::answers(url)).await;
                format!("{url} answers")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ready: Readiness) -> String {
        let spec = SessionSpec { ready, cwd: "/".into(), ..SessionSpec::default() };
        check(&spec).unwrap_err().problem().detail
    }

    #[test]
    fn refuses_an_invalid_condition_by_name() {
        let line = |pattern: &str| Readiness::Line { pattern: pattern.into() };
        let error = refusal(line("up("));
        assert!(error.contains("up(") && error.contains("unclosed group"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        assert!(refusal(line("(a{1000}){1000}")).contains("too big"));
        assert!(refusal(line("a\nb")).contains("control"));
        assert!(refusal(line("")).contains("regular expression"));
        assert!(refusal(Readiness::Tcp { host: "h".into(), port: 0 }).contains("port"));
        assert!(refusal(Readiness::Socket { path: "a\0b".into() }).contains("control"));
        let http = |url: &str| Readiness::Http { url: url.into() };
        assert!(refusal(http("https://localhost/")).contains("can't check https"));
        assert!(refusal(http("http://me:secret@localhost/")).contains("password"));
        assert!(refusal(http("http://localhost:99999/")).contains("port"));
    }

    #[test]
    fn a_path_below_a_folder_that_is_not_utf8_must_be_absolute() {
        let ready = Readiness::Socket { path: "a.sock".into() };
        let cwd = "/\u{fffd}".to_owned();
        let mut spec = SessionSpec { ready, cwd, ..SessionSpec::default() };
        assert!(check(&spec).is_err());
        spec.ready = Readiness::Socket { path: "/a.sock".into() };
        assert!(check(&spec).is_ok());
    }
}
