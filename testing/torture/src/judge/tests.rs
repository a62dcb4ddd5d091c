//! Tests each rule of the judge with evidence that breaks it.

use std::collections::BTreeMap;

use kennel_types::{ReadyState, RelaunchState, SessionSpec};

use super::*;
use crate::random::{RandomStream, random_numbers};
use crate::run_arguments::RunArguments;

const NAME: &str = "x";
const ID: &str = "0aaaaaaaaaaa";

/// The evidence of one session.
struct TestEvidence {
    record: LedgerRecord,
    sessions: Vec<SessionView>,
    witnesses: BTreeMap<String, Witness>,
    outputs: BTreeMap<String, JournalOutput>,
}

impl TestEvidence {
    /// A session that exited with 7 after three lines, without findings.
    fn sound() -> Self {
        let plain = RunArguments {
            job: AgentJob::Ends { lines: 3, pause_ms: 1, code: 7, daemon: true },
            pen: None,
            foreground: false,
            keyed: false,
            restarts: 0,
            timeout_ms: None,
            idle_ms: None,
            silence_ms: None,
            lease_ms: None,
            ready: None,
            worktree: WorktreeFlag::No,
            reports: false,
            ..RunArguments::draw(&mut random_numbers(1, 0, RandomStream::Epoch), &["subtree"])
        };
        let mut record = LedgerRecord::default();
        record.ask(NAME, &plain);
        if let Some(requested) = record.requested.get_mut(NAME) {
            requested.answered.insert(ID.into());
        }
        let witness = Witness::parse(&format!("start 5 {ID}\nend 5 7\n"));
        let output = JournalOutput { numbers: vec![0, 1, 2], ..JournalOutput::default() };
        Self {
            record,
            sessions: vec![view(ID)],
            witnesses: [(NAME.to_owned(), witness)].into(),
            outputs: [(ID.to_owned(), output)].into(),
        }
    }

    fn requested(&mut self) -> &mut RequestedSession {
        self.record.requested.get_mut(NAME).unwrap()
    }

    fn note(&mut self, log: &str) {
        self.witnesses.insert(NAME.into(), Witness::parse(log));
    }

    fn output(&mut self) -> &mut JournalOutput {
        self.outputs.get_mut(ID).unwrap()
    }

    fn wrong(&self) -> Vec<String> {
        judge(&TortureEvidence {
            record: &self.record,
            sessions: &self.sessions,
            witnesses: &self.witnesses,
            outputs: &self.outputs,
        })
    }

    /// Asserts that one of the findings contains this text.
    #[track_caller]
    fn assert_wrong(&self, what: &str) {
        let wrong = self.wrong();
        assert!(wrong.iter().any(|it| it.contains(what)), "{what} is not in {wrong:#?}");
    }

    #[track_caller]
    fn assert_sound(&self) {
        assert_eq!(self.wrong(), Vec::<String>::new());
    }
}

fn view(id: &str) -> SessionView {
    SessionView {
        id: id.into(),
        started_by: kennel_types::StartedBy::Kennel,
        name: Some(NAME.into()),
        phase: Phase::Cleaned,
        wanted: "running".into(),
        pid: Some(5),
        pen: Some("subtree".into()),
        exit: Some(Exit::Code { code: 7 }),
        exit_code: Some(7),
        reason: Some(Reason::Exited),
        created_at: String::new(),
        started_at: None,
        ended_at: None,
        spec: SessionSpec::default(),
        owed: Vec::new(),
        survivors: Vec::new(),
        folder: String::new(),
        unrecorded: false,
        judged: None,
        trouble: Vec::new(),
        session: session_of(id).into(),
        attempt: 1,
        launches: 1,
        relaunch: RelaunchState::Undecided,
        ready: ReadyState::Unasked,
        activity: None,
        title: None,
        progress: None,
        queue_position: None,
        key: None,
        kept: Vec::new(),
    }
}

#[test]
fn accepts_a_session_without_faults() {
    TestEvidence::sound().assert_sound();
}

#[test]
fn finds_what_is_missing_on_record() {
    let mut evidence = TestEvidence::sound();
    evidence.sessions.clear();
    evidence.assert_wrong("was answered, but is not on record");
    evidence.assert_wrong("ran, but is not on record");
    evidence.requested().removal = true;
    evidence.assert_sound();
}

#[test]
fn finds_a_session_that_was_never_requested() {
    let mut evidence = TestEvidence::sound();
    evidence.sessions.push(SessionView { name: Some("y".into()), ..view("0bbbbbbbbbbb") });
    evidence.assert_wrong("0bbbbbbbbbbb was never requested");
}

#[test]
fn finds_two_launches_at_the_same_time() {
    let mut evidence = TestEvidence::sound();
    evidence.note(&format!("start 5 {ID}\nCOLLISION 6 {ID}_2\nend 5 7\n"));
    evidence.assert_wrong("two launches at the same time");
    let mut evidence = TestEvidence::sound();
    evidence.note(&format!("start 5 {ID}\nstart 6 {ID}\nend 6 7\n"));
    evidence.assert_wrong("ran 2 times");
    let mut evidence = TestEvidence::sound();
    evidence.sessions.push(view("0aaaaaaaaaaa_2"));
    evidence.assert_wrong("2 launches, but only 1");
    let mut evidence = TestEvidence::sound();
    evidence.requested().answered.insert("0bbbbbbbbbbb".into());
    evidence.assert_wrong("several sessions for one key");
}

