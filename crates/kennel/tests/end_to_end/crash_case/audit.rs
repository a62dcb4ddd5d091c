//! What must hold after any kill at any point.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_testing::{Ended, Pen, Process, Scene, alive, eventually, is_free, look_until};
use serde_json::Value;

use super::part::{CODE, Noted, Part};
use super::scenario::Scenario;
use super::victims::Victims;
use crate::journal::Journal;
use crate::worktrees::Repo;

/// How long the system may take to settle.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The exit code of a fake agent whose output has no reader.
const NO_READER_CODE: u8 = 74;

/// Points at which the keeper has stored its outcome, or the daemon has received it.
const OUTCOME_IS_SAFE: [&str; 5] =
    ["keeper.outcome", "keeper.reported", "keeper.released", "daemon.exit.gone", "daemon.clean_up"];

pub(crate) struct Audit<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) scenario: Scenario,
    pub(crate) point: &'static str,
    pub(crate) victims: Victims,
    pub(crate) bystander: Part,
    pub(crate) subject: Part,
    /// Whether each one's keeper was killed.
    pub(crate) bystander_harmed: bool,
    pub(crate) subject_harmed: bool,
    pub(crate) yard_killed: bool,
    /// The repository of the subject's worktree.
    pub(crate) repo: Option<&'a Repo<'a>>,
    /// The journals of both just before the kill.
    pub(crate) before: [Journal; 2],
    /// The results of the scenario's commands.
    pub(crate) results: Vec<Ended>,
}

