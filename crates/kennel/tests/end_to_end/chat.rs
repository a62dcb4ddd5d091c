//! Chats: an agent's own screen for a person, with a Claude Code that follows a script. (The real one: `asks_real`.)

use std::time::Duration;

use kennel_testing::{Ended, Pen, Running, Who, alive, eventually};
use serde_json::Value;

use crate::ask::Company;
use crate::launch_and_cancel::scene_with_points;
use crate::pty::{SIZE, code, detach, is_raw, on_a_terminal_with};

const PATIENCE: Duration = Duration::from_secs(30);

const CASES: [(Who, Pen); 4] = [
    (Who::Root, Pen::Cgroup),
    (Who::Root, Pen::Subtree),
    (Who::Other, Pen::Cgroup),
    (Who::Other, Pen::Subtree),
];

impl Company {
    fn chat(&self, args: &[&str]) -> std::process::Command {
        self.kennel(&[&["chat", "--pen", self.scene.pen_name()], args].concat())
    }

    fn call_chat(&self, args: &[&str]) -> Ended {
        Running::start(self.chat(args)).wait()
    }

    /// One that is left to itself from the beginning; gives its id when it is up.
    fn leave(&self, args: &[&str]) -> String {
        let before = self.launches().len();
        let told = self.call_chat(&[&["-d"], args].concat());
        assert_eq!(told.code, 0, "{told:?}");
        let id = told.stdout.trim_end().to_owned();
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

/// It goes on with the member's conversation on a terminal, is left and found again, and ends with its own code and
/// without a trace. The member is busy until then, and keeps its conversation.
#[test]
fn a_member_is_talked_to() {
    for (who, pen) in CASES {
        let Some(company) = Company::new(who, pen, &["ok one", "-", "ok two"]) else { continue };
        company.add("anna");
        assert_eq!(company.ask(&["anna", "hello"]).code, 0);
        let id = company.annas_conversation();
        let (mut screen, child) = on_a_terminal_with(&company.chat(&["--name", "c", "anna"]), SIZE);
        screen.wait_for(&format!("talking in {id}"));
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("hello\r");
        screen.wait_for("heard hello");
        let busy = company.member("anna");
        assert_eq!(busy["busy_with"], company.scene.session("c")["id"], "{busy:#}");
        let told = company.ask(&["anna", "me too"]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stderr.contains("is busy with session"), "{told:?}");
        let told = company.call_chat(&["anna"]);
        assert!(told.code == 202 && told.stderr.contains("is busy with session"), "{told:?}");
        detach(screen, child);
        assert_eq!(company.scene.session("c")["phase"], "running");
        let attach = company.kennel(&["attach", "c"]);
        let (mut screen, child) = on_a_terminal_with(&attach, SIZE);
        eventually("our terminal is raw", || is_raw(&screen));
        screen.press("bye\r");
        assert_eq!(code(child), 7, "the agent's own code");
        company.assert_all_gone();
        let member = company.member("anna");
        assert_eq!((&member["busy_with"], &member["attempts"]), (&Value::Null, &1.into()));
        assert_eq!(company.annas_conversation(), id, "it is as it was");
        assert_eq!(company.ask(&["anna", "and now?"]).stdout, "two\n");
        assert_eq!(company.launches(), ["fresh", &id, &id]);
        company.end();
    }
}

/// It ends with whoever sits before it, unless it was left to itself; then a stop ends it whole.
#[test]
fn nothing_is_left_of_a_chat() {
    for (who, pen) in CASES {
        let Some(company) = Company::new(who, pen, &["-"]) else { continue };
        company.add("anna");
        let mut chat = Running::start(company.chat(&["anna"]));
        chat.wait_line("talking in fresh");
        chat.signal("KILL");
        let _killed = chat.wait_without_output();
        eventually("the member is free", || company.member("anna")["busy_with"].is_null());
        company.assert_all_gone();
        let id = company.leave(&["anna"]);
        assert!(company.scene.call_ok(&["stop", &id]).contains("stopped"));
        company.assert_all_gone();
        assert!(company.member("anna")["busy_with"].is_null());
        company.end();
    }
}

/// A prompt waits in line for the end of a chat; a member that is talked to is removed only by force.
#[test]
fn a_chat_keeps_its_member() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["-", "ok at last"]) else {
        return;
    };
    company.add("anna");
    let chat = company.leave(&["anna"]);
    let waiting = company.start(&["--queue", "anna", "hello"]);
    eventually("it waits", || company.member("anna")["waiting"] == 1);
    assert_eq!(company.scene.call(&["member", "rm", "anna"]).code, 1);
    company.scene.call_ok(&["stop", &chat]);
    assert_eq!(waiting.wait().stdout, "at last\n");
    let chat = company.leave(&["anna"]);
    company.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(company.scene.session(&chat)["phase"], "cleaned");
    company.assert_all_gone();
    company.end();
}

