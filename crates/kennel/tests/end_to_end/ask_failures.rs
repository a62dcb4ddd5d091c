//! Stories of prompts that went wrong elsewhere, told here: what crashes, is retried, cancelled, doubled or killed is launched
//! exactly as often as it should be, and leaves nothing.

use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::{Pen, Running, Scene, Who, eventually, signal};
use serde_json::Value;

use crate::ask::Company;
use crate::crash_case::Victims;
use crate::resource_baseline::{Held, held};

/// How many prompts come to grief: one descriptor, folder or process that is left by one kind in six would be fifty of them.
const MANY: usize = 300;
/// At how many members, side by side.
const MEMBERS: usize = 10;

/// How a prompt comes to grief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grief {
    /// Its agent crashes.
    Crash,
    /// Its agent talks nonsense.
    Nonsense,
    /// It is interrupted while it waits for an answer.
    Cancel,
    /// It is interrupted when its provider has failed, or just before, or in the pause after that.
    CancelRetry,
    /// It is interrupted as soon as it was asked, whatever has come of it by then.
    CancelAtOnce,
    /// Whoever asked is killed, while a tool runs that has daemonized.
    Orphan,
}

impl Grief {
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

    /// The codes that whoever asked may get, and how many launches there may have been.
    fn outcome(self) -> (&'static [i32], std::ops::RangeInclusive<usize>) {
        match self {
            Self::Crash => (&[19], 1..=1),
            Self::Nonsense => (&[20], 1..=1),
            Self::Cancel => (&[130], 1..=1),
            // Overloaded is what it was if nothing ran any more that could be cancelled.
            Self::CancelRetry => (&[130, 12], 1..=1),
            // Before it listens to signals, an interrupt is its end, as it is of any program.
            Self::CancelAtOnce => (&[130, 12, -2], 0..=1),
            Self::Orphan => (&[-9], 1..=1),
        }
    }
}

/// A member with an agent of its own.
struct Desk<'a> {
    company: &'a Company,
    name: String,
    folder: PathBuf,
}

impl<'a> Desk<'a> {
    fn new(company: &'a Company, number: usize) -> Self {
        let name = format!("m{number}");
        let folder = company.scene.path(&format!("work/{name}"));
        fs::create_dir(&folder).expect("mkdir");
        company.scene.give(&folder);
        company.add(&name);
        Self { company, name, folder }
    }

    fn starts(&self) -> usize {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(!log.contains("COLLISION"), "two at once: {log}");
        log.lines().filter(|line| line.starts_with("start ")).count()
    }

    fn suffer(&self, grief: Grief) {
        fs::write(self.folder.join("script"), format!("{}\n", grief.script())).expect("a script");
        let before = self.starts();
        let pen = self.company.scene.pen_name();
        let args = ["ask", "--pen", pen, "--grace", "100ms", "--queue", &self.name, "hello"];
        let mut command = self.company.kennel(&args);
        command.env("FAKE_CLAUDE", &self.folder);
        let asked = Running::start(command);
        let launched = || eventually("it is launched", || self.starts() > before);
        match grief {
            Grief::Crash | Grief::Nonsense => {}
            Grief::CancelAtOnce => drop(asked.signal("INT")),
            Grief::Cancel | Grief::CancelRetry => {
                launched();
                asked.signal("INT");
            }
            Grief::Orphan => {
                launched();
                asked.signal("KILL");
            }
        }
        let ended = asked.wait();
        let (codes, launches) = grief.outcome();
        assert!(codes.contains(&ended.code), "{grief:?}: {ended:?}");
        // (Nobody has waited for the end of an orphan's prompt: the next one does so, in line.)
        let more = self.starts() - before;
        assert!(launches.contains(&more), "{grief:?}: launched {more} times");
    }
}

/// How many terminals a process holds.
fn terminals(pid: Option<i32>) -> usize {
    let folder = format!("/proc/{}/fd", pid.expect("it runs"));
    let entries = fs::read_dir(folder).expect("our own process").flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|to| to.starts_with("/dev/pts") || to == Path::new("/dev/ptmx")).count()
}

