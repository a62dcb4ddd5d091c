//! Prompts to a scripted Claude Code: what is launched, how often, and what is reported.

use std::fs;
use std::time::Duration;

use kennel_testing::{Ended, Pen, Running, Scene, Who, alive, eventually, signal};
use serde_json::Value;

use crate::crash_case::Victims;
use crate::launch_and_cancel::scene_with_points;

/// A scene with a scripted agent, and members.
pub(crate) struct AskScene {
    pub(crate) scene: Scene,
}

impl AskScene {
    pub(crate) fn new(who: Who, pen: Pen, script: &[&str]) -> Option<Self> {
        Scene::new(who, pen).map(|scene| Self::in_scene(scene, script))
    }

    pub(crate) fn in_scene(scene: Scene, script: &[&str]) -> Self {
        for folder in ["bin", "work/claude"] {
            fs::create_dir(scene.path(folder)).expect("mkdir");
            scene.give(&scene.path(folder));
        }
        fs::hard_link(scene.path("fake-agent"), scene.path("bin/claude")).expect("a link");
        let ask_scene = Self { scene };
        ask_scene.script(script);
        ask_scene
    }

    /// Sets what the agent does from its next launch on.
    pub(crate) fn script(&self, lines: &[&str]) {
        let done = vec!["ok"; self.launches().len()];
        let text = [&done[..], lines].concat().join("\n");
        fs::write(self.scene.path("work/claude/script"), text + "\n").expect("a script");
    }

    pub(crate) fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.scene.path("work/claude/log")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    /// The conversation that each launch continued, or `fresh`.
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

/// A member continues its conversation and counts its usage.
#[test]
fn a_member_continues_its_conversation() {
    for (who, pen) in CASES {
        let Some(ask_scene) = AskScene::new(who, pen, &["ok one", "ok two", "ok three"]) else {
            continue;
        };
        ask_scene.add("anna");
        let first = ask_scene.ask(&["anna", "hello"]);
        assert_eq!((first.code, first.stdout.as_str()), (0, "one\n"), "{first:?}");
        let id =
            ask_scene.member("anna")["conversation"].as_str().expect("a conversation").to_owned();
        let second = ask_scene.ask(&["anna", "--json", "and then?"]);
        let reported: Value = serde_json::from_str(&second.stdout).expect("JSON");
        assert_eq!(
            (second.code, &reported["verdict"], &reported["answer"]),
            (0, &"succeeded".into(), &"two".into())
        );
        let third = ask_scene.ask(&["anna", "--fresh", "anew"]);
        assert_eq!(third.code, 0, "{third:?}");
        assert_eq!(ask_scene.launches(), ["fresh", id.as_str(), "fresh"]);
        let member = ask_scene.member("anna");
        assert_ne!(member["conversation"], id.as_str());
        assert_eq!(member["attempts"], 3);
        assert_eq!(member["usage"]["output_tokens"], 15);
        assert_eq!(member["last_verdict"], "succeeded");
        assert_eq!(member["busy_with"], Value::Null);
        ask_scene.end();
    }
}

/// M2: if the provider reports that the conversation does not exist, one more launch runs without
/// it.
#[test]
fn a_missing_conversation_costs_one_fresh_launch() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["ok one", "stale", "ok new"])
    else {
        return;
    };
    ask_scene.add("anna");
    assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
    let dead = ask_scene.member("anna")["conversation"].as_str().expect("one").to_owned();
    let reported = ask_scene.ask(&["anna", "go on"]);
    assert_eq!((reported.code, reported.stdout.as_str()), (0, "new\n"), "{reported:?}");
    assert_eq!(ask_scene.launches(), ["fresh", dead.as_str(), "fresh"]);
    let member = ask_scene.member("anna");
    assert_ne!(member["conversation"], dead.as_str());
    assert_eq!(member["attempts"], 3);
    ask_scene.end();
}

