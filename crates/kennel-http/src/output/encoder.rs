//! Encodes output as bytes, lines of JSON, or events.

use kennel_daemon::clock;
use kennel_keeper::journal::{LossReason, STDERR, STDOUT};
use kennel_types::{Exit, Reason, SessionView};
use serde::Serialize;

use super::query::OutputEncoding;
use crate::stream::resume_position::{OutputPoint, ResumePosition};
use crate::stream::sse;

/// One record of the response. Fields may be added; names never change.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputRecord<'a> {
    Output {
        offset: u64,
        time: String,
        stream: &'static str,
        /// Set if the output is UTF-8.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        /// Set if it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        hex: Option<String>,
    },
    /// Output is missing here.
    Gap { offset: u64, lost: Option<u64>, why: &'static str, text: String },
    /// The launch has ended, and all output was sent.
    End(EndRecord<'a>),
}

#[derive(Debug, Serialize)]
pub(crate) struct EndRecord<'a> {
    session: &'a str,
    launch: &'a str,
    attempt: u32,
    exit: Option<&'a Exit>,
    exit_code: Option<i32>,
    reason: Option<&'a Reason>,
    ended_at: Option<&'a str>,
}

impl<'a> From<&'a SessionView> for EndRecord<'a> {
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputChunk<D> {
    pub(super) offset: u64,
    pub(super) time_ms: u64,
    pub(super) stream: u8,
    pub(super) data: D,
}

#[derive(Debug)]
pub(super) struct OutputEncoder {
    launch: String,
    format: OutputEncoding,
    /// The first bytes of a character whose other bytes have not been printed yet.
    partial: Option<OutputChunk<Vec<u8>>>,
    written: Vec<u8>,
}

impl OutputEncoder {
    pub(super) fn new(launch: String, format: OutputEncoding) -> Self {
        let written = if format == OutputEncoding::Sse { sse::RETRY.into() } else { Vec::new() };
        Self { launch, format, partial: None, written }
    }

    pub(super) fn format(&self) -> OutputEncoding {
        self.format
    }

    /// Returns the number of bytes that [`Self::take`] would return.
    pub(super) fn len(&self) -> usize {
        self.written.len()
    }