/// So many prompts come to grief, at all desks at once.
fn suffer(desks: &[Desk<'_>], many: usize) {
    std::thread::scope(|scope| {
        for (place, desk) in desks.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..many / desks.len() {
                    desk.suffer(Grief::ALL[(place + round) % Grief::ALL.len()]);
                }
            });
        }
    });
}

/// Waits until nothing goes on, and forgets what was.
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

/// Agents that crash, in a loop of retries and cancels: everything is at the baseline afterwards.
#[test]
fn hundreds_of_prompts_that_come_to_grief_leave_everything_at_the_baseline() {
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &["ok"]) else { return };
    let desks: Vec<_> = (0..MEMBERS).map(|number| Desk::new(&company, number)).collect();
    // The first ones warm up what is kept for the next.
    suffer(&desks, MEMBERS * Grief::ALL.len());
    let before = quiet(&company.scene);
    suffer(&desks, MANY);
    let mut after = quiet(&company.scene);
    eventually(&format!("it is as before: {before:?}"), || {
        after = held(&company.scene);
        after.daemon <= before.daemon && after.yard <= before.yard
    });
    assert_eq!(Held { daemon: before.daemon, yard: before.yard, ..after }, before);
    assert_eq!(terminals(company.scene.daemon()) + terminals(company.scene.yard()), 0);
    assert_eq!(company.scene.sessions(), Vec::<Value>::new());
    let strays = company.scene.call_json(&["strays", "--json"]);
    assert_eq!(strays["strays"], Value::Array(Vec::new()), "{strays:#}");
    drop(desks);
    company.end();
}

impl Company {
    /// Kills the agent that runs, as somebody else would.
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

/// A fleet's day on one member, one thing after the other: each costs exactly the launches that it should.
#[test]
fn stale_killed_overloaded_and_doubled_prompts_cost_their_launches() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let script = ["ok one", "stale", "ok two", "leak hang", "overloaded", "ok three", "hang"];
        let Some(company) = Company::new(who, pen, &script) else { continue };
        company.add("anna");
        assert_eq!(company.ask(&["anna", "hello"]).code, 0);
        let first = company.conversation();
        // Its conversation is gone: one launch without it.
        assert_eq!(company.ask(&["anna", "go on"]).stdout, "two\n");
        let second = company.conversation();
        // It is killed while it works: nobody takes that for a conversation that is gone.
        let asked = company.start(&["anna", "go on"]);
        company.kill_the_agent(4);
        let told = asked.wait();
        assert_eq!(told.code, 137, "{told:?}");
        assert_eq!(company.conversation(), second);
        // The provider has too much to do: once more, with the same conversation.
        assert_eq!(company.ask(&["anna", "--retries", "3", "go on"]).stdout, "three\n");
        // Four at once: one runs.
        let mut four: Vec<_> = (0..4).map(|_| company.start(&["anna", "go on"])).collect();
        eventually("three are told", || {
            four.iter_mut().filter_map(|ask| ask.has_ended().then_some(())).count() == 3
        });
        company.kill_the_agent(7);
        let mut codes: Vec<_> = four.into_iter().map(|ask| ask.wait().code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [1, 1, 1, 137]);
        let with = |id: &str| company.launches().iter().filter(|it| *it == id).count();
        assert_eq!(company.launches().len(), 7);
        assert_eq!((with("fresh"), with(&first), with(&second)), (2, 1, 4));
        assert_eq!(company.member("anna")["attempts"], 7);
        // Four in line: each has its turn, one at a time.
        company.script(&["ok"]);
        let four: Vec<_> = (0..4).map(|_| company.start(&["anna", "--queue", "go on"])).collect();
        assert!(four.into_iter().all(|ask| ask.wait().code == 0));
        assert_eq!((company.launches().len(), with(&second)), (11, 8));
        company.end();
    }
}

