//! Output as it is told: bytes, lines of JSON, or events.

use kennel_keeper::journal::{LossReason, STDERR, STDOUT};
use kennel_types::{Exit, Reason, SessionView};
use serde::Serialize;

use super::super::sse;
use super::mark::{Mark, Place};
use super::wish::Form;
use crate::os::clock;

/// Something that is told. Field names are stable: added to, never changed.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record<'a> {
    /// It was printed.
    Output {
        offset: u64,
        time: String,
        stream: &'static str,
        /// If it is UTF-8.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        /// If it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
    },
    /// Output is missing here.
    Gap { offset: u64, lost: Option<u64>, why: &'static str, text: String },
    /// That was all.
    End(End<'a>),
}

/// How it ended.
#[derive(Debug, Serialize)]
pub(in crate::http) struct End<'a> {
    session: &'a str,
    launch: &'a str,
    attempt: u32,
    exit: Option<&'a Exit>,
    exit_code: Option<i32>,
    reason: Option<&'a Reason>,
    ended_at: Option<&'a str>,
}

impl<'a> From<&'a SessionView> for End<'a> {
    fn from(view: &'a SessionView) -> Self {
        Self {
            session: &view.session,
            launch: &view.id,
            attempt: view.attempt,
            exit: view.exit.as_ref(),
            exit_code: view.exit_code,
            reason: view.reason.as_ref(),
            ended_at: view.ended_at.as_deref(),
        }
    }
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) offset: u64,
    pub(super) time_ms: u64,
    pub(super) stream: u8,
    pub(super) data: &'a [u8],
}

/// The beginning of a character whose rest has not come yet.
#[derive(Debug)]
struct Begun {
    offset: u64,
    time_ms: u64,
    stream: u8,
    data: Vec<u8>,
}

/// Writes what is told.
#[derive(Debug)]
pub(super) struct Teller {
    launch: String,
    form: Form,
    begun: Option<Begun>,
    /// What is written and not taken yet.
    written: Vec<u8>,
}

impl Teller {
    pub(super) fn new(launch: String, form: Form) -> Self {
        let written = if form == Form::Sse { sse::HELLO.into() } else { Vec::new() };
        Self { launch, form, begun: None, written }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// How much waits to be taken.
    pub(super) fn len(&self) -> usize {
        self.written.len()
    }

    /// What was written.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written)
    }

    /// Tells a piece of output. A character that is cut in two goes with its rest, if that follows at once.
    pub(super) fn output(&mut self, piece: &Piece<'_>) {
        if self.form == Form::Raw {
            self.written.extend(piece.data);
            return;
        }
        let Some(begun) = self.begun.take() else { return self.text(piece) };
        if begun.stream == piece.stream && begun.offset + begun.data.len() as u64 == piece.offset {
            let data = [begun.data.as_slice(), piece.data].concat();
            return self.text(&Piece { offset: begun.offset, data: &data, ..*piece });
        }
        self.begun = Some(begun);
        self.nothing_follows();
        self.text(piece);
    }

    fn text(&mut self, piece: &Piece<'_>) {
        match std::str::from_utf8(piece.data) {
            Ok(text) => self.piece(piece, Some(text)),
            Err(error) if error.error_len().is_none() => {
                let (whole, begun) = piece.data.split_at(error.valid_up_to());
                if let Ok(text) = std::str::from_utf8(whole)
                    && !text.is_empty()
                {
                    self.piece(&Piece { data: whole, ..*piece }, Some(text));
                }
                let offset = piece.offset + whole.len() as u64;
                let Piece { time_ms, stream, .. } = *piece;
                self.begun = Some(Begun { offset, time_ms, stream, data: begun.to_vec() });
            }
            Err(_) => self.piece(piece, None),
        }
    }

    /// Tells the beginning of a character as it is, if there is one.
    pub(super) fn nothing_follows(&mut self) {
        if let Some(Begun { offset, time_ms, stream, data }) = self.begun.take() {
            self.piece(&Piece { offset, time_ms, stream, data: &data }, None);
        }
    }

