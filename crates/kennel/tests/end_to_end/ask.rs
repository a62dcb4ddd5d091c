//! Prompts to agents, with a Claude Code that follows a script: what is launched, how often, and what is told.

use std::fs;
use std::time::Duration;

use kennel_testing::{Ended, Pen, Running, Scene, Who, alive, eventually, signal};
use serde_json::Value;

use crate::crash_case::Victims;
use crate::launch_and_cancel::scene_with_points;

/// A scene with a scripted agent, and members.
pub(crate) struct Company {
    pub(crate) scene: Scene,
}

impl Company {
    pub(crate) fn new(who: Who, pen: Pen, script: &[&str]) -> Option<Self> {
        Scene::new(who, pen).map(|scene| Self::in_scene(scene, script))
    }

    pub(crate) fn in_scene(scene: Scene, script: &[&str]) -> Self {
        for folder in ["bin", "work/claude"] {
            fs::create_dir(scene.path(folder)).expect("mkdir");
            scene.give(&scene.path(folder));
        }
        fs::hard_link(scene.path("fake-agent"), scene.path("bin/claude")).expect("a link");
        let company = Self { scene };
        company.script(script);
        company
    }

    /// What the agent does from its next launch on.
    pub(crate) fn script(&self, lines: &[&str]) {
        let done = vec!["ok"; self.launches().len()];
        let text = [&done[..], lines].concat().join("\n");
        fs::write(self.scene.path("work/claude/script"), text + "\n").expect("a script");
    }

    pub(crate) fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.scene.path("work/claude/log")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    /// Which conversation each launch went on with, `fresh` if none.
    pub(crate) fn launches(&self) -> Vec<String> {
        let log = self.log();
        assert!(!log.iter().any(|line| line.starts_with("COLLISION")), "two at once: {log:?}");
        let started = log.iter().filter(|line| line.starts_with("start "));
        started.map(|line| line.split(' ').nth(3).expect("a conversation").to_owned()).collect()
    }

    pub(crate) fn kennel(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.scene.kennel(args);
        let path = std::env::var("PATH").expect("a PATH");
        command.env("PATH", format!("{}:{path}", self.scene.path("bin").display()));
        command.env("FAKE_CLAUDE", self.scene.path("work/claude"));
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let args = [&["ask", "--pen", self.scene.pen_name()], args].concat();
        Running::start(self.kennel(&args))
    }

    pub(crate) fn ask(&self, args: &[&str]) -> Ended {
        self.start(args).wait()
    }

    pub(crate) fn add(&self, name: &str) {
        self.scene.call_ok(&["member", "add", name, "--agent", "claude"]);
    }

    pub(crate) fn member(&self, name: &str) -> Value {
        self.scene.call_json(&["member", "show", name, "--json"])
    }

    pub(crate) fn wait_launches(&self, count: usize) {
        eventually("it is launched", || self.launches().len() == count);
    }

    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let text = self.scene.call_ok(&["events", "--json"]);
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        all.filter(|event| event["kind"] == kind).collect()
    }

    pub(crate) fn end(self) {
        self.scene.stop_daemon();
        self.scene.assert_nothing_left_soon();
    }
}

const CASES: [(Who, Pen); 4] = [
    (Who::Root, Pen::Cgroup),
    (Who::Root, Pen::Subtree),
    (Who::Other, Pen::Cgroup),
    (Who::Other, Pen::Subtree),
];

/// A member goes on with its conversation, and learns what it has used.
#[test]
fn a_member_goes_on_with_its_conversation() {
    for (who, pen) in CASES {
        let Some(company) = Company::new(who, pen, &["ok one", "ok two", "ok three"]) else {
            continue;
        };
        company.add("anna");
        let first = company.ask(&["anna", "hello"]);
        assert_eq!((first.code, first.stdout.as_str()), (0, "one\n"), "{first:?}");
        let id =
            company.member("anna")["conversation"].as_str().expect("a conversation").to_owned();
        let second = company.ask(&["anna", "--json", "and then?"]);
        let told: Value = serde_json::from_str(&second.stdout).expect("JSON");
        assert_eq!(
            (second.code, &told["verdict"], &told["answer"]),
            (0, &"succeeded".into(), &"two".into())
        );
        let third = company.ask(&["anna", "--fresh", "anew"]);
        assert_eq!(third.code, 0, "{third:?}");
        assert_eq!(company.launches(), ["fresh", id.as_str(), "fresh"]);
        let member = company.member("anna");
        assert_ne!(member["conversation"], id.as_str());
        assert_eq!(member["attempts"], 3);
        assert_eq!(member["usage"]["output_tokens"], 15);
        assert_eq!(member["last_verdict"], "succeeded");
        assert_eq!(member["busy_with"], Value::Null);
        company.end();
    }
}

