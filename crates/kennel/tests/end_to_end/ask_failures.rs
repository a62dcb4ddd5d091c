//! Failures that other systems had: prompts that crash, are retried, cancelled, doubled or killed
//! are launched exactly as often as they should be, and leave nothing.

use std::fs;
use std::path::PathBuf;

use kennel_testing::{Pen, Running, Scene, Who, eventually, signal};
use serde_json::Value;

use crate::ask::AskScene;
use crate::crash_case::Victims;
use crate::resource_baseline::{Held, held};

/// How many prompts fail. If one kind in six leaked a descriptor, folder or process, ten would
/// remain.
const MANY: usize = 60;
/// How many members run at the same time.
const MEMBERS: usize = 10;

/// How a prompt fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptFailure {
    /// Its agent crashes.
    Crash,
    /// Its agent prints nonsense.
    Nonsense,
    /// It is interrupted while it waits for an answer.
    Cancel,
    /// It is interrupted when its provider has failed, just before, or in the pause after that.
    CancelRetry,
    /// It is interrupted right after the request, in whatever state it is.
    CancelAtOnce,
    /// The client is killed while a daemonized tool runs.
    Orphan,
}

impl PromptFailure {
    const ALL: [Self; 6] = [
        Self::Crash,
        Self::Cancel,
        Self::Nonsense,
        Self::CancelRetry,
        Self::CancelAtOnce,
        Self::Orphan,
    ];

    fn script(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Nonsense => "nonsense",
            Self::Cancel => "hang",
            Self::CancelRetry | Self::CancelAtOnce => "overloaded",
            Self::Orphan => "leak hang",
        }
    }

    /// The exit codes that the client may get, and the possible numbers of launches.
    fn outcome(self) -> (&'static [i32], std::ops::RangeInclusive<usize>) {
        match self {
            Self::Crash => (&[19], 1..=1),
            Self::Nonsense => (&[20], 1..=1),
            Self::Cancel => (&[130], 1..=1),
            // The verdict is overloaded if nothing was running that could be cancelled.
            Self::CancelRetry => (&[130, 12], 1..=1),
            // Before the client handles signals, an interrupt ends it, as any program.
            Self::CancelAtOnce => (&[130, 12, -2], 0..=1),
            Self::Orphan => (&[-9], 1..=1),
        }
    }
}

/// A member with its own agent.
struct ScriptedMember<'a> {
    ask_scene: &'a AskScene,
    name: String,
    folder: PathBuf,
}

impl<'a> ScriptedMember<'a> {
    fn new(ask_scene: &'a AskScene, number: usize) -> Self {
        let name = format!("m{number}");
        let folder = ask_scene.scene.path(&format!("work/{name}"));
        fs::create_dir(&folder).expect("mkdir");
        ask_scene.scene.give(&folder);
        ask_scene.add(&name);
        Self { ask_scene, name, folder }
    }

    fn starts(&self) -> usize {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(!log.contains("COLLISION"), "two at once: {log}");
        log.lines().filter(|line| line.starts_with("start ")).count()
    }

    fn fail_prompts(&self, failure: PromptFailure) {
        fs::write(self.folder.join("script"), format!("{}\n", failure.script())).expect("a script");
        let before = self.starts();
        let pen = self.ask_scene.scene.pen_name();
        let args = ["ask", "--pen", pen, "--grace", "100ms", "--queue", &self.name, "hello"];
        let mut command = self.ask_scene.kennel(&args);
        command.env("FAKE_CLAUDE", &self.folder);
        let asked = Running::start(command);
        let launched = || eventually("it is launched", || self.starts() > before);
        match failure {
            PromptFailure::Crash | PromptFailure::Nonsense => {}
            PromptFailure::CancelAtOnce => drop(asked.signal("INT")),
            PromptFailure::Cancel | PromptFailure::CancelRetry => {
                launched();
                asked.signal("INT");
            }
            PromptFailure::Orphan => {
                launched();
                asked.signal("KILL");
            }
        }
        let ended = asked.wait();
        let (codes, launches) = failure.outcome();
        assert!(codes.contains(&ended.code), "{failure:?}: {ended:?}");
        // (No client has waited for the end of an orphaned prompt: the next one waits in the
        // queue.)
        let more = self.starts() - before;
        assert!(launches.contains(&more), "{failure:?}: launched {more} times");
    }
}