/// M3: an explicitly named conversation is used, or the prompt fails.
#[test]
fn an_explicit_conversation_is_never_replaced() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["stale"]) else { return };
    ask_scene.add("anna");
    let named = "11111111-2222-4333-8444-555555555555";
    let reported = ask_scene.ask(&["anna", "--resume", named, "go on"]);
    assert_eq!(reported.code, 11, "{reported:?}");
    assert!(reported.stderr.contains("No conversation found"), "{reported:?}");
    assert_eq!(ask_scene.launches(), [named]);
    let wrong = ask_scene.ask(&["anna", "--resume", "../etc", "go on"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("../etc"), "{wrong:?}");
    assert_eq!(ask_scene.launches().len(), 1, "nothing was launched for it");
    ask_scene.end();
}

/// M4: a failure of the provider is retried after the previous attempt is gone.
#[test]
fn an_overloaded_provider_is_retried_a_limited_number_of_times() {
    let script = ["leak overloaded", "ok at last"];
    // An attempt that used tools is not repeated automatically: see below.
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Cgroup, &script) else { return };
    ask_scene.add("anna");
    let reported = ask_scene.ask(&["anna", "--replay", "--retries", "1", "hello"]);
    assert_eq!((reported.code, reported.stdout.as_str()), (0, "at last\n"), "{reported:?}");
    assert_eq!(ask_scene.launches().len(), 2);
    assert_eq!(ask_scene.events("retry_pending").len(), 1);
    assert_eq!(ask_scene.events("judged").len(), 2);
    ask_scene.script(&["overloaded"]);
    let reported = ask_scene.ask(&["anna", "--retries", "1", "hello"]);
    assert_eq!(reported.code, 12, "{reported:?}");
    assert!(reported.stderr.contains("after 2 attempts"), "{reported:?}");
    assert_eq!(ask_scene.launches().len(), 4);
    let last = ask_scene.member("anna")["last_session"].as_str().expect("a session").to_owned();
    let inspected = ask_scene.scene.call_json(&["inspect", &last, "--json"]);
    assert_eq!(inspected["launches"].as_array().expect("launches").len(), 2, "{inspected:#}");
    ask_scene.end();
}

/// M1, D6: a failure that is not the provider's, or an attempt that did work, is not retried.
#[test]
fn nothing_else_is_retried() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &["ok one"]) else { return };
    ask_scene.add("anna");
    assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
    let cases = [
        ("auth", 10),
        ("crash", 19),
        ("nonsense", 20),
        ("tool overloaded", 12),
        ("tool server", 14),
    ];
    for (at, (word, code)) in cases.into_iter().enumerate() {
        ask_scene.script(&[word]);
        let reported = ask_scene.ask(&["anna", "hello"]);
        assert_eq!(reported.code, code, "{word}: {reported:?}");
        assert_eq!(ask_scene.launches().len(), at + 2, "{word}");
    }
    ask_scene.script(&["hang"]);
    let reported = ask_scene.ask(&["anna", "--timeout", "1s", "--grace", "1s", "hello"]);
    assert_eq!(reported.code, 124, "{reported:?}");
    assert_eq!(ask_scene.launches().len(), 7);
    ask_scene.end();
}

/// M5: one prompt at a time; others learn which session is busy and since when, or wait.
#[test]
fn a_busy_member_refuses_or_queues_prompts() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(ask_scene) = AskScene::new(who, pen, &["hang", "ok two", "ok three"]) else {
            continue;
        };
        ask_scene.add("anna");
        let first = ask_scene.start(&["anna", "hello"]);
        ask_scene.wait_launches(1);
        let busy = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
        let refused = ask_scene.ask(&["anna", "hello"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains(&format!("busy with session {busy} since 20")),
            "{refused:?}"
        );
        let waiting = ask_scene.start(&["anna", "--queue", "second"]);
        eventually("it waits", || ask_scene.member("anna")["waiting"] == 1);
        let removal = ask_scene.scene.call(&["member", "rm", "anna"]);
        assert_eq!(removal.code, 1, "{removal:?}");
        ask_scene.scene.call_ok(&["stop", &busy]);
        assert_eq!(first.wait().code, 130);
        let reported = waiting.wait();
        assert_eq!((reported.code, reported.stdout.as_str()), (0, "two\n"), "{reported:?}");
        assert_eq!(ask_scene.launches().len(), 2);
        ask_scene.end();
    }
}

