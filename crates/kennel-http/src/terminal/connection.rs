//! One attached client.

use std::io;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use kennel_daemon::{InputEvent, LaunchEnd, LaunchWatch, TerminalInput, journal_folder};
use kennel_keeper::attach::screen_of;
use kennel_keeper::journal::{JournalItem, JournalReader};
use kennel_pen::Size;
use kennel_types::SessionView;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::messages::{ClientMessage, CloseReason, ServerMessage};
use super::{TerminalQuery, TerminalReplay};
use crate::api::Api;
use crate::stream::{ReadState, ws_events};

/// The number of lines of earlier output to send if the session has no terminal.
const TAIL_LINES: usize = 10;
/// The approximate number of bytes to read at once, and the maximum size of a binary frame.
const CHUNK: usize = 32 * 1024;
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long a client may be silent.
const PING_TIMEOUT: Duration = Duration::from_secs(65);

pub(super) struct TerminalConnection {
    api: Api,
    view: SessionView,
    query: TerminalQuery,
    socket: WebSocket,
    watch: watch::Receiver<LaunchWatch>,
    input: TerminalInput,
    /// `None` during a read.
    reader: Option<JournalReader>,
    ping_at: Instant,
    received_at: Instant,
}

impl TerminalConnection {
    pub(super) fn new(
        api: Api,
        view: SessionView,
        query: TerminalQuery,
        socket: WebSocket,
    ) -> Self {
        // Watch the launch before the journal is read, so that no later output is missed.
        let watch = api.daemon.watch_launch(&view.id);
        let input = TerminalInput::new(&view, query.read_only);
        let now = Instant::now();
        let ping_at = now + PING_INTERVAL;
        Self { api, view, query, socket, watch, input, reader: None, ping_at, received_at: now }
    }

    /// Serves until the session ends, the client disconnects, or the daemon shuts down.
    pub(super) async fn serve(mut self) {
        let reason = match self.run().await {
            Ok(reason) | Err(reason) => reason,
        };
        tracing::debug!(session = %self.view.id, ?reason, "a client has detached");
        if reason != CloseReason::Disconnected {
            ws_events::close(&mut self.socket, reason.frame()).await;
        }
    }

    async fn run(&mut self) -> Result<CloseReason, CloseReason> {
        self.begin().await?;
        let daemon = self.api.daemon.clone();
        let shutdown = daemon.shutdown_signal();
        loop {
            if *shutdown.borrow() {
                return Ok(CloseReason::SHUTDOWN);
            }
            // Check this before the read, so that all output of an ended launch is read after its end is known.
            let end = self.watch.borrow_and_update().end.clone();
            if self.send_output().await? == ReadState::More {
                // Input must not wait until a flood of output ends.
                tokio::select! {
                    biased;
                    received = self.socket.recv(), if self.input.wants_more() => {
                        self.receive(received).await?;
                    }
                    () = std::future::ready(()) => {}
                }
                continue;
            }
            if let Some(end) = end {
                let outcome = match &end {
                    LaunchEnd::Ended(view) => Some((&**view).into()),
                    LaunchEnd::Removed => None,
                };
                send(&mut self.socket, &ServerMessage::Ended { outcome }).await?;
                return Ok(CloseReason::SESSION_ENDED);
            }
            let wants_more = self.input.wants_more();
            tokio::select! {
                received = self.socket.recv(), if wants_more => self.receive(received).await?,
                event = self.input.next_event() => {
                    let sent = match event {
                        InputEvent::Ready => self.input.send_pending().await,
                        InputEvent::Refused(why) => Err(why),
                    };
                    self.report_refusal(sent).await?;
                }
                // The channel closed before the end: the daemon is shutting down.
                changed = self.watch.changed() => {
                    if changed.is_err() {
                        return Ok(CloseReason::SHUTDOWN);
                    }
                }
                () = daemon.shutting_down() => return Ok(CloseReason::SHUTDOWN),
                () = sleep_until(self.ping_at) => self.ping(wants_more).await?,
            }
        }
    }