/// M2: the provider's own word that the conversation is not there costs one launch without it.
#[test]
fn a_conversation_that_is_gone_costs_one_fresh_launch() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["ok one", "stale", "ok new"])
    else {
        return;
    };
    company.add("anna");
    assert_eq!(company.ask(&["anna", "hello"]).code, 0);
    let dead = company.member("anna")["conversation"].as_str().expect("one").to_owned();
    let told = company.ask(&["anna", "go on"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "new\n"), "{told:?}");
    assert_eq!(company.launches(), ["fresh", dead.as_str(), "fresh"]);
    let member = company.member("anna");
    assert_ne!(member["conversation"], dead.as_str());
    assert_eq!(member["attempts"], 3);
    company.end();
}

/// M3: a conversation that somebody names is that one, or an error.
#[test]
fn a_conversation_that_was_named_is_not_replaced() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["stale"]) else { return };
    company.add("anna");
    let named = "11111111-2222-4333-8444-555555555555";
    let told = company.ask(&["anna", "--resume", named, "go on"]);
    assert_eq!(told.code, 11, "{told:?}");
    assert!(told.stderr.contains("No conversation found"), "{told:?}");
    assert_eq!(company.launches(), [named]);
    let wrong = company.ask(&["anna", "--resume", "../etc", "go on"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("../etc"), "{wrong:?}");
    assert_eq!(company.launches().len(), 1, "nothing was launched for it");
    company.end();
}

/// M4: what the provider is to blame for is tried again, after the former attempt is gone.
#[test]
fn an_overloaded_provider_is_asked_again_but_not_for_ever() {
    let script = ["leak overloaded", "ok at last"];
    // With tools it is not repeated unasked: see below.
    let Some(company) = Company::new(Who::Other, Pen::Cgroup, &script) else { return };
    company.add("anna");
    let told = company.ask(&["anna", "--replay", "--retries", "1", "hello"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "at last\n"), "{told:?}");
    assert_eq!(company.launches().len(), 2);
    assert_eq!(company.events("retry_pending").len(), 1);
    assert_eq!(company.events("judged").len(), 2);
    company.script(&["overloaded"]);
    let told = company.ask(&["anna", "--retries", "1", "hello"]);
    assert_eq!(told.code, 12, "{told:?}");
    assert!(told.stderr.contains("after 2 attempts"), "{told:?}");
    assert_eq!(company.launches().len(), 4);
    let last = company.member("anna")["last_session"].as_str().expect("a session").to_owned();
    let inspected = company.scene.call_json(&["inspect", &last, "--json"]);
    assert_eq!(inspected["launches"].as_array().expect("launches").len(), 2, "{inspected:#}");
    company.end();
}

/// M1, D6: what is not the provider's fault, or did work, is not tried again.
#[test]
fn nothing_else_is_tried_again() {
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &["ok one"]) else { return };
    company.add("anna");
    assert_eq!(company.ask(&["anna", "hello"]).code, 0);
    let cases = [
        ("auth", 10),
        ("crash", 19),
        ("nonsense", 20),
        ("tool overloaded", 12),
        ("tool server", 14),
    ];
    for (at, (word, code)) in cases.into_iter().enumerate() {
        company.script(&[word]);
        let told = company.ask(&["anna", "hello"]);
        assert_eq!(told.code, code, "{word}: {told:?}");
        assert_eq!(company.launches().len(), at + 2, "{word}");
    }
    company.script(&["hang"]);
    let told = company.ask(&["anna", "--timeout", "1s", "--grace", "1s", "hello"]);
    assert_eq!(told.code, 124, "{told:?}");
    assert_eq!(company.launches().len(), 7);
    company.end();
}

