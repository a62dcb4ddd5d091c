//! The outcome of a prompt: as text, as JSON, and as an exit code.

use kennel_daemon::transcript;
use kennel_types::api::AnswerView;
use kennel_types::{Judged, LaunchFailure, Reason, TokenUsage, VerdictKind};

use crate::command_prelude::*;

/// The published exit codes of `ask` and `answer`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes, by verdict:
    0  succeeded              18  refused_flags
   10  auth                   19  crashed
   11  stale_conversation     20  unknown
   12  overloaded            124  timed_out
   13  rate_limited          130  cancelled
   14  server                137  killed
   15  unreachable             1  refused, or unknown session or member
   16  untrusted_folder      201  invalid command line
   17  max_turns             202  home or daemon can't be used
                             207  any other failure of Kennel itself";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFormat {
    /// The answer alone; everything else goes to standard error.
    Text,
    Json,
    JsonLine,
}

pub(super) fn exit_code_of(kind: VerdictKind) -> u8 {
    match kind {
        VerdictKind::Succeeded => 0,
        VerdictKind::Auth => 10,
        VerdictKind::StaleConversation => 11,
        VerdictKind::Overloaded => 12,
        VerdictKind::RateLimited => 13,
        VerdictKind::Server => 14,
        VerdictKind::Unreachable => 15,
        VerdictKind::UntrustedFolder => 16,
        VerdictKind::MaxTurns => 17,
        VerdictKind::RefusedFlags => 18,
        VerdictKind::Crashed => 19,
        VerdictKind::Unknown => 20,
        VerdictKind::TimedOut => 124,
        VerdictKind::Cancelled => 130,
        VerdictKind::Killed => 137,
    }
}

pub(super) fn print_outcome(
    session: &SessionView,
    format: AnswerFormat,
    signal: Option<i32>,
) -> Result<u8, CommandError> {
    let Some(judged) = &session.judged else {
        if let Some(signal) = signal {
            return Ok(exit_code::of_signal(signal));
        }
        // Only a session whose end can't be observed has no verdict.
        let text = format!("the outcome of session {} is unknown", session.id);
        return Err(CommandError::unknown(text));
    };
    let answer = answer_of(session)?;
    let view = AnswerView::of(session, answer.clone());
    match format {
        AnswerFormat::Json => print::json(&view)?,
        AnswerFormat::JsonLine => print::json_line(&view)?,
        AnswerFormat::Text => {
            print_text(session, judged, answer.as_deref())?;
            for owed in &session.owed {
                let why = sanitize(owed.why.as_deref().unwrap_or("unknown reason"));
                let text = "failed and will be retried";
                print_message(&format!("cleanup after session {} {text}: {why}", session.id));
            }
        }
    }
    Ok(match (judged.verdict.kind, signal) {
        (VerdictKind::Cancelled, Some(signal)) => exit_code::of_signal(signal),
        (kind, _) => exit_code_of(kind),
    })
}

fn print_text(
    session: &SessionView,
    judged: &Judged,
    answer: Option<&str>,
) -> Result<(), CommandError> {
    if let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) {
        let end = if answer.ends_with('\n') { "" } else { "\n" };
        print(&format!("{answer}{end}"))?;
    }
    if judged.verdict.kind == VerdictKind::Succeeded {
        return Ok(());
    }
    let evidence = sanitize(judged.verdict.evidence.lines().next().unwrap_or_default());
    let attempts = match session.launches {
        0 | 1 => String::new(),
        more => format!(", after {more} attempts"),
    };
    print_message(&format!("{}{attempts}: {evidence}", judged.verdict.kind));
    if let Some(hint) = hint(judged.verdict.kind, session) {
        print_message(&hint);
    }
    Ok(())
}

fn hint(kind: VerdictKind, session: &SessionView) -> Option<String> {
    let agent =
        session.spec.agent.as_deref().map_or("the agent", |spec| spec.settings.agent.as_str());
    Some(match kind {
        VerdictKind::Auth => format!("log in to {agent} in a terminal, or set its API key"),
        VerdictKind::StaleConversation => "omit --resume to start a new conversation".to_owned(),
        VerdictKind::UntrustedFolder => {
            format!(
                "start {agent} in {} once and confirm that you trust the folder",
                session.spec.cwd
            )
        }
        VerdictKind::MaxTurns => "use --turns to allow more".to_owned(),
        VerdictKind::Crashed
            if matches!(session.reason, Some(Reason::Failed { code: LaunchFailure::Exec, .. })) =>
        {
            format!("install {agent}, or add its folder to PATH")
        }
        VerdictKind::Crashed | VerdictKind::Unknown | VerdictKind::RefusedFlags => {
            format!("`kennel logs {}` shows its output", session.id)
        }
        _ => return None,
    })
}

/// Extracts the answer from the agent's output.
pub(crate) fn answer_of(session: &SessionView) -> Result<Option<String>, CommandError> {
    if session.spec.agent.is_none() {
        return Ok(None);
    }
    Ok(transcript::answer_of(session).context("can't read the output")?)
}

/// Formats the tokens and the cost; nothing if both are 0.
pub(crate) fn used(usage: &TokenUsage) -> Option<String> {
    let tokens = usage.input_tokens + usage.cached_tokens + usage.output_tokens;
    let tokens = match tokens {
        0 => None,
        1..10_000 => Some(format!("{tokens} tokens")),
        _ => Some(format!("{}k tokens", tokens / 1000)),
    };
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let dollars = usage.cost_micros as f64 / 1e6;
    let cost = (usage.cost_micros > 0).then(|| format!("${dollars:.2}"));
    let parts = [tokens, cost].into_iter().flatten().collect::<Vec<_>>();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_a_documented_exit_code_of_its_own() {
        let mut codes: Vec<_> = VerdictKind::ALL.iter().map(|kind| exit_code_of(*kind)).collect();
        for kind in VerdictKind::ALL {
            let line = format!("{}  {}", exit_code_of(*kind), kind.name());
            assert!(EXIT_CODES.contains(&line), "{line}");
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), VerdictKind::ALL.len());
    }
}