    /// Sends the first message and the earlier output that the client requested.
    async fn begin(&mut self) -> Result<(), CloseReason> {
        let journal = journal_folder(&self.view);
        let terminal = self.view.spec.terminal.is_some();
        let TerminalQuery { from, replay, tail, read_only, .. } = self.query;
        let opened = self.api.streams.on_disk(move || {
            let mut reader = JournalReader::open(&journal)?;
            let mut screen = Vec::new();
            match (from, tail, replay) {
                (Some(from), ..) => reader.seek(from)?,
                (_, Some(lines), _) => reader.seek_tail(lines)?,
                (.., Some(TerminalReplay::All)) => {
                    let start = reader.start()?;
                    reader.seek(start)?;
                }
                (.., Some(TerminalReplay::None)) => reader.seek_tail(0)?,
                (.., Some(TerminalReplay::Screen)) => screen = screen_of(&mut reader)?.0,
                (.., None) if terminal => screen = screen_of(&mut reader)?.0,
                (.., None) => reader.seek_tail(TAIL_LINES)?,
            }
            Ok((reader, screen))
        });
        let (reader, screen) = opened.await.map_err(unreadable)?;
        let attached = ServerMessage::Attached {
            session: &self.view.session,
            launch: &self.view.id,
            terminal,
            read_only,
            replay: screen.len(),
            offset: reader.position(),
        };
        send(&mut self.socket, &attached).await?;
        self.reader = Some(reader);
        for chunk in screen.chunks(CHUNK) {
            self.socket.send(Message::Binary(chunk.to_vec().into())).await?;
        }
        if let (Some(columns), Some(rows)) = (self.query.cols, self.query.rows)
            && columns > 0
            && rows > 0
            && !read_only
            && terminal
        {
            let resized = self.input.resize(Size { rows, columns }).await;
            self.report_refusal(resized).await?;
        }
        Ok(())
    }

    async fn send_output(&mut self) -> Result<ReadState, CloseReason> {
        let reader = self.reader.take();
        let mut reader = reader.ok_or_else(|| CloseReason::failed("no output to read"))?;
        let read = self.api.streams.on_disk(move || {
            let read = read(&mut reader)?;
            Ok((reader, read))
        });
        let (reader, (messages, state)) = read.await.map_err(unreadable)?;
        self.reader = Some(reader);
        for message in messages {
            self.socket.send(message).await?;
        }
        Ok(state)
    }

    async fn receive(
        &mut self,
        received: Option<Result<Message, axum::Error>>,
    ) -> Result<(), CloseReason> {
        let Some(message) = received else { return Err(CloseReason::Disconnected) };
        let message = message?;
        self.received_at = Instant::now();
        let sent = match message {
            Message::Binary(bytes) => self.input.type_bytes(&bytes).await,
            Message::Text(text) => match ClientMessage::parse(&text)? {
                ClientMessage::Input { text } => self.input.type_bytes(text.as_bytes()).await,
                ClientMessage::Eof => self.input.close().await,
                ClientMessage::Resize { cols, rows } => {
                    self.input.resize(Size { rows, columns: cols }).await
                }
            },
            // The library responds to pings.
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return Err(CloseReason::ByClient),
        };
        self.report_refusal(sent).await
    }

    /// Reports input that did not reach the session.
    async fn report_refusal(&mut self, sent: Result<(), String>) -> Result<(), CloseReason> {
        match sent {
            Ok(()) => Ok(()),
            Err(why) => send(&mut self.socket, &ServerMessage::Refused { why }).await,
        }
    }

    /// Pings the client. Ignores its silence while the server does not read, because the session accepts no input.
    async fn ping(&mut self, reading: bool) -> Result<(), CloseReason> {
        let now = Instant::now();
        if !reading {
            self.received_at = now;
        } else if now.duration_since(self.received_at) > PING_TIMEOUT {
            return Err(CloseReason::PING_TIMEOUT);
        }
        self.ping_at = now + PING_INTERVAL;
        Ok(self.socket.send(Message::Ping(Vec::new().into())).await?)
    }
}

async fn send(socket: &mut WebSocket, message: &ServerMessage<'_>) -> Result<(), CloseReason> {
    let text = message.to_text().map_err(|error| CloseReason::failed(error.to_string()))?;
    Ok(socket.send(text).await?)
}

fn unreadable(error: io::Error) -> CloseReason {
    CloseReason::failed(format!("can't read the output: {error}"))
}

/// Reads some output, as messages for the client. Blocks on the disk.
fn read(reader: &mut JournalReader) -> io::Result<(Vec<Message>, ReadState)> {
    let (mut messages, mut bytes) = (Vec::new(), Vec::new());
    let flush = |messages: &mut Vec<Message>, bytes: &mut Vec<u8>| {
        if !bytes.is_empty() {
            messages.push(Message::Binary(std::mem::take(bytes).into()));
        }
    };
    let state = loop {
        if bytes.len() >= CHUNK {
            break ReadState::More;
        }
        match reader.next()? {
            JournalItem::Data { data, .. } => bytes.extend(data),
            JournalItem::Gap { offset, lost, why } => {
                flush(&mut messages, &mut bytes);
                let (why, text) = (why.name(), why.to_string());
                messages.push(ServerMessage::Gap { offset, lost, why, text }.to_text()?);
            }
            JournalItem::End => break ReadState::CaughtUp,
        }
    };
    flush(&mut messages, &mut bytes);
    Ok((messages, state))
}
