//! One client in front of a session.

use std::io;
use std::path::Path;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use kennel_keeper::attach::screen_of;
use kennel_keeper::journal::{JournalItem, JournalReader, LossReason};
use kennel_pen::Size;
use kennel_types::SessionView;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::super::Api;
use super::super::output::on_disk;
use super::super::pulse::{Over, Pulse};
use super::super::socket::part;
use super::closing::Closing;
use super::control::{Say, Told};
use super::typist::{News, Typist};
use super::{Manner, Replay};
use crate::os::home::JOURNAL;

/// How much of the past is shown of a session without a terminal, in lines.
const TAIL: usize = 10;
/// About how much is read at once, and the longest frame of bytes.
const PIECE: usize = 32 * 1024;
/// How often the client is asked whether it is there.
const PING: Duration = Duration::from_secs(20);
/// How long it may take to say anything at all.
const SILENCE: Duration = Duration::from_secs(65);

/// See the module.
pub(super) struct Seat {
    api: Api,
    view: SessionView,
    manner: Manner,
    socket: WebSocket,
    pulse: watch::Receiver<Pulse>,
    typist: Typist,
    /// None while it is read.
    reader: Option<JournalReader>,
    ping_at: Instant,
    heard_at: Instant,
}

/// Some output.
#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Gap { offset: u64, lost: Option<u64>, why: LossReason },
}

/// Whether there is more to read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    More,
    NothingNow,
}

impl Seat {
    pub(super) fn new(api: Api, view: SessionView, manner: Manner, socket: WebSocket) -> Self {
        // Before the first look, so that nothing that is printed meanwhile goes unnoticed.
        let pulse = api.0.live.pulses.follow(&api, &view.id);
        let typist = Typist::new(&view, manner.read_only);
        let now = Instant::now();
        let ping_at = now + PING;
        Self { api, view, manner, socket, pulse, typist, reader: None, ping_at, heard_at: now }
    }

    /// Stays until the session has ended, the client goes, or the daemon does.
    pub(super) async fn attend(mut self) {
        let closing = match self.stay().await {
            Ok(closing) | Err(closing) => closing,
        };
        tracing::debug!(session = %self.view.id, ?closing, "one who was attached has left");
        if closing == Closing::Gone {
            return;
        }
        part(&mut self.socket, closing.frame()).await;
    }

    async fn stay(&mut self) -> Result<Closing, Closing> {
        self.begin().await?;
        let mut leaving = self.api.0.leaving.clone();
        loop {
            if *leaving.borrow() {
                return Ok(Closing::Leaving);
            }
            // Before the read: what was printed before the end is read after it.
            let over = self.pulse.borrow_and_update().over.clone();
            let left = self.show_more().await?;
            if left == Left::More {
                // A key must not wait for the end of a flood.
                tokio::select! {
                    biased;
                    heard = self.socket.recv(), if self.typist.wants_more() => self.heard(heard).await?,
                    () = std::future::ready(()) => {}
                }
                continue;
            }
            if let Some(over) = over {
                let outcome = match &over {
                    Over::Ended(view) => Some((&**view).into()),
                    Over::Removed => None,
                };
                send(&mut self.socket, &Say::Ended { outcome }).await?;
                return Ok(Closing::Done);
            }
            let wants_more = self.typist.wants_more();
            tokio::select! {
                heard = self.socket.recv(), if wants_more => self.heard(heard).await?,
                news = self.typist.news() => self.news(news).await?,
                // Closed without an end: we leave.
                changed = self.pulse.changed() => if changed.is_err() { return Ok(Closing::Leaving) },
                () = we_leave(&mut leaving) => return Ok(Closing::Leaving),
                () = sleep_until(self.ping_at) => self.ping(wants_more).await?,
            }
        }
    }

    /// Says how things are, and shows what was before.
    async fn begin(&mut self) -> Result<(), Closing> {
        let journal = Path::new(&self.view.folder).join(JOURNAL);
        let terminal = self.view.spec.terminal.is_some();
        let Manner { from, replay, tail, read_only, .. } = self.manner;
        let opened = on_disk(&self.api, move || {
            let mut reader = JournalReader::open(&journal)?;
            let mut shown = Vec::new();
            match (from, tail, replay) {
                (Some(from), ..) => reader.seek(from)?,
                (_, Some(lines), _) => reader.seek_tail(lines)?,
                (.., Some(Replay::All)) => {
                    let start = reader.start()?;
                    reader.seek(start)?;
                }
                (.., Some(Replay::None)) => reader.seek_tail(0)?,
                (.., Some(Replay::Screen)) => shown = screen_of(&mut reader)?.0,
                (.., None) if terminal => shown = screen_of(&mut reader)?.0,
                (.., None) => reader.seek_tail(TAIL)?,
            }
            Ok((reader, shown))
        });
        let (reader, shown) = opened.await.map_err(unreadable)?;
        let attached = Say::Attached {
            session: &self.view.session,
            launch: &self.view.id,
            terminal,
            read_only,
            replay: shown.len(),
            offset: reader.position(),
        };
        send(&mut self.socket, &attached).await?;
        self.reader = Some(reader);
        for piece in shown.chunks(PIECE) {
            self.socket.send(Message::Binary(piece.to_vec().into())).await?;
        }
        if let (Some(columns), Some(rows)) = (self.manner.cols, self.manner.rows)
            && columns > 0
            && rows > 0
            && !read_only
            && terminal
        {
            let resized = self.typist.resize(Size { rows, columns }).await;
            self.refuse(resized).await?;
        }
        Ok(())
    }

