//! Derives the verdict from the reported outcome, the output streams and the end of the process.
//!
//! The first rule that applies counts:
//!
//! 1. The attempt was never started: `crashed`, or the reason for which Kennel cancelled it before.
//! 2. The agent reported success last: `succeeded`, even if Kennel ended its process afterwards (an
//!    agent may stay for seconds after its result). But if its own exit contradicts, the verdict is
//!    `unknown` for an exit code other than 0, and `killed` for a signal that Kennel didn't send.
//! 3. Kennel ended it: `cancelled` or `timed_out`. Reported failures don't count then, because
//!    stopping an agent makes it report some.
//! 4. A signal killed it: `killed`, or `crashed` for a signal that a program causes itself.
//! 5. The agent reported a failure: its kind, or `unknown` if the text is unknown.
//! 6. The agent reported no end. If it hadn't started to work and its output has the text of a
//!    start failure: that. Otherwise, with an exit code other than 0: the kind of the last known
//!    error line of standard error.
//! 7. There are unknown messages: `unknown`, with the messages as evidence.
//! 8. The exit code means that a signal killed it: `killed`.
//! 9. Otherwise `crashed`, or `unknown` if the exit status is unknown.

use kennel_types::{EvidenceSource, MAX_EVIDENCE_BYTES, Verdict, VerdictKind};

use crate::attempt_end::{AttemptEnd, EndedBy, ProcessEnd};
use crate::error_patterns;
use crate::output_format::{KeptOutput, OutputFormat};
use crate::parse_state::{AgentFailure, ParseState, ReportedOutcome};

pub(crate) struct AttemptVerdict {
    pub(crate) verdict: Verdict,
    /// Whether the agent failed to start.
    pub(crate) failed_start: bool,
}

impl From<Verdict> for AttemptVerdict {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, failed_start: false }
    }
}

pub(crate) fn judge(
    format: &dyn OutputFormat,
    state: &ParseState,
    output: &KeptOutput<'_>,
    end: &AttemptEnd,
) -> AttemptVerdict {
    if let ProcessEnd::NotStarted(why) = &end.end {
        let (kind, why) = end.by_kennel().unwrap_or((VerdictKind::Crashed, why));
        return Verdict::new(kind, EvidenceSource::Kennel, why).into();
    }
    let overridden = format.override_outcome(state, output, end);
    let outcome = overridden.as_ref().map(|it| &it.outcome).or(state.outcome.as_ref());
    if let Some(ReportedOutcome::Success(evidence)) = outcome
        && let Some(verdict) = success(evidence, state, end)
    {
        return verdict.into();
    }
    if let Some((kind, why)) = end.by_kennel() {
        let evidence = match &state.last_error {
            Some(error) => format!("{why}; its last error: {error}"),
            None => why.to_owned(),
        };
        return Verdict::new(kind, EvidenceSource::Kennel, &evidence).into();
    }
    if let ProcessEnd::Signaled(signal) = end.end {
        let own = CRASH_SIGNALS.contains(&signal);
        let kind = if own { VerdictKind::Crashed } else { VerdictKind::Killed };
        return Verdict::new(kind, EvidenceSource::Exit, &end.end.to_string()).into();
    }
    match outcome {
        Some(ReportedOutcome::Failure(failure)) => {
            let mut verdict = Verdict::new(failure.kind, failure.source, &failure.text);
            verdict.retry_after = failure.retry_after;
            AttemptVerdict { verdict, failed_start: overridden.is_some_and(|it| it.failed_start) }
        }
        Some(ReportedOutcome::Success(reported)) => {
            let evidence = format!("it reported {reported:?}, but {}", end.end);
            Verdict::new(VerdictKind::Unknown, EvidenceSource::Exit, &evidence).into()
        }
        None => without_outcome(format, state, output, end),
    }
}

/// Signals that a program causes itself: ILL, TRAP, ABRT, BUS, FPE, SEGV, PIPE, SYS.
const CRASH_SIGNALS: [i32; 8] = [4, 5, 6, 7, 8, 11, 13, 31];

/// Returns the verdict on a reported success, unless the end of the process contradicts it.
fn success(evidence: &str, state: &ParseState, end: &AttemptEnd) -> Option<Verdict> {
    let agrees = match end.end {
        ProcessEnd::Exited(0) => true,
        ProcessEnd::Exited(_) | ProcessEnd::Signaled(_) => end.ended_by != EndedBy::Itself,
        // The missing output may have reported another turn.
        ProcessEnd::Unknown => !state.gap_after_outcome,
        ProcessEnd::NotStarted(_) => false,
    };
    agrees.then(|| Verdict::new(VerdictKind::Succeeded, EvidenceSource::Result, evidence))
}

/// Judges an attempt that reported no outcome and that Kennel didn't end.
fn without_outcome(
    format: &dyn OutputFormat,
    state: &ParseState,
    output: &KeptOutput<'_>,
    end: &AttemptEnd,
) -> AttemptVerdict {
    let streams =
        [(EvidenceSource::Stderr, output.stderr), (EvidenceSource::Stdout, output.stdout)];
    let failed = matches!(end.end, ProcessEnd::Exited(code) if code != 0);
    if failed && !state.started {
        for (source, text) in streams {
            let failure = format.start_failures().iter().find(|(known, _)| text.contains(known));
            if let Some((known, kind)) = failure {
                let line = text.lines().find(|line| line.contains(known)).unwrap_or(text);
                let verdict = Verdict::new(*kind, source, line.trim());
                return AttemptVerdict { verdict, failed_start: true };
            }
        }
    }
    if failed && let Some(failure) = in_error_lines(output.stderr) {
        let mut verdict = Verdict::new(failure.kind, EvidenceSource::Stderr, &failure.text);
        verdict.retry_after = failure.retry_after.or(state.retry_after);
        return verdict.into();
    }
    if state.unknown_message || (!output.stdout.is_empty() && !failed) {
        return Verdict::new(VerdictKind::Unknown, EvidenceSource::Stdout, output.stdout).into();
    }
    let (kind, evidence) = match end.end {
        ProcessEnd::Exited(129 | 130 | 137 | 143) => (VerdictKind::Killed, end.end.to_string()),
        ProcessEnd::Exited(code) => (VerdictKind::Crashed, format!("exit code {code}, no result")),
        _ => (VerdictKind::Unknown, end.end.to_string()),
    };
    let mut texts = streams.into_iter().filter(|(_, text)| !text.trim().is_empty());
    match texts.next().filter(|_| kind == VerdictKind::Crashed) {
        Some((source, text)) => Verdict::new(kind, source, tail(text.trim())).into(),
        None => Verdict::new(kind, EvidenceSource::Exit, &evidence).into(),
    }
}

/// Returns the end of a text, as much as fits into the evidence.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(MAX_EVIDENCE_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

/// Returns the failure of the last error line with a known text.
fn in_error_lines(stderr: &str) -> Option<AgentFailure> {
    let is_error = |line: &&str| line.to_lowercase().contains("error");
    stderr
        .lines()
        .rev()
        .filter(is_error)
        .find_map(|line| Some(AgentFailure::new(error_patterns::by_text(line)?, line.trim())))
}