/// Stopping a prompt during its pause lets the next one start.
#[test]
fn a_stop_during_a_pause_starts_the_next_prompt() {
    let script = ["overloaded", "ok two"];
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &script) else { return };
    ask_scene.add("anna");
    let first = ask_scene.start(&["anna", "--retry-within", "1h", "hello"]);
    eventually("it pauses", || !ask_scene.events("retry_pending").is_empty());
    let busy = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    let removal = ask_scene.scene.call(&["rm", &busy]);
    assert_eq!(removal.code, 1, "it is not over: {removal:?}");
    let waiting = ask_scene.start(&["anna", "--queue", "second"]);
    eventually("it waits", || ask_scene.member("anna")["waiting"] == 1);
    ask_scene.scene.call_ok(&["stop", &busy]);
    let reported = waiting.wait();
    assert_eq!((reported.code, reported.stdout.as_str()), (0, "two\n"), "{reported:?}");
    assert_eq!(first.wait().code, 12);
    assert_eq!(ask_scene.launches().len(), 2);
    ask_scene.end();
}

/// Of four concurrent prompts one runs and three are refused.
#[test]
fn of_four_concurrent_prompts_one_runs() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    ask_scene.add("anna");
    let mut asked: Vec<_> = (0..4).map(|_| ask_scene.start(&["anna", "hello"])).collect();
    eventually("all but one have their answer", || {
        asked.iter_mut().filter_map(|ask| ask.has_ended().then_some(())).count() == 3
    });
    let busy = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    ask_scene.scene.call_ok(&["stop", &busy]);
    let codes: Vec<_> = asked.into_iter().map(|ask| ask.wait().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 1).count(), 3, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 130).count(), 1, "{codes:?}");
    assert_eq!(ask_scene.launches().len(), 1);
    ask_scene.end();
}

/// Control-C and the death of the client end the prompt completely; then the member is free.
#[test]
fn a_prompt_ends_with_its_client() {
    for (who, pen) in CASES {
        let Some(ask_scene) = AskScene::new(who, pen, &["leak hang", "leak hang", "ok"]) else {
            continue;
        };
        ask_scene.add("anna");
        let asked = ask_scene.start(&["--grace", "300ms", "anna", "hello"]);
        ask_scene.wait_launches(1);
        asked.signal("INT");
        assert_eq!(asked.wait().code, 130);
        assert_eq!(ask_scene.member("anna")["last_verdict"], "cancelled");
        let asked = ask_scene.start(&["--grace", "300ms", "anna", "hello"]);
        ask_scene.wait_launches(2);
        asked.signal("KILL");
        let _killed = asked.wait_without_output();
        eventually("it is free again", || {
            let member = ask_scene.member("anna");
            member["busy_with"].is_null() && member["attempts"] == 2
        });
        for (pid, role) in ask_scene.scene.pids() {
            assert!(!alive(pid), "{role} lives");
        }
        assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
        ask_scene.end();
    }
}

/// A detached prompt continues, also after a crash of its daemon; its answer is fetched later.
#[test]
fn a_prompt_outlives_its_daemon() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["leak hang", "ok"]) else {
        return;
    };
    ask_scene.add("anna");
    let reported = ask_scene.ask(&["-d", "anna", "hello"]);
    assert_eq!(reported.code, 0, "{reported:?}");
    let id = reported.stdout.trim().to_owned();
    ask_scene.wait_launches(1);
    let early = ask_scene.scene.call(&["answer", "--no-wait", &id]);
    assert_eq!(early.code, 1, "{early:?}");
    let daemon = ask_scene.scene.daemon().expect("a daemon");
    signal(daemon, "KILL");
    eventually("another daemon runs", || ask_scene.scene.daemon().is_some_and(|pid| pid != daemon));
    assert_eq!(ask_scene.member("anna")["busy_with"], id.as_str());
    ask_scene.scene.call_ok(&["stop", &id]);
    let reported = ask_scene.scene.call(&["answer", &id]);
    assert_eq!(reported.code, 130, "{reported:?}");
    ask_scene.end();
}