/// Makes this many prompts fail, at all members at once.
fn fail_prompts(members: &[ScriptedMember<'_>], many: usize) {
    std::thread::scope(|scope| {
        for (place, member) in members.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..many / members.len() {
                    member.fail_prompts(
                        PromptFailure::ALL[(place + round) % PromptFailure::ALL.len()],
                    );
                }
            });
        }
    });
}

/// Waits until nothing runs, and prunes ended sessions.
fn quiet(scene: &Scene) -> Held {
    eventually("everything ends", || scene.processes().is_empty() && scene.pens().is_empty());
    scene.call_ok(&["prune"]);
    let mut now = held(scene);
    eventually("it is forgotten", || {
        now = held(scene);
        now.folders == 0
    });
    now
}

/// After many crashes, retries and cancels, all resources are back at the baseline.
#[test]
fn many_failed_prompts_leave_everything_at_the_baseline() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &["ok"]) else { return };
    let members: Vec<_> =
        (0..MEMBERS).map(|number| ScriptedMember::new(&ask_scene, number)).collect();
    // The first ones fill the caches.
    fail_prompts(&members, MEMBERS * PromptFailure::ALL.len());
    let before = quiet(&ask_scene.scene);
    fail_prompts(&members, MANY);
    let mut after = quiet(&ask_scene.scene);
    eventually(&format!("it is as before: {before:?}"), || {
        after = held(&ask_scene.scene);
        after.daemon <= before.daemon && after.yard <= before.yard
    });
    assert_eq!(Held { daemon: before.daemon, yard: before.yard, ..after }, before);
    assert_eq!(ask_scene.scene.sessions(), Vec::<Value>::new());
    let strays = ask_scene.scene.call_json(&["strays", "--json"]);
    assert_eq!(strays["strays"], Value::Array(Vec::new()), "{strays:#}");
    drop(members);
    ask_scene.end();
}

impl AskScene {
    /// Kills the running agent from outside.
    fn kill_the_agent(&self, launches: usize) {
        self.wait_launches(launches);
        let log = self.log();
        let line = log.iter().rfind(|line| line.starts_with("start ")).expect("a launch");
        let pid = line.split(' ').nth(1).and_then(|pid| pid.parse().ok()).expect("a pid");
        signal(pid, "KILL");
    }

    fn conversation(&self) -> String {
        self.member("anna")["conversation"].as_str().expect("a conversation").to_owned()
    }
}

/// Several failures on one member, one after the other: each costs exactly the launches that it
/// should.
#[test]
fn stale_killed_overloaded_and_doubled_prompts_cost_their_launches() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let script = ["ok one", "stale", "ok two", "leak hang", "overloaded", "ok three", "hang"];
        let Some(ask_scene) = AskScene::new(who, pen, &script) else { continue };
        ask_scene.add("anna");
        assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
        let first = ask_scene.conversation();
        // Its conversation is gone: one launch without it.
        assert_eq!(ask_scene.ask(&["anna", "go on"]).stdout, "two\n");
        let second = ask_scene.conversation();
        // It is killed while it works: that must not look like a missing conversation.
        let asked = ask_scene.start(&["anna", "go on"]);
        ask_scene.kill_the_agent(4);
        let reported = asked.wait();
        assert_eq!(reported.code, 137, "{reported:?}");
        assert_eq!(ask_scene.conversation(), second);
        // The provider is overloaded: retry once with the same conversation.
        assert_eq!(ask_scene.ask(&["anna", "--retries", "3", "go on"]).stdout, "three\n");
        // Four at once: one runs.
        let mut four: Vec<_> = (0..4).map(|_| ask_scene.start(&["anna", "go on"])).collect();
        eventually("three are answered", || {
            four.iter_mut().filter_map(|ask| ask.has_ended().then_some(())).count() == 3
        });
        ask_scene.kill_the_agent(7);
        let mut codes: Vec<_> = four.into_iter().map(|ask| ask.wait().code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [1, 1, 1, 137]);
        let with = |id: &str| ask_scene.launches().iter().filter(|it| *it == id).count();
        assert_eq!(ask_scene.launches().len(), 7);
        assert_eq!((with("fresh"), with(&first), with(&second)), (2, 1, 4));
        assert_eq!(ask_scene.member("anna")["attempts"], 7);
        // Four queued prompts run one at a time.
        ask_scene.script(&["ok"]);
        let four: Vec<_> = (0..4).map(|_| ask_scene.start(&["anna", "--queue", "go on"])).collect();
        assert!(four.into_iter().all(|ask| ask.wait().code == 0));
        assert_eq!((ask_scene.launches().len(), with(&second)), (11, 8));
        ask_scene.end();
    }
}

