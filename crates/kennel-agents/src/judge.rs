//! The verdict, from what was told, from the streams and from the end together.
//!
//! What counts, in this order:
//!
//! 1. It was never started: `crashed`, or what it was stopped by before.
//! 2. It told that it has succeeded, and nothing came after that: `succeeded`, whoever ended its process then (an
//!    agent may stay for seconds after its result). Unless its own exit contradicts: with a code other than 0 it is
//!    `unknown`, with somebody else's signal `killed`.
//! 3. Kennel ended it: `cancelled`, or `timed_out`. Failures that it told count for nothing then, for a stop makes an
//!    agent tell some.
//! 4. A signal ended it: `killed`; `crashed` if it is one that a program brings on itself.
//! 5. It told a failure: that. Words that nobody knows: `unknown`.
//! 6. It told no end. Nothing was begun and standard error has the words of a refusal: that. Else, with a code other
//!    than 0, what an error line of standard error says.
//! 7. Messages that nobody knows: `unknown`, with what they were.
//! 8. A code by which programs say that a signal ended them: `killed`.
//! 9. Anything else: `crashed`, or `unknown` if even its exit is.

use kennel_types::{EvidenceSource, MOST_EVIDENCE, Verdict, VerdictKind};

use crate::reader::{Dialect, Streams};
use crate::seen::{Failure, Seen, Told};
use crate::words;

/// How the process of an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// It ended, and nobody can tell how.
    Unknown,
    /// There never was one, for this reason.
    NotStarted(String),
}

/// Who ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// It ended by itself, or somebody else than Kennel ended it.
    Itself,
    /// Somebody asked Kennel to stop it.
    Stopped,
    /// It took longer than a limit of time.
    TimedOut,
    /// Kennel ended it of its own accord: it shuts down, the session's parent or client is gone, …
    Kennel {
        /// What for.
        why: String,
    },
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How its process ended.
    pub end: End,
    /// Who ended it.
    pub because: Because,
}

impl Ended {
    pub(crate) fn never_started(&self) -> bool {
        matches!(self.end, End::NotStarted(_))
    }

    /// The verdict on one that Kennel has ended.
    fn by_us(&self) -> Option<(VerdictKind, &str)> {
        match &self.because {
            Because::Itself => None,
            Because::Stopped => Some((VerdictKind::Cancelled, "it was stopped")),
            Because::TimedOut => Some((VerdictKind::TimedOut, "it took longer than it may")),
            Because::Kennel { why } => Some((VerdictKind::Cancelled, why)),
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "it exited with code {code}"),
            Self::Signaled(signal) => write!(f, "signal {signal} ended it"),
            Self::Unknown => write!(f, "nobody can tell how it ended"),
            Self::NotStarted(why) => write!(f, "it was not started: {why}"),
        }
    }
}

/// A verdict.
pub(crate) struct Found {
    pub(crate) verdict: Verdict,
    /// Whether the agent did not even begin.
    pub(crate) refused: bool,
}

impl From<Verdict> for Found {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, refused: false }
    }
}

/// The verdict on what was seen.
pub(crate) fn judge(
    dialect: &dyn Dialect,
    seen: &Seen,
    streams: &Streams<'_>,
    ended: &Ended,
) -> Found {
    if let End::NotStarted(why) = &ended.end {
        let (kind, why) = ended.by_us().unwrap_or((VerdictKind::Crashed, why));
        return Verdict::new(kind, EvidenceSource::Kennel, why).into();
    }
    let ruled = dialect.rule(seen, streams, ended);
    let told = ruled.as_ref().map(|ruled| &ruled.told).or(seen.told.as_ref());
    if let Some(Told::Success(words)) = told
        && let Some(verdict) = success(words, seen, ended)
    {
        return verdict.into();
    }
    if let Some((kind, why)) = ended.by_us() {
        let evidence = match &seen.trouble {
            Some(trouble) => format!("{why}; its last trouble: {trouble}"),
            None => why.to_owned(),
        };
        return Verdict::new(kind, EvidenceSource::Kennel, &evidence).into();
    }
    if let End::Signaled(signal) = ended.end {
        let kind =
            if OWN_FAULTS.contains(&signal) { VerdictKind::Crashed } else { VerdictKind::Killed };
        return Verdict::new(kind, EvidenceSource::Exit, &ended.end.to_string()).into();
    }
    match told {
        Some(Told::Failure(failure)) => {
            let mut verdict = Verdict::new(failure.kind, failure.source, &failure.text);
            verdict.retry_after = failure.wait;
            Found { verdict, refused: ruled.is_some_and(|ruled| ruled.refused) }
        }
        Some(Told::Success(words)) => {
            let evidence = format!("it told {words:?}, and {}", ended.end);
            Verdict::new(VerdictKind::Unknown, EvidenceSource::Exit, &evidence).into()
        }
        None => without_a_word(dialect, seen, streams, ended),
    }
}

