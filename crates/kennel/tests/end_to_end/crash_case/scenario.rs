//! The scenarios that pass the points.

use std::time::Duration;

use kennel_testing::{Faults, Running, Scene, eventually, signal};

use super::part::Part;
use super::victims::keepers;
use crate::keeper_reuse::spare;
use crate::reports::reporting;

/// A point that stops a keeper before it launches anything.
const BEFORE_LAUNCH: &str = "keeper.hello";

/// One scenario. Each has a bystander: another session that runs all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// A session is launched.
    Launch,
    /// It is stopped before its agent runs.
    Cancel,
    /// A session with a worktree is launched.
    Worktree,
    /// Its agent ends by itself.
    Exit,
    /// A session with a worktree ends.
    WorktreeExit,
    /// It becomes ready.
    Ready,
    /// It is not ready in time.
    Overdue,
    /// Its agent reports something.
    Report,
    /// It is stopped.
    Stop,
    /// Its agent has ended by itself, and its spare keeper is killed.
    SpareDeath,
    /// Its keeper is killed.
    KeeperDeath,
    /// The daemon is killed and restarted.
    Adoption,
    /// It has ended and is removed.
    Removal,
    /// The daemon is restarted properly.
    Restart,
    /// Everything is shut down.
    Shutdown,
}

impl Scenario {
    /// The scenario that passes this point.
    pub(crate) fn passing(point: &str) -> Self {
        let (who, rest) = point.split_once('.').expect("WHO.POINT");
        let step = rest.split('.').next().unwrap_or_default();
        match (who, step) {
            ("keeper", "forked" | "hello" | "prepared" | "go" | "pen") => Self::Launch,
            ("keeper", "born" | "granted" | "opened") => Self::Launch,
            ("keeper", "exited" | "empty" | "outcome" | "reported" | "released") => Self::Exit,
            ("keeper", "stopping") => Self::Stop,
            ("yard", "fork" | "forked") => Self::Launch,
            // (By itself a spare keeper exits much later.)
            ("yard", "reaped") => Self::SpareDeath,
            ("yard", "daemon") => Self::Adoption,
            ("daemon", "start" | "adopt") => Self::Adoption,
            ("daemon", "worktree") if rest.starts_with("worktree.remove") => Self::WorktreeExit,
            ("daemon", "worktree") => Self::Worktree,
            ("daemon", "launch") => Self::Launch,
            ("daemon", "ready") if rest == "ready.overdue" => Self::Overdue,
            ("daemon", "ready") => Self::Ready,
            ("daemon", "report") => Self::Report,
            ("daemon", "record") if rest.starts_with("record.intent") => Self::Launch,
            ("daemon", "record" | "exit" | "clean_up" | "release") => Self::Exit,
            ("daemon", "stop") if rest.starts_with("stop.dismiss") => Self::Cancel,
            ("daemon", "stop") => Self::Stop,
            ("daemon", "end_pen") => Self::KeeperDeath,
            ("daemon", "remove") => Self::Removal,
            ("daemon", "shutdown") if rest == "shutdown.drain" => Self::Restart,
            ("daemon", "shutdown") => Self::Shutdown,
            _ => panic!("no scenario passes {point}"),
        }
    }

    /// Whether the agent of its session ends by itself.
    pub(crate) fn ends_by_itself(self) -> bool {
        matches!(self, Self::Exit | Self::WorktreeExit | Self::SpareDeath | Self::Removal)
    }

    /// Whether its session gets a worktree.
    pub(crate) fn has_worktree(self) -> bool {
        matches!(self, Self::Worktree | Self::WorktreeExit)
    }

    /// Additional flags of its session.
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Ready => &["--ready", "line:ready", "--wait-ready"],
            Self::Overdue => &["--ready", "report", "--ready-timeout", "300ms"],
            _ => &[],
        }
    }

    /// Does everything before the point.
    #[track_caller]
    pub(crate) fn prepare(self, scene: &Scene, faults: &Faults, subject: &Part) -> Vec<Running> {
        match self {
            Self::Launch
            | Self::Worktree
            | Self::Exit
            | Self::WorktreeExit
            | Self::Ready
            | Self::Overdue => Vec::new(),
            Self::Cancel => {
                faults.arm(BEFORE_LAUNCH);
                let starting = subject.start(scene);
                let held = faults.wait_reached(BEFORE_LAUNCH, Duration::from_secs(20));
                held.expect("the launch is held");
                vec![starting]
            }
            Self::Removal => {
                subject.launch(scene);
                scene.wait_phase(subject.name, "cleaned");
                // It must be on record as ended: before that it can't be removed.
                let _code = scene.call(&["wait", subject.name]);
                Vec::new()
            }
            Self::Report
            | Self::Stop
            | Self::SpareDeath
            | Self::KeeperDeath
            | Self::Adoption
            | Self::Restart
            | Self::Shutdown => {
                subject.launch(scene);
                Vec::new()
            }
        }
    }

    /// Starts what passes the point, without waiting.
    #[track_caller]
    pub(crate) fn begin(self, scene: &Scene, subject: &Part, bystanders: i32) -> Option<Running> {
        let start = |args: &[&str]| Some(Running::start(scene.kennel(args)));
        match self {
            Self::Launch
            | Self::Worktree
            | Self::Exit
            | Self::WorktreeExit
            | Self::Ready
            | Self::Overdue => Some(subject.start(scene)),
            Self::Report => Some(Running::start(reporting(scene, subject.name, &["busy"]))),
            Self::Cancel => start(&["stop", subject.name]),
            Self::Stop => start(&["stop", subject.name]),
            Self::Removal => start(&["rm", subject.name]),
            Self::Restart => start(&["daemon", "restart"]),
            Self::Shutdown => start(&["daemon", "stop"]),
            Self::SpareDeath => {
                // On a busy machine it may have exited by itself, which the yard notices too.
                let others = || keepers(scene).into_iter().any(|pid| pid != bystanders);
                let mut free = None;
                eventually("its keeper is free", || {
                    free = spare(scene);
                    free.is_some() || !others()
                });
                if let Some(keeper) = free {
                    signal(keeper, "KILL");
                }
                None
            }
            Self::KeeperDeath => {
                let keeper = keepers(scene).into_iter().find(|pid| *pid != bystanders);
                signal(keeper.expect("the subject's keeper"), "KILL");
                None
            }
            Self::Adoption => {
                signal(scene.daemon().expect("a daemon"), "KILL");
                None
            }
        }
    }

    /// Releases the processes that it stopped.
    pub(crate) fn release(self, faults: &Faults) {
        if self == Self::Cancel {
            faults.disarm(BEFORE_LAUNCH);
        }
    }
}