/// The same failures at once: other prompts arrive during a retry and are queued or refused.
#[test]
fn prompts_between_two_attempts_are_queued_or_refused() {
    let script = ["ok one", "overloaded", "stale", "ok two", "leak hang", "overloaded"];
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &script) else { return };
    ask_scene.add("anna");
    assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
    let first = ask_scene.conversation();
    let again = ask_scene.start(&["anna", "--retries", "2", "a"]);
    eventually("it pauses", || ask_scene.events("retry_pending").len() == 1);
    // (Until it is over, the member is busy: also in the pause and in all further attempts.)
    let third = ask_scene.start(&["anna", "--queue", "c"]);
    eventually("it waits", || ask_scene.member("anna")["waiting"] == 1);
    let fourth = ask_scene.start(&["anna", "--queue", "--retries", "0", "d"]);
    let refused: Vec<_> = (0..2).map(|_| ask_scene.start(&["anna", "b"])).collect();
    for refused in refused {
        let reported = refused.wait();
        assert_eq!(reported.code, 1, "{reported:?}");
        assert!(reported.stderr.contains("busy"), "{reported:?}");
    }
    let reported = again.wait();
    assert_eq!((reported.code, reported.stdout.as_str()), (0, "two\n"), "{reported:?}");
    ask_scene.kill_the_agent(5);
    let reported = third.wait();
    assert_eq!(reported.code, 137, "{reported:?}");
    let reported = fourth.wait();
    assert_eq!(reported.code, 12, "{reported:?}");
    let second = ask_scene.conversation();
    let [first, second] = [first.as_str(), second.as_str()];
    // A queued prompt uses the conversation of its turn, not the one at the time of the request.
    assert_eq!(ask_scene.launches(), ["fresh", first, first, "fresh", second, second]);
    assert_eq!(ask_scene.member("anna")["attempts"], 6);
    ask_scene.end();
}

/// B7: a crashed agent left a process that ignores TERM. A cancel returns when that is gone too.
#[test]
fn a_cancel_ends_what_a_crashed_agent_has_left() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(ask_scene) = AskScene::new(who, pen, &["deaf crash"]) else { continue };
        ask_scene.add("anna");
        let asked = ask_scene.start(&["--grace", "100ms", "anna", "hello"]);
        ask_scene.wait_launches(1);
        let busy = || ask_scene.member("anna")["busy_with"].as_str().map(ToOwned::to_owned);
        eventually("the agent has crashed", || {
            busy().is_none_or(|id| ask_scene.scene.session(&id)["exit"]["code"] == 3)
        });
        asked.signal("INT");
        let reported = asked.wait();
        ask_scene.scene.assert_nothing_left();
        // It had ended by itself.
        assert_eq!(reported.code, 19, "{reported:?}");
        assert_eq!(ask_scene.launches().len(), 1);
        ask_scene.end();
    }
}

/// S12: the launch was granted, then daemon and keeper die. It may have run, so it is never
/// retried.
#[test]
fn a_prompt_that_may_have_run_is_not_retried() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(ask_scene) = AskScene::new(who, pen, &["leak hang", "ok"]) else { continue };
        ask_scene.add("anna");
        let reported = ask_scene.ask(&["-d", "anna", "--retries", "5", "--replay", "hello"]);
        let id = reported.stdout.trim().to_owned();
        ask_scene.wait_launches(1);
        eventually("its tree is up", || ask_scene.scene.pids().len() >= 3);
        let victims = Victims { daemon: true, keeper: true, yard: false };
        let killed = victims.kill(&ask_scene.scene, ask_scene.scene.keeper());
        assert!(killed.daemon.is_some() && killed.keeper.is_some(), "{killed:?}");
        let reported = ask_scene.scene.call(&["answer", "--json", &id]);
        let answer: Value = serde_json::from_str(&reported.stdout).expect("JSON");
        assert!([20, 137].contains(&reported.code), "{reported:?}");
        assert_eq!(answer["attempts"], 1, "{answer:#}");
        ask_scene.scene.assert_nothing_left_soon();
        assert_eq!(ask_scene.launches().len(), 1);
        // The member is free and continues.
        assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
        assert_eq!(
            (ask_scene.launches().len(), &ask_scene.member("anna")["attempts"]),
            (2, &2.into())
        );
        ask_scene.end();
    }
}
