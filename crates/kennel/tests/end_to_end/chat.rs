//! Chats with a scripted Claude Code. (`ask_real_agents` uses the real one.)

use std::time::Duration;

use kennel_testing::{Ended, Pen, Running, Who, alive, eventually};
use serde_json::Value;

use crate::ask::AskScene;
use crate::launch_and_cancel::scene_with_points;
use crate::pty::{SIZE, code, detach, is_raw, on_a_terminal_with};

const TIMEOUT: Duration = Duration::from_secs(30);

const CASES: [(Who, Pen); 4] = [
    (Who::Root, Pen::Cgroup),
    (Who::Root, Pen::Subtree),
    (Who::Other, Pen::Cgroup),
    (Who::Other, Pen::Subtree),
];

impl AskScene {
    fn chat(&self, args: &[&str]) -> std::process::Command {
        self.kennel(&[&["chat", "--pen", self.scene.pen_name()], args].concat())
    }

    fn call_chat(&self, args: &[&str]) -> Ended {
        Running::start(self.chat(args)).wait()
    }

    /// Starts a detached chat and returns its id when it runs.
    fn start_detached(&self, args: &[&str]) -> String {
        let before = self.launches().len();
        let reported = self.call_chat(&[&["-d"], args].concat());
        assert_eq!(reported.code, 0, "{reported:?}");
        let id = reported.stdout.trim_end().to_owned();
        self.wait_launches(before + 1);
        eventually("it talks", || self.scene.output(&id).contains("talking in"));
        id
    }

    fn annas_conversation(&self) -> String {
        self.member("anna")["conversation"].as_str().expect("a conversation").to_owned()
    }

    #[track_caller]
    fn assert_all_gone(&self) {
        for (pid, role) in self.scene.pids() {
            assert!(!alive(pid), "{role} lives");
        }
        assert_eq!(self.scene.call_ok(&["strays"]), "no strays\n");
    }
}

/// A chat continues the member's conversation on a terminal, can be detached and attached again,
/// ends with the agent's code, and leaves nothing. The member is busy until then and keeps its
/// conversation.
#[test]
fn a_chat_continues_the_members_conversation() {
    for (who, pen) in CASES {
        let Some(ask_scene) = AskScene::new(who, pen, &["ok one", "-", "ok two"]) else { continue };
        ask_scene.add("anna");
        assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
        let id = ask_scene.annas_conversation();
        let (mut screen, child) =
            on_a_terminal_with(&ask_scene.chat(&["--name", "c", "anna"]), SIZE);
        screen.wait_for(&format!("talking in {id}"));
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("hello\r");
        screen.wait_for("heard hello");
        let busy = ask_scene.member("anna");
        assert_eq!(busy["busy_with"], ask_scene.scene.session("c")["id"], "{busy:#}");
        let reported = ask_scene.ask(&["anna", "me too"]);
        assert_eq!(reported.code, 1, "{reported:?}");
        assert!(reported.stderr.contains("is busy with session"), "{reported:?}");
        let reported = ask_scene.call_chat(&["anna"]);
        assert!(
            reported.code == 202 && reported.stderr.contains("is busy with session"),
            "{reported:?}"
        );
        detach(screen, child);
        assert_eq!(ask_scene.scene.session("c")["phase"], "running");
        let attach = ask_scene.kennel(&["attach", "c"]);
        let (mut screen, child) = on_a_terminal_with(&attach, SIZE);
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("bye\r");
        assert_eq!(code(child), 7, "the agent's own code");
        ask_scene.assert_all_gone();
        let member = ask_scene.member("anna");
        assert_eq!((&member["busy_with"], &member["attempts"]), (&Value::Null, &1.into()));
        assert_eq!(ask_scene.annas_conversation(), id, "it is unchanged");
        assert_eq!(ask_scene.ask(&["anna", "and now?"]).stdout, "two\n");
        assert_eq!(ask_scene.launches(), ["fresh", &id, &id]);
        ask_scene.end();
    }
}

/// A chat ends with its client, unless it was detached; then a stop ends the whole tree.
#[test]
fn nothing_is_left_of_a_chat() {
    for (who, pen) in CASES {
        let Some(ask_scene) = AskScene::new(who, pen, &["-"]) else { continue };
        ask_scene.add("anna");
        let mut chat = Running::start(ask_scene.chat(&["anna"]));
        chat.wait_line("talking in fresh");
        chat.signal("KILL");
        let _killed = chat.wait_without_output();
        eventually("the member is free", || ask_scene.member("anna")["busy_with"].is_null());
        ask_scene.assert_all_gone();
        let id = ask_scene.start_detached(&["anna"]);
        assert!(ask_scene.scene.call_ok(&["stop", &id]).contains("stopped"));
        ask_scene.assert_all_gone();
        assert!(ask_scene.member("anna")["busy_with"].is_null());
        ask_scene.end();
    }
}