#[test]
fn finds_a_status_that_is_not_the_agents() {
    let mut evidence = TestEvidence::sound();
    evidence.sessions[0].exit = Some(Exit::Code { code: 0 });
    evidence.assert_wrong("but the record has exit code 0");
    evidence.sessions[0].exit = Some(Exit::NeverRan);
    evidence.assert_wrong("the record states that it did not");
    evidence.sessions[0].exit = None;
    evidence.assert_wrong("without an exit status");
    evidence.sessions[0].exit = Some(Exit::Unknown { why: "lost".into() });
    evidence.assert_wrong("although its keeper lived");
    evidence.record.faults.keepers.insert(ID.into());
    evidence.assert_sound();
}

#[test]
fn finds_a_signal_that_was_never_sent() {
    let mut evidence = TestEvidence::sound();
    evidence.note(&format!("start 5 {ID}\n"));
    evidence.sessions[0].exit = Some(Exit::Signal { signal: 9, core: false, oom: false });
    evidence.assert_wrong("signal 9 ended it, but was never sent");
    evidence.requested().agent_killed = true;
    evidence.assert_sound();
    evidence.requested().agent_killed = false;
    evidence.requested().stop = true;
    evidence.assert_sound();
}

#[test]
fn finds_a_reason_without_a_cause() {
    for reason in [
        Reason::Rebooted,
        Reason::Stopped { by: "a ghost".into() },
        Reason::LeaseOver,
        Reason::KeeperDied,
        Reason::Failed { code: kennel_types::LaunchFailure::Exec, why: "no program".into() },
    ] {
        let mut evidence = TestEvidence::sound();
        evidence.sessions[0].reason = Some(reason);
        evidence.assert_wrong("for a reason without a cause");
    }
}

#[test]
fn a_killed_keeper_of_an_unknown_launch_explains_only_one_launch() {
    let mut evidence = TestEvidence::sound();
    evidence.sessions[0].exit = Some(Exit::Unknown { why: "lost".into() });
    evidence.record.faults.unknown_keepers = 1;
    evidence.assert_sound();
    evidence.requested().resumes = 1;
    evidence
        .sessions
        .push(SessionView { exit: evidence.sessions[0].exit.clone(), ..view("0aaaaaaaaaaa_2") });
    evidence.assert_wrong("although its keeper lived");
}

#[test]
fn finds_lost_output() {
    let mut evidence = TestEvidence::sound();
    evidence.output().numbers = vec![0, 2];
    evidence.assert_wrong("no gap is marked");
    evidence.output().numbers = vec![0, 1];
    evidence.assert_wrong("only 2 of 3 lines");
    evidence.output().gaps = vec![LossReason::DiskFull];
    evidence.assert_wrong("a gap in its output without a cause");
    evidence.record.faults.disk = true;
    evidence.assert_sound();
    evidence.output().unreadable = Some("broken".into());
    evidence.assert_wrong("can't read its journal");
}

#[test]
fn finds_a_gap_that_is_not_marked() {
    let mut evidence = TestEvidence::sound();
    evidence.record.faults.keepers.insert(ID.into());
    evidence.sessions[0].reason = Some(Reason::KeeperDied);
    evidence.assert_wrong("the gap is not marked");
}

#[test]
fn an_interrupted_removal_may_delete_all_output_but_not_some_of_it() {
    let mut evidence = TestEvidence::sound();
    evidence.output().numbers.pop();
    evidence.requested().removal = true;
    evidence.assert_wrong("of 3 lines");
    evidence.output().numbers.clear();
    evidence.assert_sound();
    evidence.requested().removal = false;
    evidence.assert_wrong("of 3 lines");
}

#[test]
fn finds_a_session_that_is_lost_without_need() {
    let mut evidence = TestEvidence::sound();
    evidence.sessions[0].phase = Phase::Lost;
    evidence.assert_wrong("lost, although its processes could be found");
    evidence.record.faults.keepers.insert(ID.into());
    evidence.assert_wrong("lost, although its processes could be found");
    evidence.record.faults.yard = 1;
    evidence.assert_sound();
    evidence.sessions[0].pen = Some("/sys/fs/cgroup/x".into());
    evidence.assert_wrong("lost, although its processes could be found");
}

#[test]
fn finds_an_answer_that_is_not_true() {
    let mut evidence = TestEvidence::sound();
    evidence.requested().codes.push(("wait", 7));
    evidence.assert_sound();
    evidence.requested().codes.push(("wait", 0));
    evidence.assert_wrong("wait returned 0");
    let mut evidence = TestEvidence::sound();
    evidence.requested().denied = true;
    evidence.assert_wrong("nothing was started, but it ran");
    let mut evidence = TestEvidence::sound();
    evidence.requested().stopped = true;
    evidence.assert_sound();
    evidence.sessions[0].phase = Phase::Running;
    evidence.assert_wrong("that it is stopped, but it is not");
}