/// The same day, all at once: others ask while it is tried again, and have to wait or go.
#[test]
fn others_that_ask_between_two_attempts_wait_or_are_told() {
    let script = ["ok one", "overloaded", "stale", "ok two", "leak hang", "overloaded"];
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &script) else { return };
    company.add("anna");
    assert_eq!(company.ask(&["anna", "hello"]).code, 0);
    let first = company.conversation();
    let again = company.start(&["anna", "--retries", "2", "a"]);
    eventually("it pauses", || company.events("retry_pending").len() == 1);
    // (As long as it is not over, the member is busy: in the pause too, and in all further attempts.)
    let third = company.start(&["anna", "--queue", "c"]);
    eventually("it waits", || company.member("anna")["waiting"] == 1);
    let fourth = company.start(&["anna", "--queue", "--retries", "0", "d"]);
    let refused: Vec<_> = (0..2).map(|_| company.start(&["anna", "b"])).collect();
    for refused in refused {
        let told = refused.wait();
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stderr.contains("busy"), "{told:?}");
    }
    let told = again.wait();
    assert_eq!((told.code, told.stdout.as_str()), (0, "two\n"), "{told:?}");
    company.kill_the_agent(5);
    let told = third.wait();
    assert_eq!(told.code, 137, "{told:?}");
    let told = fourth.wait();
    assert_eq!(told.code, 12, "{told:?}");
    let second = company.conversation();
    let [first, second] = [first.as_str(), second.as_str()];
    // The turn comes with the conversation of that moment, not with the one of when it was asked.
    assert_eq!(company.launches(), ["fresh", first, first, "fresh", second, second]);
    assert_eq!(company.member("anna")["attempts"], 6);
    company.end();
}

/// B7: the agent has crashed, and what it left is deaf: a cancel is told when that is gone, too.
#[test]
fn a_cancel_ends_what_a_crashed_agent_has_left() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(company) = Company::new(who, pen, &["deaf crash"]) else { continue };
        company.add("anna");
        let asked = company.start(&["--grace", "100ms", "anna", "hello"]);
        company.wait_launches(1);
        let busy = || company.member("anna")["busy_with"].as_str().map(ToOwned::to_owned);
        eventually("the agent has crashed", || {
            busy().is_none_or(|id| company.scene.session(&id)["exit"]["code"] == 3)
        });
        asked.signal("INT");
        let told = asked.wait();
        company.scene.assert_nothing_left();
        // It had ended by itself.
        assert_eq!(told.code, 19, "{told:?}");
        assert_eq!(company.launches().len(), 1);
        company.end();
    }
}

/// S12: it was granted, then daemon and keeper die. It may have run, so it is not asked again, whatever was allowed.
#[test]
fn what_may_have_run_is_not_asked_again() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(company) = Company::new(who, pen, &["leak hang", "ok"]) else { continue };
        company.add("anna");
        let told = company.ask(&["-d", "anna", "--retries", "5", "--replay", "hello"]);
        let id = told.stdout.trim().to_owned();
        company.wait_launches(1);
        eventually("its tree is up", || company.scene.pids().len() >= 3);
        let victims = Victims { daemon: true, keeper: true, yard: false };
        let killed = victims.kill(&company.scene, company.scene.keeper());
        assert!(killed.daemon.is_some() && killed.keeper.is_some(), "{killed:?}");
        let told = company.scene.call(&["answer", "--json", &id]);
        let answer: Value = serde_json::from_str(&told.stdout).expect("JSON");
        assert!([20, 137].contains(&told.code), "{told:?}");
        assert_eq!(answer["attempts"], 1, "{answer:#}");
        company.scene.assert_nothing_left_soon();
        assert_eq!(company.launches().len(), 1);
        // The member is free, and goes on.
        assert_eq!(company.ask(&["anna", "hello"]).code, 0);
        assert_eq!((company.launches().len(), &company.member("anna")["attempts"]), (2, &2.into()));
        company.end();
    }
}