    /// Shows some of what was printed.
    async fn show_more(&mut self) -> Result<Left, Closing> {
        let reader = self.reader.take();
        let mut reader = reader.ok_or_else(|| Closing::Failed("nothing can be read".into()))?;
        let read = on_disk(&self.api, move || {
            let read = read(&mut reader)?;
            Ok((reader, read))
        });
        let (reader, (pieces, left)) = read.await.map_err(unreadable)?;
        self.reader = Some(reader);
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => self.socket.send(Message::Binary(bytes.into())).await?,
                Piece::Gap { offset, lost, why } => {
                    let (why, text) = (why.name(), why.to_string());
                    send(&mut self.socket, &Say::Gap { offset, lost, why, text }).await?;
                }
            }
        }
        Ok(left)
    }

    /// The client says something, or has gone.
    async fn heard(&mut self, heard: Option<Result<Message, axum::Error>>) -> Result<(), Closing> {
        let Some(message) = heard else { return Err(Closing::Gone) };
        let message = message?;
        self.heard_at = Instant::now();
        let done = match message {
            Message::Binary(bytes) => self.typist.type_in(&bytes).await,
            Message::Text(text) => match Told::read(&text)? {
                Told::Input { text } => self.typist.type_in(text.as_bytes()).await,
                Told::Eof => self.typist.end().await,
                Told::Resize { cols, rows } => {
                    self.typist.resize(Size { rows, columns: cols }).await
                }
            },
            // Pings are answered by themselves.
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return Err(Closing::Bye),
        };
        self.refuse(done).await
    }

    async fn news(&mut self, news: News) -> Result<(), Closing> {
        let done = match news {
            News::MayGoOn => self.typist.go_on().await,
            News::Refused(why) => Err(why),
        };
        self.refuse(done).await
    }

    /// Says what did not go on to the session.
    async fn refuse(&mut self, done: Result<(), String>) -> Result<(), Closing> {
        match done {
            Ok(()) => Ok(()),
            Err(why) => send(&mut self.socket, &Say::Refused { why }).await,
        }
    }

    /// Asks whether the client is there; one that is not heard because the session takes no more is not blamed.
    async fn ping(&mut self, listening: bool) -> Result<(), Closing> {
        let now = Instant::now();
        if !listening {
            self.heard_at = now;
        } else if now.duration_since(self.heard_at) > SILENCE {
            return Err(Closing::Silent);
        }
        self.ping_at = now + PING;
        Ok(self.socket.send(Message::Ping(Vec::new().into())).await?)
    }
}

/// Comes when the daemon leaves.
async fn we_leave(leaving: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    drop(leaving.wait_for(|leaving| *leaving).await);
}

async fn send(socket: &mut WebSocket, say: &Say<'_>) -> Result<(), Closing> {
    let text = serde_json::to_string(say).map_err(|error| Closing::Failed(error.to_string()))?;
    Ok(socket.send(Message::Text(text.into())).await?)
}

fn unreadable(error: io::Error) -> Closing {
    Closing::Failed(format!("the output can't be read: {error}"))
}

/// Reads some. Blocks on the disk.
fn read(reader: &mut JournalReader) -> io::Result<(Vec<Piece>, Left)> {
    let (mut pieces, mut bytes) = (Vec::new(), Vec::new());
    let put = |pieces: &mut Vec<Piece>, bytes: &mut Vec<u8>| {
        if !bytes.is_empty() {
            pieces.push(Piece::Bytes(std::mem::take(bytes)));
        }
    };
    let left = loop {
        if bytes.len() >= PIECE {
            break Left::More;
        }
        match reader.next()? {
            JournalItem::Data { data, .. } => bytes.extend(data),
            JournalItem::Gap { offset, lost, why } => {
                put(&mut pieces, &mut bytes);
                pieces.push(Piece::Gap { offset, lost, why });
            }
            JournalItem::End => break Left::NothingNow,
        }
    };
    put(&mut pieces, &mut bytes);
    Ok((pieces, left))
}
