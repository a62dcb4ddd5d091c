//! What a client does next.

use fastrand::Rng;

use crate::draw::{in_a_hundred, weighted};
use crate::wish::Wish;

/// One call of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) verb: Verb,
    /// Which of the sessions asked for so far, in the order of the youngest first.
    pub(crate) target: u32,
    /// After which time the client vanishes, if it does before it has its answer.
    pub(crate) vanishes_ms: Option<u32>,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    Run(Box<Wish>),
    /// The same request again, if it has a key.
    Retry,
    Stop {
        now: bool,
    },
    /// By HTTP, without waiting in the client.
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
    /// So many at once.
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
    Report(Token),
    /// Something that is no request.
    Nonsense,
}

/// With which token a report comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// That of its own launch.
    Own,
    /// That of another session.
    Foreign,
    /// None that there is.
    Invented,
}

/// A kind of verb, for the weights.
#[derive(Debug, Clone, Copy)]
enum Kind {
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

const WEIGHTS: [(u32, Kind); 22] = [
    (40, Kind::Run),
    (5, Kind::Retry),
    (14, Kind::Stop),
    (5, Kind::StopByHttp),
    (1, Kind::StopAll),
    (4, Kind::Signal),
    (4, Kind::Send),
    (4, Kind::Logs),
    (4, Kind::Wait),
    (7, Kind::Resume),
    (4, Kind::Remove),
    (1, Kind::Prune),
    (2, Kind::Forget),
    (2, Kind::Strays),
    (2, Kind::List),
    (2, Kind::ListByHttp),
    (3, Kind::Inspect),
    (1, Kind::Events),
    (1, Kind::Worktrees),
    (2, Kind::Restart),
    (6, Kind::Report),
    (1, Kind::Nonsense),
];

impl Act {
    /// Draws one. `pens` are those that can be had.
    pub(crate) fn draw(rng: &mut Rng, pens: &[&'static str]) -> Self {
        let verb = match weighted(rng, &WEIGHTS) {
            Kind::Run => Verb::Run(Box::new(Wish::draw(rng, pens))),
            Kind::Retry => Verb::Retry,
            Kind::Stop => Verb::Stop { now: in_a_hundred(rng, 30) },
            Kind::StopByHttp => Verb::StopByHttp,
            Kind::StopAll => Verb::StopAll,
            Kind::Signal => {
                Verb::Signal(weighted(rng, &[(2, 10), (2, 15), (1, 19), (2, 18), (1, 9)]))
            }
            Kind::Send => Verb::Send { end: in_a_hundred(rng, 20) },
            Kind::Logs => Verb::Logs { follow: rng.bool() },
            Kind::Wait => Verb::Wait,
            Kind::Resume => Verb::Resume(rng.u32(1..5)),
            Kind::Remove => Verb::Remove { force: rng.bool() },
            // After one, anything may be off the record: mostly the stricter audit.
            Kind::Prune if in_a_hundred(rng, 30) => Verb::Prune,
            Kind::Prune => Verb::List,
            Kind::Forget => Verb::Forget,
            Kind::Strays => Verb::Strays { end: rng.bool() },
            Kind::List => Verb::List,
            Kind::ListByHttp => Verb::ListByHttp,
            Kind::Inspect => Verb::Inspect,
            Kind::Events => Verb::Events,
            Kind::Worktrees => Verb::Worktrees,
            Kind::Restart => Verb::Restart,
            Kind::Report => {
                let tokens = [(5, Token::Own), (2, Token::Foreign), (2, Token::Invented)];
                Verb::Report(weighted(rng, &tokens))
            }
            Kind::Nonsense => Verb::Nonsense,
        };
        let vanishes = rng.u32(1..400);
        let vanishes_ms = in_a_hundred(rng, 8).then_some(vanishes);
        // The young ones are where something happens.
        let target = rng.u32(..12).min(rng.u32(..12));
        Self { verb, target, vanishes_ms }
    }
}

impl Verb {
    /// Its name, for the tally.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run(wish) if wish.foreground => "run",
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
            Self::Report(Token::Own) => "report",
            Self::Report(_) => "report with a wrong token",
            Self::Nonsense => "nonsense",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Drawer, dice};
    use std::collections::BTreeSet;

    fn plan(seed: u64) -> Vec<Act> {
        let mut rng = dice(seed, 0, Drawer::Client(0));
        (0..2000).map(|_| Act::draw(&mut rng, &["cgroup", "subtree"])).collect()
    }

    #[test]
    fn a_seed_is_a_plan() {
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }

    #[test]
    fn every_verb_and_every_job_is_drawn() {
        let plan = plan(5);
        let verbs: BTreeSet<_> = plan.iter().map(|act| act.verb.name()).collect();
        assert_eq!(verbs.len(), 25, "{verbs:?}");
        let jobs: BTreeSet<_> = plan
            .iter()
            .filter_map(|act| match &act.verb {
                Verb::Run(wish) => Some(wish.job.behaviour().first().cloned()),
                _ => None,
            })
            .collect();
        assert!(jobs.len() >= 15, "{jobs:?}");
        assert!(plan.iter().any(|act| act.vanishes_ms.is_some()));
    }
}