/// M5: one prompt at a time; others are told by whom and since when, or wait.
#[test]
fn a_busy_member_says_so_or_has_others_wait() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(company) = Company::new(who, pen, &["hang", "ok two", "ok three"]) else {
            continue;
        };
        company.add("anna");
        let first = company.start(&["anna", "hello"]);
        company.wait_launches(1);
        let busy = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
        let refused = company.ask(&["anna", "hello"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains(&format!("busy with session {busy} since 20")),
            "{refused:?}"
        );
        let waiting = company.start(&["anna", "--queue", "second"]);
        eventually("it waits", || company.member("anna")["waiting"] == 1);
        let removal = company.scene.call(&["member", "rm", "anna"]);
        assert_eq!(removal.code, 1, "{removal:?}");
        company.scene.call_ok(&["stop", &busy]);
        assert_eq!(first.wait().code, 130);
        let told = waiting.wait();
        assert_eq!((told.code, told.stdout.as_str()), (0, "two\n"), "{told:?}");
        assert_eq!(company.launches().len(), 2);
        company.end();
    }
}

/// A prompt that is stopped in its pause lets the next one have its turn.
#[test]
fn a_stop_during_a_pause_makes_room_for_who_waits() {
    let script = ["overloaded", "ok two"];
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &script) else { return };
    company.add("anna");
    let first = company.start(&["anna", "--retry-within", "1h", "hello"]);
    eventually("it pauses", || !company.events("retry_pending").is_empty());
    let busy = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    let removal = company.scene.call(&["rm", &busy]);
    assert_eq!(removal.code, 1, "it is not over: {removal:?}");
    let waiting = company.start(&["anna", "--queue", "second"]);
    eventually("it waits", || company.member("anna")["waiting"] == 1);
    company.scene.call_ok(&["stop", &busy]);
    let told = waiting.wait();
    assert_eq!((told.code, told.stdout.as_str()), (0, "two\n"), "{told:?}");
    assert_eq!(first.wait().code, 12);
    assert_eq!(company.launches().len(), 2);
    company.end();
}

/// Four at once are one, and three that are told so.
#[test]
fn of_four_dispatches_at_once_one_runs() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    company.add("anna");
    let mut asked: Vec<_> = (0..4).map(|_| company.start(&["anna", "hello"])).collect();
    eventually("all but one have their answer", || {
        asked.iter_mut().filter_map(|ask| ask.has_ended().then_some(())).count() == 3
    });
    let busy = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    company.scene.call_ok(&["stop", &busy]);
    let codes: Vec<_> = asked.into_iter().map(|ask| ask.wait().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 1).count(), 3, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 130).count(), 1, "{codes:?}");
    assert_eq!(company.launches().len(), 1);
    company.end();
}

/// Control-C ends it wholly, and so does the death of whoever asked; the next prompt finds the member free.
#[test]
fn who_asked_and_goes_takes_the_prompt_along() {
    for (who, pen) in CASES {
        let Some(company) = Company::new(who, pen, &["leak hang", "leak hang", "ok"]) else {
            continue;
        };
        company.add("anna");
        let asked = company.start(&["--grace", "300ms", "anna", "hello"]);
        company.wait_launches(1);
        asked.signal("INT");
        assert_eq!(asked.wait().code, 130);
        assert_eq!(company.member("anna")["last_verdict"], "cancelled");
        let asked = company.start(&["--grace", "300ms", "anna", "hello"]);
        company.wait_launches(2);
        asked.signal("KILL");
        let _killed = asked.wait_without_output();
        eventually("it is free again", || {
            let member = company.member("anna");
            member["busy_with"].is_null() && member["attempts"] == 2
        });
        for (pid, role) in company.scene.pids() {
            assert!(!alive(pid), "{role} lives");
        }
        assert_eq!(company.ask(&["anna", "hello"]).code, 0);
        company.end();
    }
}

