//! The judge notices: each rule with evidence that breaks it.

use std::collections::BTreeMap;

use kennel_types::{ReadyState, RelaunchState, SessionSpec};

use super::*;
use crate::draw::{Drawer, dice};
use crate::wish::Wish;

const NAME: &str = "x";
const ID: &str = "0aaaaaaaaaaa";

/// Evidence of one session.
struct World {
    deeds: Deeds,
    sessions: Vec<SessionView>,
    witnesses: BTreeMap<String, Witness>,
    outputs: BTreeMap<String, Output>,
}

impl World {
    /// One that ended by itself with 7 after three lines, and nothing is wrong.
    fn sound() -> Self {
        let plain = Wish {
            job: Job::Ends { lines: 3, pause_ms: 1, code: 7, daemon: true },
            pen: None,
            foreground: false,
            keyed: false,
            restarts: 0,
            timeout_ms: None,
            idle_ms: None,
            silence_ms: None,
            lease_ms: None,
            ready: None,
            worktree: Worktree::No,
            reports: false,
            ..Wish::draw(&mut dice(1, 0, Drawer::Epoch), &["subtree"])
        };
        let mut deeds = Deeds::default();
        deeds.ask(NAME, &plain);
        if let Some(asked) = deeds.asked.get_mut(NAME) {
            asked.answered.insert(ID.into());
        }
        let witness = Witness::parse(&format!("start 5 {ID}\nend 5 7\n"));
        let output = Output { numbers: vec![0, 1, 2], ..Output::default() };
        Self {
            deeds,
            sessions: vec![view(ID)],
            witnesses: [(NAME.to_owned(), witness)].into(),
            outputs: [(ID.to_owned(), output)].into(),
        }
    }

    fn asked(&mut self) -> &mut Asked {
        self.deeds.asked.get_mut(NAME).unwrap()
    }

    fn note(&mut self, log: &str) {
        self.witnesses.insert(NAME.into(), Witness::parse(log));
    }

    fn output(&mut self) -> &mut Output {
        self.outputs.get_mut(ID).unwrap()
    }

    fn wrong(&self) -> Vec<String> {
        judge(&Evidence {
            deeds: &self.deeds,
            sessions: &self.sessions,
            witnesses: &self.witnesses,
            outputs: &self.outputs,
        })
    }

    /// Something is wrong, and it is this.
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
        queue_place: None,
        key: None,
        kept: Vec::new(),
    }
}

#[test]
fn what_is_sound_is_not_complained_of() {
    World::sound().assert_sound();
}

#[test]
fn what_is_on_no_record_is_seen() {
    let mut world = World::sound();
    world.sessions.clear();
    world.assert_wrong("was answered, and is on no record");
    world.assert_wrong("ran, and is on no record");
    world.asked().removal = true;
    world.assert_sound();
}

#[test]
fn what_nobody_asked_for_is_seen() {
    let mut world = World::sound();
    world.sessions.push(SessionView { name: Some("y".into()), ..view("0bbbbbbbbbbb") });
    world.assert_wrong("nobody asked for 0bbbbbbbbbbb");
}

#[test]
fn two_at_once_are_seen() {
    let mut world = World::sound();
    world.note(&format!("start 5 {ID}\nCOLLISION 6 {ID}_2\nend 5 7\n"));
    world.assert_wrong("two at a time");
    let mut world = World::sound();
    world.note(&format!("start 5 {ID}\nstart 6 {ID}\nend 6 7\n"));
    world.assert_wrong("ran 2 times");
    let mut world = World::sound();
    world.sessions.push(view("0aaaaaaaaaaa_2"));
    world.assert_wrong("2 launches, and 1 at most");
    let mut world = World::sound();
    world.asked().answered.insert("0bbbbbbbbbbb".into());
    world.assert_wrong("one key, several sessions");
}