/// The daemon is killed meanwhile: the next one knows of it, and the member stays busy.
#[test]
fn a_chat_outlives_its_daemon() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["-"]) else { return };
    company.add("anna");
    let chat = company.leave(&["anna"]);
    let daemon = company.scene.daemon().expect("a daemon");
    kennel_testing::signal(daemon, "KILL");
    eventually("another daemon has it", || company.member("anna")["busy_with"] == chat.as_str());
    let told = company.call_chat(&["anna"]);
    assert!(told.stderr.contains("is busy with session"), "{told:?}");
    company.scene.call_ok(&["stop", &chat]);
    company.assert_all_gone();
    assert_eq!(company.events("judged").len(), 0, "nobody judges a chat");
    company.end();
}

/// What can't be, and what is meant otherwise, is refused before anything is started.
#[test]
fn what_is_no_chat_is_refused() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["-", "ok"]) else { return };
    let turns = ["member", "add", "bert", "--agent", "claude", "--turns", "3"];
    company.scene.call_ok(&turns);
    for (args, code, words) in [
        (&[][..], 201, "--agent"),
        (&["anna"], 202, "there is no member"),
        (&["--agent", "claude", "--resume", "x"], 202, "UUID"),
        (&["bert"], 202, "turns"),
        (&["bert", "--model", "opus"], 201, "has its own model"),
    ] {
        let told = company.call_chat(args);
        assert_eq!(told.code, code, "{args:?}: {told:?}");
        assert!(told.stderr.contains(words), "{args:?}: {told:?}");
    }
    assert_eq!(company.launches().len(), 0);
    let id = company.leave(&["--agent", "claude"]);
    company.scene.call_ok(&["stop", &id]);
    for (verb, words) in [("resume", "is a chat"), ("answer", "is no prompt")] {
        let told = company.scene.call(&[verb, &id]);
        assert!(told.code != 0 && told.stderr.contains(words), "{verb}: {told:?}");
    }
    assert_eq!(company.launches().len(), 1);
    let told = company.ask(&["--agent", "claude", "--name", "asked", "hello"]);
    assert_eq!(told.code, 0, "{told:?}");
    let told = company.scene.call(&["resume", "asked"]);
    assert!(told.code != 0 && told.stderr.contains("is a prompt"), "{told:?}");
    company.end();
}

/// The daemon is killed while it launches one: it comes to be once, or not at all, and the member is as busy as is true.
#[test]
fn a_daemon_that_dies_over_a_chat_leaves_one_or_none() {
    for point in ["daemon.launch.admitted", "daemon.launch.born", "daemon.launch.granted"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let company = Company::in_scene(scene, &["-"]);
        company.add("anna");
        faults.arm(point);
        let chat = Running::start(company.chat(&["-d", "anna"]));
        let held = faults.wait_reached(point, PATIENCE).expect("it is passed");
        kennel_testing::signal(held, "KILL");
        faults.disarm(point);
        let told = chat.wait();
        if told.code == 0 {
            let id = told.stdout.trim_end();
            assert_eq!(company.member("anna")["busy_with"], id, "{point}: {told:?}");
            company.wait_launches(1);
            company.scene.call_ok(&["stop", id]);
        }
        eventually("the member is free", || company.member("anna")["busy_with"].is_null());
        assert!(company.launches().len() <= 1, "{point}: {told:?}");
        company.assert_all_gone();
        company.end();
    }
}