/// One that was left to itself goes on, over the death of its daemon too; its answer is fetched later.
#[test]
fn a_prompt_outlives_its_daemon() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["leak hang", "ok"]) else {
        return;
    };
    company.add("anna");
    let told = company.ask(&["-d", "anna", "hello"]);
    assert_eq!(told.code, 0, "{told:?}");
    let id = told.stdout.trim().to_owned();
    company.wait_launches(1);
    let early = company.scene.call(&["answer", "--no-wait", &id]);
    assert_eq!(early.code, 1, "{early:?}");
    let daemon = company.scene.daemon().expect("a daemon");
    signal(daemon, "KILL");
    eventually("another one comes", || company.scene.daemon().is_some_and(|pid| pid != daemon));
    assert_eq!(company.member("anna")["busy_with"], id.as_str());
    company.scene.call_ok(&["stop", &id]);
    let told = company.scene.call(&["answer", &id]);
    assert_eq!(told.code, 130, "{told:?}");
    company.end();
}

/// Whoever dies while a prompt is judged: it is judged once, counted once, and tried again once.
#[test]
fn a_verdict_survives_a_daemon_that_is_killed_over_it() {
    for point in ["daemon.judge.begun", "daemon.judge.learnt", "daemon.judge.judged"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let company = Company::in_scene(scene, &["overloaded", "ok at last"]);
        company.add("anna");
        faults.arm(point);
        let asked = company.start(&["anna", "--retries", "1", "hello"]);
        let held = faults.wait_reached(point, Duration::from_secs(20)).expect("it is held");
        signal(held, "KILL");
        faults.disarm(point);
        let told = asked.wait();
        assert_eq!((told.code, told.stdout.as_str()), (0, "at last\n"), "{point}: {told:?}");
        assert_eq!(company.launches().len(), 2, "{point}");
        let member = company.member("anna");
        assert_eq!(member["attempts"], 2, "{point}: {member:#}");
        assert_eq!(member["usage"]["output_tokens"], 10, "{point}: {member:#}");
        company.end();
    }
}

/// Yard and daemon die during the pause: what only they had is gone, so it is not asked again, and that is said.
#[test]
fn without_its_environment_a_prompt_is_not_asked_again() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["overloaded"]) else { return };
    company.add("anna");
    let told = company.ask(&["-d", "anna", "--retries", "5", "hello"]);
    let id = told.stdout.trim().to_owned();
    eventually("it pauses", || !company.events("retry_pending").is_empty());
    let both = Victims { daemon: true, keeper: false, yard: true };
    let daemon = both.kill(&company.scene, None).daemon;
    eventually("they are gone", || company.scene.daemon().is_none_or(|pid| Some(pid) != daemon));
    let told = company.scene.call(&["answer", &id]);
    assert_eq!(told.code, 12, "{told:?}");
    assert!(!company.events("not_restarted").is_empty());
    assert_eq!(company.member("anna")["busy_with"], Value::Null);
    company.end();
}

/// M8: a member that is removed while it is busy has its process reaped first.
#[test]
fn a_busy_member_is_removed_after_its_prompt_has_ended() {
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &["leak hang"]) else { return };
    company.add("anna");
    let asked = company.start(&["anna", "hello"]);
    company.wait_launches(1);
    eventually("its tree is up", || company.scene.pids().len() >= 3);
    let removed = company.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(removed, "anna: removed\n");
    for (pid, role) in company.scene.pids() {
        assert!(!alive(pid), "{role} lives");
    }
    assert_eq!(asked.wait().code, 130);
    let gone = company.scene.call(&["member", "show", "anna"]);
    assert_eq!(gone.code, 1, "{gone:?}");
    company.end();
}

/// M9: a prompt and a command are apart.
#[test]
fn a_stop_of_a_prompt_leaves_a_command_alone_and_the_other_way_round() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["hang", "hang"]) else { return };
    company.add("anna");
    let command = company.scene.launch_ready(&["--name", "anna-shell"], &["sleep"]);
    let asked = company.start(&["anna", "hello"]);
    company.wait_launches(1);
    let prompt = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    company.scene.call_ok(&["stop", &prompt]);
    assert_eq!(asked.wait().code, 130);
    assert_eq!(company.scene.session(&command)["phase"], "running");
    let asked = company.start(&["anna", "hello"]);
    company.wait_launches(2);
    company.scene.call_ok(&["stop", &command]);
    let prompt = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    assert_eq!(company.scene.session(&prompt)["phase"], "running");
    company.scene.call_ok(&["stop", &prompt]);
    assert_eq!(asked.wait().code, 130);
    company.end();
}