/// A prompt is queued until a chat ends; a member in a chat is removed only by force.
#[test]
fn a_chat_keeps_its_member_busy() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["-", "ok at last"]) else {
        return;
    };
    ask_scene.add("anna");
    let chat = ask_scene.start_detached(&["anna"]);
    let waiting = ask_scene.start(&["--queue", "anna", "hello"]);
    eventually("it waits", || ask_scene.member("anna")["waiting"] == 1);
    assert_eq!(ask_scene.scene.call(&["member", "rm", "anna"]).code, 1);
    ask_scene.scene.call_ok(&["stop", &chat]);
    assert_eq!(waiting.wait().stdout, "at last\n");
    let chat = ask_scene.start_detached(&["anna"]);
    ask_scene.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(ask_scene.scene.session(&chat)["phase"], "cleaned");
    ask_scene.assert_all_gone();
    ask_scene.end();
}

/// The daemon is killed: the next one knows the chat, and the member stays busy.
#[test]
fn a_chat_outlives_its_daemon() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["-"]) else { return };
    ask_scene.add("anna");
    let chat = ask_scene.start_detached(&["anna"]);
    let daemon = ask_scene.scene.daemon().expect("a daemon");
    kennel_testing::signal(daemon, "KILL");
    eventually("another daemon has it", || ask_scene.member("anna")["busy_with"] == chat.as_str());
    let reported = ask_scene.call_chat(&["anna"]);
    assert!(reported.stderr.contains("is busy with session"), "{reported:?}");
    ask_scene.scene.call_ok(&["stop", &chat]);
    ask_scene.assert_all_gone();
    assert_eq!(ask_scene.events("judged").len(), 0, "a chat is not judged");
    ask_scene.end();
}

/// Invalid requests are refused before anything starts.
#[test]
fn invalid_chats_are_refused() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["-", "ok"]) else { return };
    let turns = ["member", "add", "bert", "--agent", "claude", "--turns", "3"];
    ask_scene.scene.call_ok(&turns);
    for (args, code, words) in [
        (&[][..], 201, "--agent"),
        (&["anna"], 202, "there is no member"),
        (&["--agent", "claude", "--resume", "x"], 202, "UUID"),
        (&["bert"], 202, "turns"),
        (&["bert", "--model", "opus"], 201, "has its own model"),
    ] {
        let reported = ask_scene.call_chat(args);
        assert_eq!(reported.code, code, "{args:?}: {reported:?}");
        assert!(reported.stderr.contains(words), "{args:?}: {reported:?}");
    }
    assert_eq!(ask_scene.launches().len(), 0);
    let id = ask_scene.start_detached(&["--agent", "claude"]);
    ask_scene.scene.call_ok(&["stop", &id]);
    for (verb, words) in [("resume", "is a chat"), ("answer", "is not a prompt")] {
        let reported = ask_scene.scene.call(&[verb, &id]);
        assert!(reported.code != 0 && reported.stderr.contains(words), "{verb}: {reported:?}");
    }
    assert_eq!(ask_scene.launches().len(), 1);
    let reported = ask_scene.ask(&["--agent", "claude", "--name", "asked", "hello"]);
    assert_eq!(reported.code, 0, "{reported:?}");
    let reported = ask_scene.scene.call(&["resume", "asked"]);
    assert!(reported.code != 0 && reported.stderr.contains("is a prompt"), "{reported:?}");
    ask_scene.end();
}

/// The daemon is killed while it launches a chat: it starts once or not at all, and the member's
/// state is correct.
#[test]
fn a_daemon_crash_during_a_chat_launch_leaves_one_or_none() {
    for point in ["daemon.launch.admitted", "daemon.launch.born", "daemon.launch.granted"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let ask_scene = AskScene::in_scene(scene, &["-"]);
        ask_scene.add("anna");
        faults.arm(point);
        let chat = Running::start(ask_scene.chat(&["-d", "anna"]));
        let held = faults.wait_reached(point, TIMEOUT).expect("it is passed");
        kennel_testing::signal(held, "KILL");
        faults.disarm(point);
        let reported = chat.wait();
        if reported.code == 0 {
            let id = reported.stdout.trim_end();
            assert_eq!(ask_scene.member("anna")["busy_with"], id, "{point}: {reported:?}");
            ask_scene.wait_launches(1);
            ask_scene.scene.call_ok(&["stop", id]);
        }
        eventually("the member is free", || ask_scene.member("anna")["busy_with"].is_null());
        assert!(ask_scene.launches().len() <= 1, "{point}: {reported:?}");
        ask_scene.assert_all_gone();
        ask_scene.end();
    }
}
