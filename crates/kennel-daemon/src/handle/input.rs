//! Signals and input, sent to a session's keeper.

use std::path::Path;
use std::time::Duration;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, LONGEST_INPUT, PeerRole};
use kennel_sys::pidfd::{self, SignalDelivery};
use kennel_types::{Phase, SessionView, StartedBy};
use rustix::process::Signal;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::keeper::request::{KeeperConnection, KeeperRequestError};

const KEEPER_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_secs(10);
const LAST_SIGNAL: i32 = 64;

impl DaemonHandle {
    /// Sends a signal to every process of a session.
    pub async fn signal(&self, reference: String, signal: i32) -> Result<(), ApiError> {
        if !(1..=LAST_SIGNAL).contains(&signal) {
            return Err(unknown_signal(signal));
        }
        let view = self.show(reference.clone()).await?;
        if view.started_by == StartedBy::User {
            return self.signal_adopted(reference, signal).await;
        }
        let keeper = connect(&view).await?;
        confirmed(&keeper, &KeeperRequest::Signal(signal)).await
    }

    /// Writes to a session's standard input, and closes it with `eof`.
    pub async fn send_input(
        &self,
        reference: String,
        bytes: &[u8],
        eof: bool,
    ) -> Result<(), ApiError> {
        let keeper = connect(&self.show(reference).await?).await?;
        for piece in bytes.chunks(LONGEST_INPUT) {
            let taken = async {
                keeper.send(&KeeperRequest::Input(piece.to_vec())).await?;
                let mut left = piece.len();
                keeper
                    .wait_for(|report, _| {
                        if let KeeperReport::InputTaken(taken) = report {
                            left = left.saturating_sub(taken as usize);
                        }
                        (left == 0).then_some(())
                    })
                    .await
            };
            match timeout(READ_TIMEOUT, taken).await {
                Ok(taken) => answered(Ok(taken))?,
                Err(_) => {
                    return Err(ApiError::busy("the agent does not read its input")
                        .hint("what it has not read yet stays queued"));
                }
            }
        }
        if eof {
            confirmed(&keeper, &KeeperRequest::CloseInput).await?;
        }
        Ok(())
    }

    /// An adopted session is one process, and has no keeper.
    async fn signal_adopted(&self, reference: String, number: i32) -> Result<(), ApiError> {
        let signal = Signal::from_named_raw(number).ok_or_else(|| unknown_signal(number))?;
        let named = reference.clone();
        let handle = self.ask(move |owner| owner.handle_of(&reference)).await?;
        match pidfd::send(handle.get_ref(), signal).map_err(ApiError::internal)? {
            SignalDelivery::Yes => Ok(()),
            SignalDelivery::Gone => Err(not_running(&named)),
            SignalDelivery::NotPermitted => {
                Err(ApiError::conflict("the daemon is not permitted to signal this process"))
            }
        }
    }
}

fn unknown_signal(signal: i32) -> ApiError {
    ApiError::invalid(format!("unknown signal {signal}: expected 1 to {LAST_SIGNAL}"))
}

/// Connects to the keeper of a running session.
async fn connect(view: &SessionView) -> Result<KeeperConnection, ApiError> {
    if view.started_by == StartedBy::User {
        let text = format!("session {} was started in a user's terminal", view.id);
        return Err(ApiError::conflict(text).hint("type into that terminal"));
    }
    if !matches!(view.phase, Phase::Running | Phase::Stopping) {
        return Err(not_running(&view.id));
    }
    let keeper =
        KeeperConnection::connect(Path::new(&view.folder)).map_err(|error| match error {
            KeeperRequestError::NotListening => not_running(&view.id),
            other => ApiError::busy(other),
        })?;
    answered(timeout(KEEPER_TIMEOUT, keeper.greet(PeerRole::Client)).await)?;
    Ok(keeper)
}

/// Sends a request, and waits until the keeper has carried it out.
async fn confirmed(keeper: &KeeperConnection, request: &KeeperRequest) -> Result<(), ApiError> {
    let done = async {
        keeper.send(request).await?;
        // A keeper takes requests in order: once it answers this one, the first is done.
        keeper.send(&KeeperRequest::Status).await?;
        keeper.wait_for(|report, _| matches!(report, KeeperReport::State(_)).then_some(())).await
    };
    answered(timeout(KEEPER_TIMEOUT, done).await)
}

fn not_running(session: &str) -> ApiError {
    ApiError::conflict(format!("session {session} is not running"))
}

fn answered<T>(result: Result<Result<T, KeeperRequestError>, Elapsed>) -> Result<T, ApiError> {
    match result {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(KeeperRequestError::Refused(why))) => Err(ApiError::conflict(why)),
        Ok(Err(error)) => Err(ApiError::busy(format!("can't reach the keeper: {error}"))),
        Err(_) => Err(ApiError::busy("the keeper does not answer")),
    }
}
