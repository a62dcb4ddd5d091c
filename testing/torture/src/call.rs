//! The calls of a client, drawn at random.

use fastrand::Rng;

use crate::random::{chance, weighted};
use crate::run_arguments::RunArguments;

/// One call of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientCall {
    pub(crate) verb: TortureVerb,
    /// Selects one of the sessions requested so far, the youngest first.
    pub(crate) target: u32,
    /// When the client disconnects without waiting for the answer, if it does.
    pub(crate) disconnect_after_ms: Option<u32>,
}

/// The command of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TortureVerb {
    Run(Box<RunArguments>),
    /// Repeats a request that has an idempotency key.
    Retry,
    Stop {
        now: bool,
    },
    /// Stops a session over HTTP.
    StopByHttp,
    StopAll,
    Signal(i32),
    Send {
        end: bool,
    },
    Logs {
        follow: bool,
    },
    Wait,
    /// Resumes a session, this many times at once.
    Resume(u32),
    Remove {
        force: bool,
    },
    Prune,
    Forget,
    Strays {
        end: bool,
    },
    List,
    ListByHttp,
    Inspect,
    Events,
    Worktrees,
    Restart,
    Report(ReportToken),
    /// Sends an invalid request.
    Nonsense,
}

/// The token of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportToken {
    /// The token of the launch itself.
    Own,
    /// The token of another session.
    Foreign,
    /// A token that does not exist.
    Invented,
}

/// The kind of a command, for the weights.
#[derive(Debug, Clone, Copy)]
enum VerbKind {
    Run,
    Retry,
    Stop,
    StopByHttp,
    StopAll,
    Signal,
    Send,
    Logs,
    Wait,
    Resume,
    Remove,
    Prune,
    Forget,
    Strays,
    List,
    ListByHttp,
    Inspect,
    Events,
    Worktrees,
    Restart,
    Report,
    Nonsense,
}

const WEIGHTS: [(u32, VerbKind); 22] = [
    (40, VerbKind::Run),
    (5, VerbKind::Retry),
    (14, VerbKind::Stop),
    (5, VerbKind::StopByHttp),
    (1, VerbKind::StopAll),
    (4, VerbKind::Signal),
    (4, VerbKind::Send),
    (4, VerbKind::Logs),
    (4, VerbKind::Wait),
    (7, VerbKind::Resume),
    (4, VerbKind::Remove),
    (1, VerbKind::Prune),
    (2, VerbKind::Forget),
    (2, VerbKind::Strays),
    (2, VerbKind::List),
    (2, VerbKind::ListByHttp),
    (3, VerbKind::Inspect),
    (1, VerbKind::Events),
    (1, VerbKind::Worktrees),
    (2, VerbKind::Restart),
    (6, VerbKind::Report),
    (1, VerbKind::Nonsense),
];

impl ClientCall {
    /// Draws a call. `pens` are the pens that the scene supports.
    pub(crate) fn draw(rng: &mut Rng, pens: &[&'static str]) -> Self {
        let verb = match weighted(rng, &WEIGHTS) {
            VerbKind::Run => TortureVerb::Run(Box::new(RunArguments::draw(rng, pens))),
            VerbKind::Retry => TortureVerb::Retry,
            VerbKind::Stop => TortureVerb::Stop { now: chance(rng, 30) },
            VerbKind::StopByHttp => TortureVerb::StopByHttp,
            VerbKind::StopAll => TortureVerb::StopAll,
            VerbKind::Signal => {
                TortureVerb::Signal(weighted(rng, &[(2, 10), (2, 15), (1, 19), (2, 18), (1, 9)]))
            }
            VerbKind::Send => TortureVerb::Send { end: chance(rng, 20) },
            VerbKind::Logs => TortureVerb::Logs { follow: rng.bool() },
            VerbKind::Wait => TortureVerb::Wait,
            VerbKind::Resume => TortureVerb::Resume(rng.u32(1..5)),
            VerbKind::Remove => TortureVerb::Remove { force: rng.bool() },
            // After a prune any session may be gone, so that the audit is less strict: rarely.
            VerbKind::Prune if chance(rng, 30) => TortureVerb::Prune,
            VerbKind::Prune => TortureVerb::List,
            VerbKind::Forget => TortureVerb::Forget,
            VerbKind::Strays => TortureVerb::Strays { end: rng.bool() },
            VerbKind::List => TortureVerb::List,
            VerbKind::ListByHttp => TortureVerb::ListByHttp,
            VerbKind::Inspect => TortureVerb::Inspect,
            VerbKind::Events => TortureVerb::Events,
            VerbKind::Worktrees => TortureVerb::Worktrees,
            VerbKind::Restart => TortureVerb::Restart,
            VerbKind::Report => {
                let tokens =
                    [(5, ReportToken::Own), (2, ReportToken::Foreign), (2, ReportToken::Invented)];
                TortureVerb::Report(weighted(rng, &tokens))
            }
            VerbKind::Nonsense => TortureVerb::Nonsense,
        };
        let disconnect_after = rng.u32(1..400);
        let disconnect_after_ms = chance(rng, 8).then_some(disconnect_after);
        // Most activity is in young sessions.
        let target = rng.u32(..12).min(rng.u32(..12));
        Self { verb, target, disconnect_after_ms }
    }
}

impl TortureVerb {
    /// The name under which it is counted.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run(arguments) if arguments.foreground => "run",
            Self::Run(_) => "run -d",
            Self::Retry => "run --key again",
            Self::Stop { now: false } => "stop",
            Self::Stop { now: true } => "stop --now",
            Self::StopByHttp => "stop by HTTP",
            Self::StopAll => "stop --all",
            Self::Signal(_) => "signal",
            Self::Send { .. } => "send",
            Self::Logs { .. } => "logs",
            Self::Wait => "wait",
            Self::Resume(_) => "resume",
            Self::Remove { .. } => "rm",
            Self::Prune => "prune",
            Self::Forget => "forget",
            Self::Strays { .. } => "strays",
            Self::List => "ps",
            Self::ListByHttp => "ps by HTTP",
            Self::Inspect => "inspect",
            Self::Events => "events",
            Self::Worktrees => "worktrees",
            Self::Restart => "daemon restart",
            Self::Report(ReportToken::Own) => "report",
            Self::Report(_) => "report with a wrong token",
            Self::Nonsense => "nonsense",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomStream, random_numbers};
    use std::collections::BTreeSet;

    fn plan(seed: u64) -> Vec<ClientCall> {
        let mut rng = random_numbers(seed, 0, RandomStream::Client(0));
        (0..2000).map(|_| ClientCall::draw(&mut rng, &["cgroup", "subtree"])).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_calls() {
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }

    #[test]
    fn every_verb_and_every_job_is_drawn() {
        let plan = plan(5);
        let verbs: BTreeSet<_> = plan.iter().map(|call| call.verb.name()).collect();
        assert_eq!(verbs.len(), 25, "{verbs:?}");
        let jobs: BTreeSet<_> = plan
            .iter()
            .filter_map(|call| match &call.verb {
                TortureVerb::Run(arguments) => Some(arguments.job.behaviour().first().cloned()),
                _ => None,
            })
            .collect();
        assert!(jobs.len() >= 15, "{jobs:?}");
        assert!(plan.iter().any(|call| call.disconnect_after_ms.is_some()));
    }
}