    fn piece(&mut self, piece: &Piece<'_>, text: Option<&str>) {
        let stream = match piece.stream {
            STDOUT => "stdout",
            STDERR => "stderr",
            _ => "terminal",
        };
        let hex = || piece.data.iter().map(|byte| format!("{byte:02x}")).collect();
        let (offset, time) = (piece.offset, clock::rfc3339(piece.time_ms));
        let hex = text.is_none().then(hex);
        let record = Record::Output { offset, time, stream, text, hex };
        self.record(Place::Offset(offset + piece.data.len() as u64), "output", &record);
    }

    /// Tells that output is missing; `next` is where it goes on.
    pub(super) fn gap(&mut self, offset: u64, lost: Option<u64>, why: LossReason, next: u64) {
        self.nothing_follows();
        let place = if next > offset { Place::Offset(next) } else { Place::AfterGap(next) };
        let (why, text) = (why.name(), why.to_string());
        self.record(place, "gap", &Record::Gap { offset, lost, why, text });
    }

    /// Tells that this was all.
    pub(super) fn end(&mut self, view: &SessionView) {
        self.nothing_follows();
        self.record(Place::End, "end", &Record::End(view.into()));
    }

    fn record(&mut self, place: Place, event: &str, record: &Record<'_>) {
        if self.form == Form::Raw {
            return;
        }
        let line = match serde_json::to_string(record) {
            Ok(line) => line,
            Err(error) => return tracing::error!(%error, "output can't be written as JSON"),
        };
        if self.form == Form::Sse {
            let id = Mark { launch: Some(self.launch.clone()), place }.to_string();
            sse::write(&mut self.written, &id, event, &line);
        } else {
            self.written.extend(line.as_bytes());
            self.written.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(teller: &mut Teller) -> Vec<serde_json::Value> {
        let text = String::from_utf8(teller.take()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn piece(offset: u64, stream: u8, data: &[u8]) -> Piece<'_> {
        Piece { offset, time_ms: 1, stream, data }
    }

    #[test]
    fn a_character_that_is_cut_in_two_goes_with_its_rest() {
        let mut teller = Teller::new("x".into(), Form::Ndjson);
        teller.output(&piece(0, STDOUT, b"a\xe2\x82"));
        teller.output(&piece(3, STDOUT, b"\xacb"));
        teller.output(&piece(5, STDOUT, b"\xe2"));
        teller.output(&piece(6, STDERR, b"c"));
        teller.output(&piece(7, STDOUT, b"\xff"));
        let told = told(&mut teller);
        let texts: Vec<_> =
            told.iter().map(|r| (r["offset"].as_u64().unwrap(), &r["text"], &r["hex"])).collect();
        let none = &serde_json::Value::Null;
        assert_eq!(
            texts,
            [
                (0, &"a".into(), none),
                (1, &"\u{20ac}b".into(), none),
                (5, none, &"e2".into()),
                (6, &"c".into(), none),
                (7, none, &"ff".into()),
            ]
        );
    }

    #[test]
    fn an_id_is_where_to_go_on() {
        let mut teller = Teller::new("x".into(), Form::Sse);
        assert_eq!(teller.take(), sse::HELLO.as_bytes());
        let mut id = |tell: &dyn Fn(&mut Teller)| {
            tell(&mut teller);
            let text = String::from_utf8(teller.take()).unwrap();
            text.lines().next().unwrap().to_owned()
        };
        assert_eq!(id(&|teller| teller.output(&piece(5, STDOUT, b"ab\xe2"))), "id: x:7");
        assert_eq!(id(&|teller| teller.nothing_follows()), "id: x:8");
        assert_eq!(id(&|teller| teller.gap(8, Some(4), LossReason::Dropped, 12)), "id: x:12");
        assert_eq!(id(&|teller| teller.gap(12, None, LossReason::KeeperDied, 12)), "id: x:12+");
    }

    #[test]
    fn raw_is_the_bytes_alone() {
        let mut teller = Teller::new("x".into(), Form::Raw);
        teller.output(&piece(0, STDOUT, b"\xff\n"));
        teller.gap(2, None, LossReason::Damaged, 2);
        teller.output(&piece(2, STDERR, b"e"));
        assert_eq!(teller.take(), b"\xff\ne");
    }
}
