//! What a client types, on its way to the session's keeper.

use std::path::PathBuf;
use std::time::Duration;

use kennel_keeper::attach::TypedInput;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use kennel_pen::Size;
use kennel_types::SessionView;
use tokio::time::{Instant, sleep_until, timeout};

use crate::keeper::request::{KeeperConnection, KeeperRequestError};

/// How long a keeper may take to greet, or to take a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the agent's terminal has another size, so that a program on it draws everything anew.
const JIGGLE: Duration = Duration::from_millis(80);

/// See the module.
#[derive(Debug)]
pub(super) struct Typist {
    folder: PathBuf,
    terminal: bool,
    /// Whether there is anything to type into.
    open: bool,
    read_only: bool,
    /// From the first word on: who only looks on needs none, and a keeper has few places.
    keeper: Option<KeeperConnection>,
    input: TypedInput,
    /// Whether the size was told before.
    sized: bool,
    /// The true size, and when to tell it.
    size_at: Option<(Instant, Size)>,
}

/// What a keeper says, or that it is time to tell it something.
#[derive(Debug)]
pub(super) enum News {
    /// Some input went on, or the size is due: what waits may be sent.
    MayGoOn,
    /// Something was refused.
    Refused(String),
}

impl Typist {
    pub(super) fn new(view: &SessionView, read_only: bool) -> Self {
        let terminal = view.spec.terminal.is_some();
        Self {
            folder: PathBuf::from(&view.folder),
            terminal,
            open: terminal || view.spec.stdin,
            read_only,
            keeper: None,
            input: TypedInput::default(),
            sized: false,
            size_at: None,
        }
    }

    /// Whether the client may send more: else it has to wait.
    pub(super) fn wants_more(&self) -> bool {
        self.input.wants_more()
    }

    /// Something was typed.
    pub(super) async fn type_in(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.may_type()?;
        self.input.add(bytes);
        self.go_on().await
    }

    /// There is no more input: what a terminal has for it is a key.
    pub(super) async fn end(&mut self) -> Result<(), String> {
        self.may_type()?;
        self.say(&KeeperRequest::CloseInput).await
    }

    fn may_type(&self) -> Result<(), String> {
        match (self.read_only, self.open) {
            (true, _) => Err("you only look on".to_owned()),
            (_, false) => Err("it takes no input".to_owned()),
            _ => Ok(()),
        }
    }

    /// The client's window has this size. The first time a program on the terminal is made to draw everything anew.
    pub(super) async fn resize(&mut self, size: Size) -> Result<(), String> {
        if self.read_only {
            return Err("you only look on".to_owned());
        }
        if !self.terminal {
            return Err("it has no terminal".to_owned());
        }
        let Size { rows, columns } = size;
        if std::mem::replace(&mut self.sized, true) {
            self.size_at = None;
            return self.say(&KeeperRequest::Resize(size)).await;
        }
        self.size_at = Some((Instant::now() + JIGGLE, size));
        let other = if rows > 1 { rows - 1 } else { rows + 1 };
        self.say(&KeeperRequest::Resize(Size { rows: other, columns })).await
    }

    /// Sends what may be sent now.
    pub(super) async fn go_on(&mut self) -> Result<(), String> {
        if let Some((_, size)) = self.size_at.take_if(|(at, _)| *at <= Instant::now()) {
            self.say(&KeeperRequest::Resize(size)).await?;
        }
        while let Some(request) = self.input.next() {
            if let Err(why) = self.say(&request).await {
                self.input.refused();
                return Err(why);
            }
            self.input.sent(&request);
        }
        Ok(())
    }

    /// Waits for the keeper to say something, or for the time to tell it something. Never comes without either.
    pub(super) async fn news(&mut self) -> News {
        let due = self.size_at.map(|(at, _)| at);
        let heard = async {
            match &self.keeper {
                Some(keeper) => keeper.hear(|report, _| Some(report)).await,
                None => std::future::pending().await,
            }
        };
        let heard = tokio::select! {
            heard = heard => heard,
            () = async { sleep_until(due.unwrap_or_else(Instant::now)).await }, if due.is_some() => {
                return News::MayGoOn;
            }
        };
        match heard {
            Ok(KeeperReport::InputTaken(bytes)) => self.input.taken(bytes),
            Ok(_) => {}
            Err(KeeperRequestError::Refused(why)) => {
                self.input.refused();
                return News::Refused(why);
            }
            // That it has gone is heard where its end is.
            Err(_) => self.keeper = None,
        }
        News::MayGoOn
    }

    async fn say(&mut self, request: &KeeperRequest) -> Result<(), String> {
        let said = async {
            let keeper = match &mut self.keeper {
                Some(keeper) => keeper,
                none => {
                    let keeper = KeeperConnection::begin(&self.folder)?;
                    drop(keeper.greet(PeerRole::Client).await?);
                    none.insert(keeper)
                }
            };
            keeper.say(request).await
        };
        let said = timeout(PATIENCE, said).await;
        if !matches!(said, Ok(Ok(()))) {
            self.keeper = None;
        }
        match said {
            Ok(Ok(())) => Ok(()),
            Ok(Err(KeeperRequestError::NobodyListens)) => {
                Err("the session does not run".to_owned())
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the keeper does not answer".to_owned()),
        }
    }
}