/// Signals that a program brings on itself: ILL, TRAP, ABRT, BUS, FPE, SEGV, PIPE, SYS.
const OWN_FAULTS: [i32; 8] = [4, 5, 6, 7, 8, 11, 13, 31];

/// Whether what was told to be a success is one.
fn success(words: &str, seen: &Seen, ended: &Ended) -> Option<Verdict> {
    let ours = ended.because != Because::Itself;
    let agrees = match ended.end {
        End::Exited(0) => true,
        End::Exited(_) | End::Signaled(_) => ours,
        // What is missing may have told of another turn.
        End::Unknown => !seen.gap_since_told,
        End::NotStarted(_) => false,
    };
    agrees.then(|| Verdict::new(VerdictKind::Succeeded, EvidenceSource::Result, words))
}

/// The verdict on one that did not tell how it came out, and that nobody is known to have ended.
fn without_a_word(
    dialect: &dyn Dialect,
    seen: &Seen,
    streams: &Streams<'_>,
    ended: &Ended,
) -> Found {
    let failed = matches!(ended.end, End::Exited(code) if code != 0);
    if failed && !seen.begun {
        for (source, text) in
            [(EvidenceSource::Stderr, streams.stderr), (EvidenceSource::Stdout, streams.stdout)]
        {
            if let Some(refusal) = dialect.refusals().iter().find(|it| text.contains(it.has)) {
                let line = text.lines().find(|line| line.contains(refusal.has)).unwrap_or(text);
                let verdict = Verdict::new(refusal.kind, source, line.trim());
                return Found { verdict, refused: true };
            }
        }
    }
    if failed && let Some(failure) = in_errors(streams.stderr) {
        let mut verdict = Verdict::new(failure.kind, EvidenceSource::Stderr, &failure.text);
        verdict.retry_after = failure.wait.or(seen.wait);
        return verdict.into();
    }
    if seen.strange_message || (!streams.stdout.is_empty() && !failed) {
        return Verdict::new(VerdictKind::Unknown, EvidenceSource::Stdout, streams.stdout).into();
    }
    let (kind, evidence) = match ended.end {
        End::Exited(129 | 130 | 137 | 143) => (VerdictKind::Killed, ended.end.to_string()),
        End::Exited(code) => (VerdictKind::Crashed, format!("code {code}, and no result")),
        _ => (VerdictKind::Unknown, ended.end.to_string()),
    };
    match [(EvidenceSource::Stderr, streams.stderr), (EvidenceSource::Stdout, streams.stdout)]
        .into_iter()
        .find(|(_, text)| kind == VerdictKind::Crashed && !text.trim().is_empty())
    {
        Some((source, text)) => Verdict::new(kind, source, end_of(text.trim())).into(),
        None => Verdict::new(kind, EvidenceSource::Exit, &evidence).into(),
    }
}

/// As much of the end of a text as is kept.
fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(MOST_EVIDENCE);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

/// What the last error line says whose words are known.
fn in_errors(stderr: &str) -> Option<Failure> {
    stderr.lines().rev().find_map(|line| {
        if !line.to_lowercase().contains("error") {
            return None;
        }
        let kind = words::by_text(line)?;
        Some(Failure::of(kind, line.trim()))
    })
}