/// M6: a prompt that can't be set up leaves its member free.
#[test]
fn a_prompt_that_can_t_begin_leaves_its_member_free() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["ok"]) else { return };
    company.add("anna");
    fs::remove_file(company.scene.path("bin/claude")).expect("removed");
    let told = company.ask(&["anna", "--env", "PATH=/nowhere", "hello"]);
    assert_eq!(told.code, 19, "{told:?}");
    assert!(told.stderr.contains("claude"), "{told:?}");
    let worktree = company.ask(&["anna", "--worktree", "hello"]);
    assert_ne!(worktree.code, 0, "there is no repository: {worktree:?}");
    assert_eq!(company.member("anna")["busy_with"], Value::Null);
    company.end();
}

/// Nothing of a prompt is written down, and nobody sees it in a process list.
#[test]
fn a_prompt_is_in_no_argv_row_log_or_event() {
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &["hang"]) else { return };
    company.add("anna");
    let secret = "prompt-7f3a91";
    let mut asked = company.kennel(&["ask", "anna", "-"]);
    let script = format!("printf %s {secret}");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped());
    let mut text = shell.spawn().expect("a shell");
    asked.stdin(text.stdout.take().expect("a pipe"));
    let asked = Running::start(asked);
    company.wait_launches(1);
    text.wait().expect("the shell");
    assert!(company.log()[0].ends_with(secret), "the agent has it");
    for process in company.scene.all_processes() {
        assert!(!process.command.contains(secret), "{process:?}");
    }
    asked.signal("INT");
    assert_eq!(asked.wait().code, 130);
    company.scene.stop_daemon();
    let home = company.scene.kennel_home();
    let found =
        std::process::Command::new("grep").args(["-rl", secret]).arg(&home).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "in the home");
    company.end();
}

/// The same key is the same prompt; another prompt under it is refused.
#[test]
fn the_same_key_is_the_same_prompt() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["ok one", "ok two"]) else {
        return;
    };
    company.add("anna");
    let ask = |prompt: &str| company.ask(&["anna", "--key", "k1", prompt]);
    assert_eq!(ask("hello").stdout, "one\n");
    assert_eq!(ask("hello").stdout, "one\n");
    assert_eq!(company.launches().len(), 1);
    let other = ask("something else");
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains("key"), "{other:?}");
    assert_eq!(company.launches().len(), 1);
    company.end();
}

/// Bad input is answered with what was wrong.
#[test]
fn what_can_t_be_asked_is_told() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["ok"]) else { return };
    company.add("anna");
    let cases: [(&[&str], i32, &str); 7] = [
        (&["anan", "hello"], 1, "did you mean \"anna\""),
        (&["--agent", "cluade", "hello"], 1, "claude"),
        (&["anna", " "], 1, "empty"),
        (&["anna", "--model", "x", "hello"], 201, "member"),
        (&["--agent", "claude", "two", "words"], 201, "quotes"),
        (&[], 201, "whom"),
        (&["anna", "--turns", "0", "hello"], 201, "0"),
    ];
    for (args, code, text) in cases {
        let told = company.ask(args);
        assert_eq!(told.code, code, "{args:?}: {told:?}");
        assert!(told.stderr.contains(text), "{args:?}: {told:?}");
    }
    for args in [
        &["member", "add", "a b", "--agent", "claude"][..],
        &["member", "add", "anna", "--agent", "claude"],
        &["member", "add", "bert", "--agent", "nobody"],
        &["member", "show", "nobody"],
        &["member", "rm", "nobody"],
    ] {
        let told = company.scene.call(args);
        assert_eq!(told.code, 1, "{args:?}: {told:?}");
    }
    assert_eq!(company.launches().len(), 0);
    company.end();
}