impl Audit<'_> {
    pub(crate) fn run(&self) {
        let sessions = self.settle();
        self.check_processes(&sessions);
        self.check_answers(&sessions);
        if !self.bystander_harmed && self.scenario != Scenario::Shutdown {
            let bystander = self.bystander.find(&sessions).expect("the bystander is on record");
            assert_eq!(bystander["phase"], "running", "the bystander was ended");
        }
        self.forget_the_lost(&sessions);
        self.scene.call_ok(&["stop", "--all"]);
        let sessions = self.scene.sessions();
        self.check_end(&self.bystander, &sessions, self.bystander_harmed, &self.before[0]);
        self.check_end(&self.subject, &sessions, self.subject_harmed, &self.before[1]);
        self.end_unobserved_processes();
        if let Some(repo) = self.repo {
            repo.assert_settled();
        }
        self.scene.stop_daemon();
    }

    /// Waits until each session is adopted or ended, and returns them.
    #[track_caller]
    fn settle(&self) -> Vec<Value> {
        let mut sessions = Vec::new();
        let settled = look_until(Instant::now() + TIMEOUT, || {
            sessions = self.scene.sessions();
            sessions.iter().all(|session| self.is_settled(session)).then_some(())
        });
        assert!(settled.is_some(), "does not settle: {sessions:#?}");
        sessions
    }

    fn is_settled(&self, session: &Value) -> bool {
        let pid = session["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        match session["phase"].as_str() {
            // Its timeout will expire soon.
            Some("running")
                if self.scenario == Scenario::Overdue && session["name"] == "subject" =>
            {
                false
            }
            Some("running") => session["wanted"] == "running" && pid.is_some_and(alive),
            Some("cleaned") => true,
            Some("lost") => self.may_be_lost(session),
            _ => false,
        }
    }

    /// Only where no process is left that could observe it.
    fn may_be_lost(&self, session: &Value) -> bool {
        let harmed = if session["name"] == "bystander" {
            self.bystander_harmed
        } else {
            self.subject_harmed
        };
        self.scene.pen == Pen::Subtree && self.yard_killed && harmed
    }

    /// Checks that every live process is below the keeper of a running session.
    #[track_caller]
    fn check_processes(&self, sessions: &[Value]) {
        let phase = |wanted: &str| sessions.iter().filter(|s| s["phase"] == wanted).count();
        let (running, lost) = (phase("running"), phase("lost"));
        let (mut left, mut keepers) = (Vec::new(), Vec::new());
        let owned = look_until(Instant::now() + TIMEOUT, || {
            let processes = self.scene.processes();
            keepers = self.scene.keepers();
            left = unowned(&processes, &keepers);
            // The processes of a lost session are unknown.
            left.retain(|process| lost == 0 || !self.is_unseen(process));
            (left.is_empty() && keepers.len() == running).then_some(())
        });
        assert!(
            owned.is_some(),
            "live processes without an owner: {left:#?}, {running} sessions run, keepers {keepers:?}"
        );
    }

    /// A process that left its parents before its keeper died and has no mark.
    fn is_unseen(&self, process: &Process) -> bool {
        let daemon = |(pid, role): &(i32, String)| *pid == process.pid && role == "daemon";
        self.scene.pids().iter().any(daemon)
    }

    /// Checks that the scenario's commands reported the truth.
    #[track_caller]
    fn check_answers(&self, sessions: &[Value]) {
        let subject = self.subject.find(sessions);
        for ended in &self.results {
            assert!(ended.code >= 0, "a command was killed: {ended:?}");
        }
        let Some(result) = self.results.last().filter(|result| result.code == 0) else { return };
        let phase = subject.map(|session| session["phase"].as_str().unwrap_or_default());
        match self.scenario {
            Scenario::Launch
            | Scenario::Worktree
            | Scenario::Exit
            | Scenario::WorktreeExit
            | Scenario::Ready
            | Scenario::Overdue => {
                let id = subject.map(|session| session["id"].clone());
                assert_eq!(id, Some(Value::from(result.stdout.trim_end())), "{result:?}");
            }
            Scenario::Cancel | Scenario::Stop => {
                // A session cancelled before it was on record does not exist.
                assert!(matches!(phase, None | Some("cleaned")), "{result:?}: {phase:?}");
            }
            Scenario::Removal => assert_eq!(phase, None, "{result:?}"),
            Scenario::Shutdown => assert_eq!(phase, Some("cleaned"), "{result:?}"),
            Scenario::Restart if !self.subject_harmed => {
                assert_eq!(phase, Some("running"), "{result:?}")
            }
            Scenario::Report if !self.subject_harmed => {
                let reported = subject.map(|session| session["activity"].clone());
                assert_eq!(reported, Some("busy".into()), "{result:?}");
            }
            Scenario::Report => {}
            Scenario::Restart
            | Scenario::SpareDeath
            | Scenario::KeeperDeath
            | Scenario::Adoption => {}
        }
    }

    /// A session that can't be observed stays until it is forgotten.
    #[track_caller]
    fn forget_the_lost(&self, sessions: &[Value]) {
        for lost in sessions.iter().filter(|session| session["phase"] == "lost") {
            let id = lost["id"].as_str().expect("an id");
            self.scene.call_json(&["strays", "--json"]);
            self.scene.call_ok(&["forget", id]);
            let forgotten = self.scene.session(id);
            assert_eq!(forgotten["phase"], "cleaned", "{forgotten:#}");
            assert_eq!(forgotten["reason"]["kind"], "forgotten", "{forgotten:#}");
        }
    }

    /// At the end, nothing is left, the status is correct and the output is complete.
    #[track_caller]
    fn check_end(&self, part: &Part, sessions: &[Value], harmed: bool, before: &Journal) {
        let noted = part.noted(self.scene);
        let Some(session) = part.find(sessions) else {
            let removed = self.scenario == Scenario::Removal && part.name == "subject";
            assert!(removed || noted == Noted::Nothing, "it ran, and is on no record");
            return;
        };
        assert_eq!(session["phase"], "cleaned", "{session:#}");
        let folder = PathBuf::from(session["folder"].as_str().expect("a folder"));
        assert!(!folder.join("keeper.sock").exists(), "the socket of {session:#}");
        assert!(!folder.join("token").exists(), "the token of {session:#}");
        eventually("its lock is free", || is_free(&folder.join("lock")));
        self.check_exit(session, noted, harmed);
        if self.scenario == Scenario::Removal && part.name == "subject" {
            return; // its folder may be removed before its row
        }
        check_output(&folder, before, session, harmed);
    }

    #[track_caller]
    fn check_exit(&self, session: &Value, noted: Noted, harmed: bool) {
        let exit = &session["exit"];
        match exit["kind"].as_str().expect("an exit") {
            "never_ran" => assert_eq!(noted, Noted::Nothing, "it ran: {session:#}"),
            // An agent without a reader ends by itself too.
            "code" if harmed && exit["code"] == NO_READER_CODE => {
                assert_eq!(noted, Noted::Started, "{session:#}");
            }
            "code" => {
                assert_eq!(
                    (&exit["code"], noted),
                    (&Value::from(CODE), Noted::Ended),
                    "{session:#}"
                );
            }
            "signal" => assert_ne!(noted, Noted::Ended, "it ended by itself: {session:#}"),
            "unknown" => {
                // Neither keeper nor kernel could report it: the keeper is dead, and with it the
                // pidfd.
                assert!(harmed, "its keeper could report the status: {session:#}");
                let replaced = matches!(self.scenario, Scenario::Adoption | Scenario::Restart);
                // An agent that died before its exec has a status that is not the program's.
                let untold = replaced || noted == Noted::Nothing;
                let holder_died = self.victims.daemon || self.yard_killed || untold;
                assert!(holder_died, "the kernel could report the status: {session:#}");
                let is_subject = session["name"] == "subject";
                let safe = OUTCOME_IS_SAFE.iter().any(|point| self.point.starts_with(point));
                assert!(!(is_subject && safe), "its outcome was safe: {session:#}");
            }
            other => panic!("{other}: {session:#}"),
        }
    }

    /// A lost session may leave processes: only the test can end them.
    fn end_unobserved_processes(&self) {
        if self.scene.pen == Pen::Subtree && self.yard_killed && self.victims.keeper {
            for process in self.scene.processes().iter().filter(|p| self.is_unseen(p)) {
                kennel_testing::signal(process.pid, "KILL");
            }
        }
    }
}

/// Processes that are neither keepers nor below one.
fn unowned(processes: &[Process], keepers: &[i32]) -> Vec<Process> {
    let mut owned: HashSet<i32> = keepers.iter().copied().collect();
    // A child's pid may be lower than its parent's, so repeat until nothing is added.
    loop {
        let below = processes.iter().filter(|process| owned.contains(&process.parent));
        let before = owned.len();
        owned.extend(below.map(|process| process.pid).collect::<Vec<_>>());
        if owned.len() == before {
            break;
        }
    }
    let alive = processes.iter().filter(|process| process.state != 'Z');
    alive.filter(|process| !owned.contains(&process.pid)).cloned().collect()
}

/// Checks that the keeper's output is complete and in order, and gaps are marked.
#[track_caller]
fn check_output(folder: &Path, before: &Journal, session: &Value, harmed: bool) {
    let after = Journal::read(folder);
    assert!(after.text.starts_with(&before.text), "output was lost: {session:#}");
    after.assert_in_order();
    let ran = session["exit"]["kind"] != "never_ran";
    if !harmed {
        assert_eq!(after.gaps, [], "{session:#}");
    } else if ran && session["reason"]["kind"] == "keeper_died" {
        assert!(!after.gaps.is_empty(), "the gap is not marked: {session:#}");
    }
    if !harmed && session["exit"]["kind"] == "code" {
        assert_eq!(after.numbers().len(), 10, "not all of its output: {after:?}");
    }
}