/// Whatever dies while a prompt is judged, it is judged once, counted once and retried once.
#[test]
fn a_verdict_survives_a_daemon_crash() {
    for point in ["daemon.judge.begun", "daemon.judge.recorded", "daemon.judge.judged"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let ask_scene = AskScene::in_scene(scene, &["overloaded", "ok at last"]);
        ask_scene.add("anna");
        faults.arm(point);
        let asked = ask_scene.start(&["anna", "--retries", "1", "hello"]);
        let held = faults.wait_reached(point, Duration::from_secs(20)).expect("it is held");
        signal(held, "KILL");
        faults.disarm(point);
        let reported = asked.wait();
        assert_eq!(
            (reported.code, reported.stdout.as_str()),
            (0, "at last\n"),
            "{point}: {reported:?}"
        );
        assert_eq!(ask_scene.launches().len(), 2, "{point}");
        let member = ask_scene.member("anna");
        assert_eq!(member["attempts"], 2, "{point}: {member:#}");
        assert_eq!(member["usage"]["output_tokens"], 10, "{point}: {member:#}");
        ask_scene.end();
    }
}

/// Yard and daemon die during the pause. The environment is lost, so the prompt is not retried, and
/// an event records that.
#[test]
fn without_its_environment_a_prompt_is_not_retried() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["overloaded"]) else { return };
    ask_scene.add("anna");
    let reported = ask_scene.ask(&["-d", "anna", "--retries", "5", "hello"]);
    let id = reported.stdout.trim().to_owned();
    eventually("it pauses", || !ask_scene.events("retry_pending").is_empty());
    let both = Victims { daemon: true, keeper: false, yard: true };
    let daemon = both.kill(&ask_scene.scene, None).daemon;
    eventually("they are gone", || ask_scene.scene.daemon().is_none_or(|pid| Some(pid) != daemon));
    let reported = ask_scene.scene.call(&["answer", &id]);
    assert_eq!(reported.code, 12, "{reported:?}");
    assert!(!ask_scene.events("not_restarted").is_empty());
    assert_eq!(ask_scene.member("anna")["busy_with"], Value::Null);
    ask_scene.end();
}

/// M8: removing a busy member reaps its process first.
#[test]
fn a_busy_member_is_removed_after_its_prompt_has_ended() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &["leak hang"]) else { return };
    ask_scene.add("anna");
    let asked = ask_scene.start(&["anna", "hello"]);
    ask_scene.wait_launches(1);
    eventually("its tree is up", || ask_scene.scene.pids().len() >= 3);
    let removed = ask_scene.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(removed, "anna: removed\n");
    for (pid, role) in ask_scene.scene.pids() {
        assert!(!alive(pid), "{role} lives");
    }
    assert_eq!(asked.wait().code, 130);
    let gone = ask_scene.scene.call(&["member", "show", "anna"]);
    assert_eq!(gone.code, 1, "{gone:?}");
    ask_scene.end();
}

/// M9: a prompt and a command are independent.
#[test]
fn stopping_a_prompt_or_a_command_leaves_the_other_alone() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["hang", "hang"]) else {
        return;
    };
    ask_scene.add("anna");
    let command = ask_scene.scene.launch_ready(&["--name", "anna-shell"], &["sleep"]);
    let asked = ask_scene.start(&["anna", "hello"]);
    ask_scene.wait_launches(1);
    let prompt = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    ask_scene.scene.call_ok(&["stop", &prompt]);
    assert_eq!(asked.wait().code, 130);
    assert_eq!(ask_scene.scene.session(&command)["phase"], "running");
    let asked = ask_scene.start(&["anna", "hello"]);
    ask_scene.wait_launches(2);
    ask_scene.scene.call_ok(&["stop", &command]);
    let prompt = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    assert_eq!(ask_scene.scene.session(&prompt)["phase"], "running");
    ask_scene.scene.call_ok(&["stop", &prompt]);
    assert_eq!(asked.wait().code, 130);
    ask_scene.end();
}

