//! Follows a prompt through all its attempts until it has ended.

use std::path::Path;

use kennel_agents::{AgentEvent, OutputReader as Words};
use kennel_daemon::transcript;
use kennel_keeper::journal::JournalReader;
use kennel_keeper::protocol::{KeeperReport, PeerRole};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_types::Phase;
use kennel_types::api::StopRequest;

use super::progress::Progress;
use crate::command_prelude::*;
use crate::foreground;

/// How often the keeper and the session are checked while nothing happens.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Shows what happens until the prompt has ended. A signal stops the prompt, a second one kills it;
/// either way this waits for the end. Returns the last attempt and the first signal.
pub(super) fn follow(
    daemon: &DaemonClient,
    session: SessionView,
    ours: bool,
    signals: &Signals,
    progress: Progress,
) -> Result<(SessionView, Option<i32>), CommandError> {
    let (attempt, signal, stops, unsent) = (None, None, Vec::new(), None);
    PromptFollower { daemon, ours, signals, progress, attempt, signal, stops, unsent }
        .follow(session)
}

struct PromptFollower<'a> {
    daemon: &'a DaemonClient,
    /// Whether this process created the prompt, and so ends it when it ends itself.
    ours: bool,
    signals: &'a Signals,
    progress: Progress,
    attempt: Option<AttemptOutput>,
    /// The first signal that asked for the end.
    signal: Option<i32>,
    /// The stop requests that were sent because of it.
    stops: Vec<Sent>,
    /// A signal whose stop request could not be sent yet.
    unsent: Option<i32>,
}

/// The output of one attempt, as far as it was read.
struct AttemptOutput {
    id: String,
    keeper: Option<KeeperClient>,
    journal: JournalReader,
    words: Words,
}

impl PromptFollower<'_> {
    fn follow(
        &mut self,
        mut session: SessionView,
    ) -> Result<(SessionView, Option<i32>), CommandError> {
        let mut retry = DaemonRetry::new();
        let mut pending = Some(self.wait_for(&session)?);
        loop {
            match self.signals.next_end()? {
                Some(signal) if self.ours => self.stop(&session, signal),
                // The client that created it still waits for it.
                Some(signal) => return Ok((session, Some(signal))),
                None => {}
            }
            self.show(&session)?;
            if !self.poll(pending.as_ref())? {
                // Another attempt may have started. Without an answer, keep waiting.
                if let Ok(now) = self.daemon.session(&session.session) {
                    session = now;
                }
                continue;
            }
            let Some(response) = pending.take() else { continue };
            match response.receive::<SessionView>() {
                Ok(ended) => {
                    self.show(&ended)?;
                    self.progress.clear();
                    return Ok((ended, self.signal));
                }
                Err(error) if error.is_gone_or_shutting_down() => {
                    self.daemon.retry(&mut retry, error)?;
                    // The lost daemon may not have recorded the stop.
                    if let Some(signal) = self.signal.take().or(self.unsent.take()) {
                        self.stop(&session, signal);
                    }
                    pending = Some(self.wait_for(&session)?);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the end. If this process is killed meanwhile, the daemon ends a prompt of its own.
    fn wait_for(&self, session: &SessionView) -> Result<Sent, CommandError> {
        let cancel_on_disconnect =
            if self.ours { "/wait?cancel_on_disconnect=true" } else { "/wait" };
        let path = session_path(&session.session, cancel_on_disconnect);
        self.daemon.repeat_if(RequestError::is_gone_or_shutting_down, |client| {
            client.send("GET", &path, None::<&()>, Timeout::None)
        })
    }

    /// Requests the end: a stop the first time, a kill after that.
    fn stop(&mut self, session: &SessionView, signal: i32) {
        let now = self.signal.is_some();
        self.signal.get_or_insert(signal);
        self.progress.stopping(now);
        let by = format!("kennel ask, signal {signal}");
        let request = StopRequest { now, by, ..StopRequest::default() };
        let path = session_path(&session.session, "/stop");
        // The request is kept until the end: the daemon may not have read a dropped one. If no
        // daemon listens, it is sent again when one does.
        match self.daemon.send("POST", &path, Some(&request), Timeout::None) {
            Ok(sent) => self.stops.push(sent),
            Err(_) => self.unsent = Some(signal),
        }
    }

    fn show(&mut self, session: &SessionView) -> Result<(), CommandError> {
        if self.attempt.as_ref().is_none_or(|attempt| attempt.id != session.id) {
            if let Some(former) = &mut self.attempt {
                former.drain(&mut self.progress)?;
            }
            if session.phase == Phase::Queued {
                self.progress.queued(session);
                return Ok(());
            }
            self.progress.attempt(session);
            self.attempt = Some(AttemptOutput::begin(session)?);
        }
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        attempt.connect(session)?;
        attempt.drain(&mut self.progress)
    }

    /// Waits until something may have happened. Returns whether the response has arrived.
    fn poll(&mut self, pending: Option<&Sent>) -> Result<bool, CommandError> {
        let keeper = self.attempt.as_ref().and_then(|attempt| attempt.keeper.as_ref());
        let mut fds = vec![PollFd::new(self.signals, PollFlags::IN)];
        fds.extend(pending.map(|pending| PollFd::new(pending, PollFlags::IN)));
        let answers = fds.len();
        fds.extend(keeper.map(|keeper| PollFd::new(keeper, PollFlags::IN)));
        // The elapsed time is displayed, and another attempt may have started.
        poll(&mut fds, Some(Instant::now() + CHECK_INTERVAL))?;
        self.progress.tick();
        Ok(pending.is_some() && !fds[answers - 1].revents().is_empty())
    }
}

impl AttemptOutput {
    fn begin(session: &SessionView) -> Result<Self, CommandError> {
        let (journal, words) = transcript::open(session).context("can't read the output")?;
        Ok(Self { id: session.id.clone(), keeper: None, journal, words })
    }

    /// Connects to the keeper, which reports new output.
    fn connect(&mut self, session: &SessionView) -> Result<(), CommandError> {
        if self.keeper.is_none() && session.phase < Phase::Reaped {
            let folder = Path::new(&session.folder);
            self.keeper = foreground::connect_keeper(folder, PeerRole::Client)?;
        }
        while let Some(keeper) = &self.keeper {
            match keeper.receive() {
                Ok(Some((KeeperReport::Gone(_), _))) | Err(KeeperClientError::Closed) => {
                    self.keeper = None
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn drain(&mut self, progress: &mut Progress) -> Result<(), CommandError> {
        let handle = &mut |event: AgentEvent<'_>| progress.event(&event);
        transcript::read_available(&mut self.journal, &mut self.words, handle)
            .context("can't read the output")?;
        progress.printed()
    }
}