#[test]
fn a_status_that_is_not_the_agents_own_is_seen() {
    let mut world = World::sound();
    world.sessions[0].exit = Some(Exit::Code { code: 0 });
    world.assert_wrong("is said to have exited with 0");
    world.sessions[0].exit = Some(Exit::NeverRan);
    world.assert_wrong("is said not to have");
    world.sessions[0].exit = None;
    world.assert_wrong("has no exit");
    world.sessions[0].exit = Some(Exit::Unknown { why: "lost".into() });
    world.assert_wrong("its keeper could tell");
    world.deeds.blows.keepers.insert(ID.into());
    world.assert_sound();
}

#[test]
fn a_signal_that_nobody_sent_is_seen() {
    let mut world = World::sound();
    world.note(&format!("start 5 {ID}\n"));
    world.sessions[0].exit = Some(Exit::Signal { signal: 9, core: false, oom: false });
    world.assert_wrong("signal 9 ended it, which nobody had sent");
    world.asked().agent_killed = true;
    world.assert_sound();
    world.asked().agent_killed = false;
    world.asked().stop = true;
    world.assert_sound();
}

#[test]
fn a_reason_that_nobody_gave_is_seen() {
    for reason in [
        Reason::Rebooted,
        Reason::Stopped { by: "a ghost".into() },
        Reason::LeaseOver,
        Reason::KeeperDied,
        Reason::Failed { code: 204, why: "no program".into() },
    ] {
        let mut world = World::sound();
        world.sessions[0].reason = Some(reason);
        world.assert_wrong("for a reason that nobody gave");
    }
}

#[test]
fn a_keeper_of_nobody_excuses_one_launch_and_no_more() {
    let mut world = World::sound();
    world.sessions[0].exit = Some(Exit::Unknown { why: "lost".into() });
    world.deeds.blows.keepers_of_nobody = 1;
    world.assert_sound();
    world.asked().resumes = 1;
    world
        .sessions
        .push(SessionView { exit: world.sessions[0].exit.clone(), ..view("0aaaaaaaaaaa_2") });
    world.assert_wrong("its keeper could tell");
}

#[test]
fn lost_output_is_seen() {
    let mut world = World::sound();
    world.output().numbers = vec![0, 2];
    world.assert_wrong("no gap is marked");
    world.output().numbers = vec![0, 1];
    world.assert_wrong("2 of 3 lines are there");
    world.output().gaps = vec![LossReason::DiskFull];
    world.assert_wrong("a gap in its output that nothing made");
    world.deeds.blows.disk = true;
    world.assert_sound();
    world.output().unreadable = Some("broken".into());
    world.assert_wrong("can't be read");
}

#[test]
fn a_gap_that_is_not_marked_is_seen() {
    let mut world = World::sound();
    world.deeds.blows.keepers.insert(ID.into());
    world.sessions[0].reason = Some(Reason::KeeperDied);
    world.assert_wrong("the gap is not marked");
}

#[test]
fn a_removal_that_was_cut_off_may_have_taken_all_the_output_and_not_some_of_it() {
    let mut world = World::sound();
    world.output().numbers.pop();
    world.asked().removal = true;
    world.assert_wrong("lines are there");
    world.output().numbers.clear();
    world.assert_sound();
    world.asked().removal = false;
    world.assert_wrong("lines are there");
}

#[test]
fn what_is_lost_without_need_is_seen() {
    let mut world = World::sound();
    world.sessions[0].phase = Phase::Lost;
    world.assert_wrong("lost, and somebody could see it");
    world.deeds.blows.keepers.insert(ID.into());
    world.assert_wrong("lost, and somebody could see it");
    world.deeds.blows.yard = 1;
    world.assert_sound();
    world.sessions[0].pen = Some("/sys/fs/cgroup/x".into());
    world.assert_wrong("lost, and somebody could see it");
}

#[test]
fn an_answer_that_is_not_true_is_seen() {
    let mut world = World::sound();
    world.asked().codes.push(("wait", 7));
    world.assert_sound();
    world.asked().codes.push(("wait", 0));
    world.assert_wrong("wait said 0");
    let mut world = World::sound();
    world.asked().denied = true;
    world.assert_wrong("nothing was started, and it ran");
    let mut world = World::sound();
    world.asked().stopped = true;
    world.assert_sound();
    world.sessions[0].phase = Phase::Running;
    world.assert_wrong("said to be stopped, and is not");
}