/// M6: a prompt that can't start leaves its member free.
#[test]
fn a_prompt_that_cannot_start_leaves_its_member_free() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["ok"]) else { return };
    ask_scene.add("anna");
    fs::remove_file(ask_scene.scene.path("bin/claude")).expect("removed");
    let reported = ask_scene.ask(&["anna", "--env", "PATH=/nowhere", "hello"]);
    assert_eq!(reported.code, 19, "{reported:?}");
    assert!(reported.stderr.contains("claude"), "{reported:?}");
    let worktree = ask_scene.ask(&["anna", "--worktree", "hello"]);
    assert_ne!(worktree.code, 0, "there is no repository: {worktree:?}");
    assert_eq!(ask_scene.member("anna")["busy_with"], Value::Null);
    ask_scene.end();
}

/// The prompt is stored nowhere and does not appear in a process list.
#[test]
fn a_prompt_is_in_no_argv_row_log_or_event() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &["hang"]) else { return };
    ask_scene.add("anna");
    let secret = "prompt-7f3a91";
    let mut asked = ask_scene.kennel(&["ask", "anna", "-"]);
    let script = format!("printf %s {secret}");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script]).stdout(std::process::Stdio::piped());
    let mut text = shell.spawn().expect("a shell");
    asked.stdin(text.stdout.take().expect("a pipe"));
    let asked = Running::start(asked);
    ask_scene.wait_launches(1);
    text.wait().expect("the shell");
    assert!(ask_scene.log()[0].ends_with(secret), "the agent has it");
    for process in ask_scene.scene.all_processes() {
        assert!(!process.command.contains(secret), "{process:?}");
    }
    asked.signal("INT");
    assert_eq!(asked.wait().code, 130);
    ask_scene.scene.stop_daemon();
    let home = ask_scene.scene.kennel_home();
    let found =
        std::process::Command::new("grep").args(["-rl", secret]).arg(&home).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "in the home");
    ask_scene.end();
}

/// The same key returns the same prompt; a different prompt with that key is refused.
#[test]
fn the_same_key_returns_the_same_prompt() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["ok one", "ok two"]) else {
        return;
    };
    ask_scene.add("anna");
    let ask = |prompt: &str| ask_scene.ask(&["anna", "--key", "k1", prompt]);
    assert_eq!(ask("hello").stdout, "one\n");
    assert_eq!(ask("hello").stdout, "one\n");
    assert_eq!(ask_scene.launches().len(), 1);
    let other = ask("something else");
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains("key"), "{other:?}");
    assert_eq!(ask_scene.launches().len(), 1);
    ask_scene.end();
}

/// Errors name the invalid input.
#[test]
fn invalid_prompts_are_refused_with_a_reason() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["ok"]) else { return };
    ask_scene.add("anna");
    let cases: [(&[&str], i32, &str); 7] = [
        (&["anan", "hello"], 1, "did you mean \"anna\""),
        (&["--agent", "cluade", "hello"], 1, "claude"),
        (&["anna", " "], 1, "empty"),
        (&["anna", "--model", "x", "hello"], 201, "member"),
        (&["--agent", "claude", "two", "words"], 201, "quotes"),
        (&[], 201, "no member or agent given"),
        (&["anna", "--turns", "0", "hello"], 201, "0"),
    ];
    for (args, code, text) in cases {
        let reported = ask_scene.ask(args);
        assert_eq!(reported.code, code, "{args:?}: {reported:?}");
        assert!(reported.stderr.contains(text), "{args:?}: {reported:?}");
    }
    for args in [
        &["member", "add", "a b", "--agent", "claude"][..],
        &["member", "add", "anna", "--agent", "claude"],
        &["member", "add", "bert", "--agent", "nobody"],
        &["member", "show", "nobody"],
        &["member", "rm", "nobody"],
    ] {
        let reported = ask_scene.scene.call(args);
        assert_eq!(reported.code, 1, "{args:?}: {reported:?}");
    }
    assert_eq!(ask_scene.launches().len(), 0);
    ask_scene.end();
}
