//! Reads what an agent prints, as it comes.

mod lines;
mod noise;

use std::time::Duration;

use kennel_types::{Judged, Usage, Work};

use crate::judge::{self, Ended};
use crate::seen::{Seen, Told};
pub(crate) use lines::{Lines, Next};
pub(crate) use noise::{Noise, plain};

/// The longest line that is read. A longer one is given up, which is told.
pub const MOST_LINE: usize = 64 << 20;

/// The longest line of standard error that is looked at; more of it is kept as evidence all the same.
const MOST_ERROR_LINE: usize = 64 << 10;

/// Which of an agent's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Something that an agent does, as it tells it.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening<'a> {
    /// Which conversation it is.
    Conversation(&'a str),
    /// It says something.
    Text(&'a str),
    /// It thinks something.
    Thinking(&'a str),
    /// It begins to use a tool.
    ToolBegan {
        /// By what its end is known.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// What it is about, in one short line.
        about: String,
    },
    /// A tool came to its end.
    ToolEnded {
        /// Which use of a tool.
        id: &'a str,
        /// Whether it failed.
        failed: bool,
    },
    /// What it has used up so far.
    Usage(Usage),
    /// Its provider failed, and it tries again by itself.
    Retrying {
        /// What went wrong.
        why: &'a str,
        /// When it tries again.
        after: Option<Duration>,
    },
    /// Something else that a person may want to know.
    Notice(&'a str),
}

/// Whom to tell.
pub(crate) type Tell<'t> = &'t mut dyn FnMut(Happening<'_>);

/// How an attempt at a prompt came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it was judged.
    pub judged: Judged,
    /// What the agent answered; the last that it said, if it did not come to its end.
    pub answer: Option<String>,
}

/// Whether a line was understood.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Understood {
    Yes,
    /// It is none that this version of Kennel knows: kept as evidence, and nothing is made of it.
    No,
}

/// An error text of a start that failed, before any work.
pub(crate) struct Refusal {
    /// What is in the text.
    pub(crate) has: &'static str,
    pub(crate) kind: kennel_types::VerdictKind,
}

/// The format of one agent's output.
pub(crate) trait Dialect: Send {
    /// Reads a line of standard output.
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood;

    /// Reads a line of standard error.
    fn error_line(&mut self, _line: &str, _seen: &mut Seen, _tell: Tell<'_>) {}

    /// The texts by which it says that it does not even begin.
    fn refusals(&self) -> &[Refusal];

    /// What it is to have told, though its own result does not say so.
    fn rule(&self, _seen: &Seen, _streams: &Streams<'_>, _ended: &Ended) -> Option<Ruled> {
        None
    }

    /// Whether it tells of every tool that it runs.
    fn tells_of_tools(&self) -> bool {
        true
    }
}

/// What a rule says that it told.
pub(crate) struct Ruled {
    pub(crate) told: Told,
    /// Whether it did not even begin.
    pub(crate) refused: bool,
}

/// What was kept of the streams.
pub(crate) struct Streams<'a> {
    /// What of standard output was not understood.
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
}

/// Reads the output of one attempt, in pieces of any size, and judges it in the end.
///
/// Its memory does not grow with the output: at most one line, of at most [`MOST_LINE`] bytes, the answer, of no more
/// than that, and a few kilobytes of evidence.
pub struct Reader {
    dialect: Box<dyn Dialect>,
    stdout: Lines,
    stderr: Lines,
    /// What was said on standard error.
    errors: Noise,
    /// Whether the beginning of the next line may be missing.
    torn: bool,
    seen: Seen,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(dialect: Box<dyn Dialect>) -> Self {
        Self {
            dialect,
            stdout: Lines::new(MOST_LINE),
            stderr: Lines::new(MOST_ERROR_LINE),
            errors: Noise::default(),
            torn: false,
            seen: Seen::default(),
        }
    }

    /// Takes the next bytes of a stream, and tells what they tell.
    pub fn read(&mut self, stream: Stream, bytes: &[u8], tell: &mut dyn FnMut(Happening<'_>)) {
        let Self { dialect, stdout, stderr, errors, torn, seen } = self;
        match stream {
            Stream::Stdout => stdout.read(bytes, &mut |next| match next {
                Next::Line(line) => read_line(&mut **dialect, line, torn, seen, tell),
                Next::TooLong(line) => {
                    seen.gap();
                    seen.strange(line);
                    tell(Happening::Notice("a line of its output is too long, and was left out"));
                }
            }),
            Stream::Stderr => {
                errors.add(bytes);
                stderr.read(bytes, &mut |next| {
                    if let Next::Line(line) = next {
                        let line = plain(&String::from_utf8_lossy(line));
                        dialect.error_line(&line, seen, tell);
                    }
                });
            }
        }
    }

    /// So many bytes of the output are missing here. It goes on with the next whole line, and whatever the missing part
    /// may have told is unknown: that no tool was seen does not mean any more that none was run.
    pub fn lost(&mut self, bytes: u64) {
        if bytes > 0 {
            self.seen.gap();
            self.torn = true;
            self.stdout.lost();
            self.stderr.lost();
        }
    }

    /// Whether it has told how it came out, and nothing came after that, though its process may stay.
    ///
    /// To be stopped now it is best killed at once: a polite signal has one agent begin another turn.
    #[must_use]
    pub fn has_told(&self) -> bool {
        self.seen.told.is_some()
    }

    /// There will be no more output: how it came out.
    #[must_use]
    pub fn finish(mut self, ended: &Ended, tell: &mut dyn FnMut(Happening<'_>)) -> Finished {
        if let Some(line) = self.stdout.rest() {
            // A line without an end may be whole. If it isn't, it is not understood.
            read_line(&mut *self.dialect, line, &mut self.torn, &mut self.seen, tell);
        }
        if let Some(line) = self.stderr.rest() {
            let line = plain(&String::from_utf8_lossy(line));
            self.dialect.error_line(&line, &mut self.seen, tell);
        }
        let Self { dialect, errors, seen, .. } = self;
        let (stdout, stderr) = (seen.strange.text(), errors.text());
        let streams = Streams { stdout: &stdout, stderr: &stderr };
        let found = judge::judge(&*dialect, &seen, &streams, ended);
        let work = work(&*dialect, &seen, ended, found.refused);
        Finished {
            judged: Judged {
                verdict: found.verdict,
                conversation: seen.conversation,
                usage: seen.usage,
                work,
                turns: seen.turns,
                tools: seen.tools,
            },
            answer: seen.answer,
        }
    }
}

fn read_line(
    dialect: &mut dyn Dialect,
    line: &[u8],
    torn: &mut bool,
    seen: &mut Seen,
    tell: Tell<'_>,
) {
    let torn = std::mem::take(torn);
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    // The end of a line is nothing that has to be understood.
    if dialect.line(line, seen, tell) == Understood::No && !torn {
        seen.strange(line);
    }
}

/// Whether it did something that a repetition would do twice.
fn work(dialect: &dyn Dialect, seen: &Seen, ended: &Ended, refused: bool) -> Work {
    if seen.tools > 0 {
        return Work::Tools;
    }
    if ended.never_started() {
        return Work::None;
    }
    // Of one that was ended in the middle the last lines may be missing.
    let whole = !seen.gaps && !seen.unsure && (seen.told.is_some() || refused);
    if whole && (dialect.tells_of_tools() || refused) { Work::None } else { Work::Unknown }
}
