//! Input of one attached client, on its way to the session's keeper.

use std::path::PathBuf;
use std::time::Duration;

use kennel_keeper::attach::TypedInput;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use kennel_pen::Size;
use kennel_types::SessionView;
use tokio::time::{Instant, sleep_until, timeout};

use crate::keeper::request::{KeeperConnection, KeeperRequestError};

/// How long a keeper may take to send its greeting, or to accept a request.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the terminal keeps a different size, so that the program on it redraws everything.
const REDRAW_DELAY: Duration = Duration::from_millis(80);
const READ_ONLY: &str = "this connection is read-only";

#[derive(Debug)]
pub struct TerminalInput {
    folder: PathBuf,
    terminal: bool,
    takes_input: bool,
    read_only: bool,
    /// Connected with the first request: clients that only watch need no connection, and a keeper
    /// accepts only a few.
    keeper: Option<KeeperConnection>,
    input: TypedInput,
    /// Whether the client has sent a size before.
    sized: bool,
    /// The client's actual size, and when to send it.
    size_at: Option<(Instant, Size)>,
}

#[derive(Debug)]
pub enum InputEvent {
    /// The keeper took some input, or the size is due: call [`TerminalInput::send_pending`].
    Ready,
    /// The keeper refused something.
    Refused(String),
}

impl TerminalInput {
    /// Creates the input of one client of this session.
    #[must_use]
    pub fn new(view: &SessionView, read_only: bool) -> Self {
        let terminal = view.spec.terminal.is_some();
        Self {
            folder: PathBuf::from(&view.folder),
            terminal,
            takes_input: terminal || view.spec.stdin,
            read_only,
            keeper: None,
            input: TypedInput::default(),
            sized: false,
            size_at: None,
        }
    }

    /// Whether the client may send more; otherwise it has to wait.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.input.wants_more()
    }

    pub async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.check_input()?;
        self.input.add(bytes);
        self.send_pending().await
    }

    /// Closes the input. On a terminal that is what the end-of-file key does.
    pub async fn close(&mut self) -> Result<(), String> {
        self.check_input()?;
        self.request(&KeeperRequest::CloseInput).await
    }

    fn check_input(&self) -> Result<(), String> {
        match (self.read_only, self.takes_input) {
            (true, _) => Err(READ_ONLY.to_owned()),
            (_, false) => Err("this session takes no input".to_owned()),
            _ => Ok(()),
        }
    }

    /// Sets the size of the terminal. The first time, the program on it is made to redraw
    /// everything.
    pub async fn resize(&mut self, size: Size) -> Result<(), String> {
        if self.read_only {
            return Err(READ_ONLY.to_owned());
        }
        if !self.terminal {
            return Err("this session has no terminal".to_owned());
        }
        let Size { rows, columns } = size;
        if std::mem::replace(&mut self.sized, true) {
            self.size_at = None;
            return self.request(&KeeperRequest::Resize(size)).await;
        }
        self.size_at = Some((Instant::now() + REDRAW_DELAY, size));
        let other = if rows > 1 { rows - 1 } else { rows + 1 };
        self.request(&KeeperRequest::Resize(Size { rows: other, columns })).await
    }

    /// Sends what may be sent now.
    pub async fn send_pending(&mut self) -> Result<(), String> {
        if let Some((_, size)) = self.size_at.take_if(|(at, _)| *at <= Instant::now()) {
            self.request(&KeeperRequest::Resize(size)).await?;
        }
        while let Some(request) = self.input.next() {
            if let Err(why) = self.request(&request).await {
                self.input.refused();
                return Err(why);
            }
            self.input.sent(&request);
        }
        Ok(())
    }

    /// Waits for the keeper, or until the size is due; forever if neither is expected.
    pub async fn next_event(&mut self) -> InputEvent {
        let due = self.size_at.map(|(at, _)| at);
        let report = async {
            match &self.keeper {
                Some(keeper) => keeper.wait_for(|report, _| Some(report)).await,
                None => std::future::pending().await,
            }
        };
        let report = tokio::select! {
            report = report => report,
            () = async { sleep_until(due.unwrap_or_else(Instant::now)).await }, if due.is_some() => {
                return InputEvent::Ready;
            }
        };
        match report {
            Ok(KeeperReport::InputTaken(bytes)) => self.input.taken(bytes),
            Ok(_) => {}
            Err(KeeperRequestError::Refused(why)) => {
                self.input.refused();
                return InputEvent::Refused(why);
            }
            // The end of the launch is noticed elsewhere.
            Err(_) => self.keeper = None,
        }
        InputEvent::Ready
    }

    async fn request(&mut self, request: &KeeperRequest) -> Result<(), String> {
        let sent = async {
            let keeper = match &mut self.keeper {
                Some(keeper) => keeper,
                none => {
                    let keeper = KeeperConnection::connect(&self.folder)?;
                    drop(keeper.greet(PeerRole::Client).await?);
                    none.insert(keeper)
                }
            };
            keeper.send(request).await
        };
        let sent = timeout(KEEPER_TIMEOUT, sent).await;
        if !matches!(sent, Ok(Ok(()))) {
            self.keeper = None;
        }
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(KeeperRequestError::NotListening)) => {
                Err("the session is not running".to_owned())
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the keeper does not answer".to_owned()),
        }
    }
}