    /// Returns the bytes that were written since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.written)
    }

    /// Encodes a chunk. A character that is split between two consecutive chunks goes into the second one.
    pub(super) fn output(&mut self, chunk: &OutputChunk<&[u8]>) {
        if self.format == OutputEncoding::Raw {
            self.written.extend(chunk.data);
            return;
        }
        let Some(partial) = self.partial.take() else { return self.text(chunk) };
        let next = partial.offset + partial.data.len() as u64;
        if partial.stream == chunk.stream && next == chunk.offset {
            let data = [partial.data.as_slice(), chunk.data].concat();
            return self.text(&OutputChunk { offset: partial.offset, data: &data, ..*chunk });
        }
        self.partial = Some(partial);
        self.flush_partial();
        self.text(chunk);
    }

    fn text(&mut self, chunk: &OutputChunk<&[u8]>) {
        match std::str::from_utf8(chunk.data) {
            Ok(text) => self.chunk(chunk, Some(text)),
            Err(error) if error.error_len().is_none() => {
                let (whole, partial) = chunk.data.split_at(error.valid_up_to());
                if let Ok(text) = std::str::from_utf8(whole)
                    && !text.is_empty()
                {
                    self.chunk(&OutputChunk { data: whole, ..*chunk }, Some(text));
                }
                let offset = chunk.offset + whole.len() as u64;
                let OutputChunk { time_ms, stream, .. } = *chunk;
                let data = partial.to_vec();
                self.partial = Some(OutputChunk { offset, time_ms, stream, data });
            }
            Err(_) => self.chunk(chunk, None),
        }
    }

    /// Encodes the first bytes of an incomplete character as they are, because the rest does not follow.
    pub(super) fn flush_partial(&mut self) {
        if let Some(OutputChunk { offset, time_ms, stream, data }) = self.partial.take() {
            self.chunk(&OutputChunk { offset, time_ms, stream, data: &data }, None);
        }
    }

    fn chunk(&mut self, chunk: &OutputChunk<&[u8]>, text: Option<&str>) {
        let stream = match chunk.stream {
            STDOUT => "stdout",
            STDERR => "stderr",
            _ => "terminal",
        };
        let hex = || chunk.data.iter().map(|byte| format!("{byte:02x}")).collect();
        let (offset, time) = (chunk.offset, clock::rfc3339(chunk.time_ms));
        let hex = text.is_none().then(hex);
        let record = OutputRecord::Output { offset, time, stream, text, hex };
        self.record(OutputPoint::Offset(offset + chunk.data.len() as u64), "output", &record);
    }

    /// Encodes a gap; `next` is the offset at which the output continues.
    pub(super) fn gap(&mut self, offset: u64, lost: Option<u64>, why: LossReason, next: u64) {
        self.flush_partial();
        let point = if next > offset { OutputPoint::Offset } else { OutputPoint::AfterGap };
        let (why, text) = (why.name(), why.to_string());
        self.record(point(next), "gap", &OutputRecord::Gap { offset, lost, why, text });
    }

    pub(super) fn end(&mut self, view: &SessionView) {
        self.flush_partial();
        self.record(OutputPoint::End, "end", &OutputRecord::End(view.into()));
    }

    fn record(&mut self, point: OutputPoint, event: &str, record: &OutputRecord<'_>) {
        if self.format == OutputEncoding::Raw {
            return;
        }
        let line = match serde_json::to_string(record) {
            Ok(line) => line,
            Err(error) => return tracing::error!(%error, "can't encode output as JSON"),
        };
        if self.format == OutputEncoding::Sse {
            let id = ResumePosition { launch: Some(self.launch.clone()), point }.to_string();
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

    fn records(encoder: &mut OutputEncoder) -> Vec<serde_json::Value> {
        let text = String::from_utf8(encoder.take()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn chunk(offset: u64, stream: u8, data: &[u8]) -> OutputChunk<&[u8]> {
        OutputChunk { offset, time_ms: 1, stream, data }
    }

    #[test]
    fn joins_a_character_that_is_split_between_chunks() {
        let mut encoder = OutputEncoder::new("x".into(), OutputEncoding::Ndjson);
        encoder.output(&chunk(0, STDOUT, b"a\xe2\x82"));
        encoder.output(&chunk(3, STDOUT, b"\xacb"));
        encoder.output(&chunk(5, STDOUT, b"\xe2"));
        encoder.output(&chunk(6, STDERR, b"c"));
        encoder.output(&chunk(7, STDOUT, b"\xff"));
        let records = records(&mut encoder);
        let texts: Vec<_> = records
            .iter()
            .map(|r| (r["offset"].as_u64().unwrap(), &r["text"], &r["hex"]))
            .collect();
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
    fn an_id_is_the_position_to_resume_at() {
        let mut encoder = OutputEncoder::new("x".into(), OutputEncoding::Sse);
        assert_eq!(encoder.take(), sse::RETRY.as_bytes());
        let mut id = |encode: &dyn Fn(&mut OutputEncoder)| {
            encode(&mut encoder);
            let text = String::from_utf8(encoder.take()).unwrap();
            text.lines().next().unwrap().to_owned()
        };
        assert_eq!(id(&|encoder| encoder.output(&chunk(5, STDOUT, b"ab\xe2"))), "id: x:7");
        assert_eq!(id(&|encoder| encoder.flush_partial()), "id: x:8");
        assert_eq!(id(&|encoder| encoder.gap(8, Some(4), LossReason::Dropped, 12)), "id: x:12");
        assert_eq!(id(&|encoder| encoder.gap(12, None, LossReason::KeeperDied, 12)), "id: x:12+");
    }

    #[test]
    fn raw_output_is_the_bytes_alone() {
        let mut encoder = OutputEncoder::new("x".into(), OutputEncoding::Raw);
        encoder.output(&chunk(0, STDOUT, b"\xff\n"));
        encoder.gap(2, None, LossReason::Damaged, 2);
        encoder.output(&chunk(2, STDERR, b"e"));
        assert_eq!(encoder.take(), b"\xff\ne");
    }
}
