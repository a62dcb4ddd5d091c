//! Reads the output of an agent while it arrives.

use kennel_types::{Judged, Work};

use crate::agent_event::AgentEvent;
use crate::attempt_end::AttemptEnd;
use crate::excerpt::{Excerpt, without_colors};
use crate::judge;
use crate::lines::{LineSplitter, MAX_LINE_BYTES, SplitLine};
use crate::output_format::{KeptOutput, OutputFormat};
use crate::parse_state::{ParseState, Recorder};

/// The longest line of standard error that is parsed. Longer ones are still kept as evidence.
const MAX_ERROR_LINE_BYTES: usize = 64 << 10;

/// An output stream of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The result of an attempt at a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedAttempt {
    /// The verdict, with what is known about the attempt.
    pub judged: Judged,
    /// The agent's answer; its latest text if the attempt didn't succeed.
    pub answer: Option<String>,
}

/// Reads the output of one attempt, in pieces of any size, and judges it at the end.
///
/// Its memory doesn't grow with the output: it holds at most one line and the answer, each of at
/// most [`MAX_LINE_BYTES`], and a few kilobytes of evidence.
pub struct OutputReader {
    format: Box<dyn OutputFormat>,
    stdout: LineSplitter,
    stderr: LineSplitter,
    /// What is kept of standard error.
    errors: Excerpt,
    /// Whether the start of the next line may be missing.
    torn: bool,
    state: ParseState,
}

impl std::fmt::Debug for OutputReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputReader").field("state", &self.state).finish_non_exhaustive()
    }
}

impl OutputReader {
    pub(crate) fn new(format: Box<dyn OutputFormat>) -> Self {
        Self {
            format,
            stdout: LineSplitter::new(MAX_LINE_BYTES),
            stderr: LineSplitter::new(MAX_ERROR_LINE_BYTES),
            errors: Excerpt::default(),
            torn: false,
            state: ParseState::default(),
        }
    }

    /// Reads the next bytes of a stream, and emits the events in them.
    pub fn read(
        &mut self,
        stream: OutputStream,
        bytes: &[u8],
        emit: &mut dyn FnMut(AgentEvent<'_>),
    ) {
        let Self { format, stdout, stderr, errors, torn, state } = self;
        let mut recorder = Recorder { state, sink: emit };
        match stream {
            OutputStream::Stdout => stdout.read(bytes, &mut |next| match next {
                SplitLine::Whole(line) => read_line(&mut **format, line, torn, &mut recorder),
                SplitLine::TooLong(line) => {
                    recorder.state.note_gap();
                    recorder.state.add_unknown_line(line);
                    recorder.emit(AgentEvent::Notice {
                        text: "skipped a line of output that is too long",
                    });
                }
            }),
            OutputStream::Stderr => {
                errors.add(bytes);
                stderr.read(bytes, &mut |next| {
                    if let SplitLine::Whole(line) = next {
                        let line = without_colors(&String::from_utf8_lossy(line));
                        format.parse_error_line(&line, &mut recorder);
                    }
                });
            }
        }
    }

    /// Records that this many bytes of the output are missing. Reading resumes at the next whole
    /// line. The missing part may have reported a tool, so it is no longer certain that none ran.
    pub fn lost(&mut self, bytes: u64) {
        if bytes > 0 {
            self.state.note_gap();
            self.torn = true;
            self.stdout.lost();
            self.stderr.lost();
        }
    }

    /// Returns whether the agent has reported its result and nothing after it. Its process may
    /// still run.
    ///
    /// To stop it now, kill it: some agents start another turn when they get a signal.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.state.outcome.is_some()
    }

    /// Judges the attempt after the end of its output.
    #[must_use]
    pub fn finish(
        mut self,
        end: &AttemptEnd,
        emit: &mut dyn FnMut(AgentEvent<'_>),
    ) -> FinishedAttempt {
        let mut recorder = Recorder { state: &mut self.state, sink: emit };
        if let Some(line) = self.stdout.rest() {
            // A line without a newline may be complete. If it isn't, it is an unknown line.
            read_line(&mut *self.format, line, &mut self.torn, &mut recorder);
        }
        if let Some(line) = self.stderr.rest() {
            let line = without_colors(&String::from_utf8_lossy(line));
            self.format.parse_error_line(&line, &mut recorder);
        }
        let Self { format, errors, state, .. } = self;
        let (stdout, stderr) = (state.unknown_lines.text(), errors.text());
        let output = KeptOutput { stdout: &stdout, stderr: &stderr };
        let judged = judge::judge(&*format, &state, &output, end);
        let work = work(&*format, &state, end, judged.failed_start);
        FinishedAttempt {
            judged: Judged {
                verdict: judged.verdict,
                conversation: state.conversation,
                usage: state.usage,
                work,
                turns: state.turns,
                tools: state.tools,
            },
            answer: state.answer,
        }
    }
}

fn read_line(
    format: &mut dyn OutputFormat,
    line: &[u8],
    torn: &mut bool,
    recorder: &mut Recorder<'_>,
) {
    let torn = std::mem::take(torn);
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    // The rest of a torn line is not expected to be known.
    if format.parse_line(line, recorder).is_err() && !torn {
        recorder.state.add_unknown_line(line);
    }
}

/// Returns whether the attempt did something that a retry would repeat.
fn work(
    format: &dyn OutputFormat,
    state: &ParseState,
    end: &AttemptEnd,
    failed_start: bool,
) -> Work {
    if state.tools > 0 {
        return Work::Tools;
    }
    if end.never_started() {
        return Work::None;
    }
    // If the attempt was interrupted, its last lines may be missing.
    let complete = !state.gaps && !state.maybe_tools && (state.outcome.is_some() || failed_start);
    if complete && (format.reports_tools() || failed_start) { Work::None } else { Work::Unknown }
}
