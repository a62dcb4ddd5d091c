//! Following a prompt, over all its attempts, until it is over.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use kennel_agents::{Happening, Reader as Words};
use kennel_daemon::transcript;
use kennel_keeper::journal::JournalReader;
use kennel_keeper::protocol::{KeeperReport, PeerRole};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_types::api::StopRequest;
use kennel_types::{Phase, SessionView};
use rustix::event::{PollFd, PollFlags};

use super::progress::Progress;
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, Patience, Sent, session_path};
use crate::foreground::{self, Signals};

/// The pause between looks for a keeper, or for another attempt.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often in a row we look for a daemon that has vanished.
const MOST_LOSSES: u32 = 50;
/// How long a daemon that was sound serves.
const SOUND: Duration = Duration::from_secs(30);

/// What became of it.
pub(super) struct PromptOutcome {
    /// Its last attempt.
    pub(super) session: SessionView,
    /// The signal that told us to end it.
    pub(super) signal: Option<i32>,
}

/// Shows what happens until the prompt is over. A signal ends it, and a second one kills it; both are waited for.
pub(super) fn follow(
    daemon: &DaemonClient,
    session: SessionView,
    ours: bool,
    signals: &Signals,
    show: Progress,
) -> Result<PromptOutcome, CommandError> {
    let mut course = PromptFollower {
        daemon,
        ours,
        signals,
        show,
        attempt: None,
        told: None,
        stops: Vec::new(),
        unheard: None,
    };
    course.attend(session)
}

struct PromptFollower<'a> {
    daemon: &'a DaemonClient,
    /// Whether it was asked for by us, and ends with us.
    ours: bool,
    signals: &'a Signals,
    show: Progress,
    attempt: Option<AttemptOutput>,
    /// The signal that told us to end it.
    told: Option<i32>,
    /// What we asked for because of it.
    stops: Vec<Sent>,
    /// A signal of which no daemon has heard yet.
    unheard: Option<i32>,
}

/// One launch, and how far its output was read.
struct AttemptOutput {
    id: String,
    keeper: Option<KeeperClient>,
    journal: JournalReader,
    words: Words,
}

impl PromptFollower<'_> {
    fn attend(&mut self, mut session: SessionView) -> Result<PromptOutcome, CommandError> {
        let (mut losses, mut asked_at) = (0, Instant::now());
        let mut sent = Some(self.wait_for(&session)?);
        loop {
            match self.signals.next_end().map_err(CommandError::internal)? {
                Some(signal) if self.ours => self.stop(&session, signal),
                // It goes on for whoever asked before us.
                Some(signal) => return Ok(PromptOutcome { session, signal: Some(signal) }),
                None => {}
            }
            self.look(&session)?;
            let ready = self.rest(sent.as_ref())?;
            if !ready {
                // Which attempt it is now. Without an answer we wait on.
                if let Ok(now) = self.daemon.session(&session.session) {
                    session = now;
                }
                continue;
            }
            let Some(answer) = sent.take() else { continue };
            match answer.receive::<SessionView>() {
                Ok(over) => {
                    self.look(&over)?;
                    self.show.end();
                    return Ok(PromptOutcome { session: over, signal: self.told });
                }
                Err(error) if error.is_gone_or_leaving() => {
                    losses = if asked_at.elapsed() > SOUND { 1 } else { losses + 1 };
                    if losses > MOST_LOSSES {
                        return Err(error.into());
                    }
                    self.daemon.find_again_later()?;
                    // The next daemon has not heard of a stop that the former one had not put on record.
                    if let Some(signal) = self.told.take().or(self.unheard.take()) {
                        self.stop(&session, signal);
                    }
                    asked_at = Instant::now();
                    sent = Some(self.wait_for(&session)?);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the end; if we are killed meanwhile, that is the end.
    fn wait_for(&self, session: &SessionView) -> Result<Sent, CommandError> {
        let tied = if self.ours { "/wait?tied=true" } else { "/wait" };
        let path = session_path(&session.session, tied);
        let sent = self.daemon.send("GET", &path, None::<&()>, Patience::Endless);
        sent.map_err(CommandError::from)
    }

    /// Asks for the end, at once the second time; that it ends is seen by waiting.
    fn stop(&mut self, session: &SessionView, signal: i32) {
        let now = self.told.is_some();
        self.told.get_or_insert(signal);
        self.show.stopping(now);
        let by = format!("kennel ask, signal {signal}");
        let request = StopRequest { now, by, ..StopRequest::default() };
        let path = session_path(&session.session, "/stop");
        // It is held until all is over: a request that is dropped may not have been heard. A daemon that is gone for a
        // moment hears it when it is asked again.
        match self.daemon.send("POST", &path, Some(&request), Patience::Endless) {
            Ok(sent) => self.stops.push(sent),
            Err(_) => self.unheard = Some(signal),
        }
    }

    /// Reads and shows what there is to be read of the newest attempt.
    fn look(&mut self, session: &SessionView) -> Result<(), CommandError> {
        if self.attempt.as_ref().is_none_or(|attempt| attempt.id != session.id) {
            if let Some(former) = &mut self.attempt {
                former.drain(&mut self.show)?;
            }
            if session.phase == Phase::Queued {
                self.show.queued(session);
                return Ok(());
            }
            self.show.attempt(session);
            self.attempt = Some(AttemptOutput::begin(session)?);
        }
        let Some(attempt) = &mut self.attempt else { return Ok(()) };
        attempt.reach(session)?;
        attempt.drain(&mut self.show)
    }

    /// Waits until something may have happened; says whether it is the answer.
    fn rest(&mut self, sent: Option<&Sent>) -> Result<bool, CommandError> {
        let keeper = self.attempt.as_ref().and_then(|attempt| attempt.keeper.as_ref());
        let mut fds = vec![PollFd::new(self.signals, PollFlags::IN)];
        fds.extend(sent.map(|sent| PollFd::new(sent, PollFlags::IN)));
        let answers = fds.len();
        fds.extend(keeper.map(|keeper| PollFd::new(keeper, PollFlags::IN)));
        // The elapsed time is shown, and another attempt may have begun.
        foreground::poll(&mut fds, Some(Instant::now() + LOOK_AGAIN))
            .map_err(CommandError::internal)?;
        self.show.tick();
        Ok(sent.is_some() && !fds[answers - 1].revents().is_empty())
    }
}

impl AttemptOutput {
    fn begin(session: &SessionView) -> Result<Self, CommandError> {
        let (journal, words) = transcript::open(session).context("can't read the output")?;
        Ok(Self { id: session.id.clone(), keeper: None, journal, words })
    }

    /// Whoever writes the journal tells when there is more.
    fn reach(&mut self, session: &SessionView) -> Result<(), CommandError> {
        if self.keeper.is_none() && session.phase < Phase::Reaped {
            let folder = Path::new(&session.folder);
            self.keeper =
                foreground::reach(folder, PeerRole::Client).context("can't reach the keeper")?;
        }
        while let Some(keeper) = &self.keeper {
            match keeper.receive() {
                Ok(Some((KeeperReport::Gone(_), _))) | Err(KeeperClientError::Closed) => {
                    self.keeper = None
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Err(CommandError::internal(error)),
            }
        }
        Ok(())
    }

    fn drain(&mut self, show: &mut Progress) -> Result<(), CommandError> {
        let tell = &mut |happening: Happening<'_>| show.happening(&happening);
        transcript::read_on(&mut self.journal, &mut self.words, tell)
            .context("can't read the output")?;
        show.printed()
    }
}
