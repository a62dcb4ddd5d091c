//! Removing busy members takes bounded time and gives an honest answer.

use std::fs;
use std::time::Instant;

use kennel_testing::{Pen, Who, alive, eventually};

use crate::ask::AskScene;
use crate::supervisor_death::kill_all;

/// Leftovers that can't be removed delay neither the verdict nor the member's removal, and are
/// reported.
#[test]
fn a_prompt_with_leftovers_gets_its_verdict_and_frees_its_member() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    ask_scene.add("anna");
    let asked = ask_scene.start(&["anna", "hello"]);
    ask_scene.wait_launches(1);
    let id = ask_scene.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    // A folder, so that removing it as a file fails.
    let stubborn = ask_scene.scene.session_folder(&id).join("token");
    fs::remove_file(&stubborn).expect("a token");
    fs::create_dir(&stubborn).expect("mkdir");
    let removed = ask_scene.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(removed, "anna: removed\n");
    let reported = asked.wait();
    assert_eq!(reported.code, 130, "{reported:?}");
    assert!(reported.stderr.contains("failed and will be retried"), "{reported:?}");
    assert!(reported.stderr.contains("token"), "{reported:?}");
    let session = ask_scene.scene.session(&id);
    assert_eq!(session["phase"], "reaped", "{session:#}");
    assert_eq!(session["judged"]["verdict"]["kind"], "cancelled", "{session:#}");
    fs::remove_dir(&stubborn).expect("rmdir");
    ask_scene.scene.wait_phase(&id, "cleaned");
    assert_eq!(ask_scene.events("judged").len(), 1, "once");
    ask_scene.end();
}

/// Kennel does not wait for the end of a lost prompt: the error names the command to use.
#[test]
fn a_member_with_a_lost_prompt_is_removed_after_forget() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["leak hang"]) else { return };
    ask_scene.add("anna");
    let id = ask_scene.ask(&["-d", "anna", "hello"]).stdout.trim().to_owned();
    ask_scene.wait_launches(1);
    eventually("its tree is up", || ask_scene.scene.pids().len() >= 3);
    kill_all(&ask_scene.scene);
    ask_scene.scene.wait_phase(&id, "lost");
    let asked = Instant::now();
    let refused = ask_scene.scene.call(&["member", "rm", "--force", "anna"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains(&format!("kennel forget {id}")), "{refused:?}");
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
    assert_eq!(ask_scene.member("anna")["busy_with"], id.as_str());
    ask_scene.scene.call_ok(&["forget", &id]);
    eventually("it is judged", || ask_scene.member("anna")["busy_with"].is_null());
    ask_scene.scene.call_ok(&["member", "rm", "anna"]);
    for (pid, _) in ask_scene.scene.pids().into_iter().filter(|(pid, _)| alive(*pid)) {
        kennel_testing::signal(pid, "KILL");
    }
    ask_scene.end();
}

/// A stop after the result must not make the agent start another turn.
#[test]
fn an_agent_that_has_reported_its_result_is_killed_at_once() {
    for (script, turns) in [("again done", 0), ("hang", 0)] {
        let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &[script]) else { return };
        let asked = ask_scene.start(&["--agent", "claude", "hello"]);
        ask_scene.wait_launches(1);
        let id = ask_scene.scene.sessions()[0]["id"].as_str().expect("an id").to_owned();
        if script != "hang" {
            eventually("it has printed its result", || {
                ask_scene.scene.output(&id).contains("\"result\"")
            });
        }
        let stop = ask_scene.scene.call(&["stop", &id]);
        assert_eq!(stop.code, 0, "{stop:?}");
        let reported = asked.wait();
        let again = ask_scene.log().iter().filter(|line| line.starts_with("turn ")).count();
        assert_eq!((again, ask_scene.launches().len()), (turns, 1), "{script}: {reported:?}");
        let signal = &ask_scene.scene.session(&id)["exit"]["signal"];
        assert_eq!(*signal, if script == "hang" { 2 } else { 9 }, "{script}");
        ask_scene.end();
    }
}

/// A queued prompt is for the current member of that name, not for a later one.
#[test]
fn a_member_with_a_queued_prompt_is_removed_only_with_that_prompt() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    ask_scene.add("anna");
    let first = ask_scene.start(&["anna", "one"]);
    ask_scene.wait_launches(1);
    let second = ask_scene.start(&["--queue", "anna", "two"]);
    eventually("it is queued", || ask_scene.member("anna")["waiting"] == 1);
    let refused = ask_scene.scene.call(&["member", "rm", "anna"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    ask_scene.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!((first.wait().code, second.wait().code), (130, 130));
    assert_eq!(ask_scene.launches().len(), 1, "the second was never asked");
    ask_scene.end();
}

/// A repeated request gets the first answer, even if the member was removed or replaced since. A
/// different prompt is refused as before, and so is a new one to a missing member.
#[test]
fn a_key_stays_valid_after_its_member_is_gone() {
    let Some(ask_scene) = AskScene::new(Who::Other, Pen::Subtree, &["ok one", "ok two"]) else {
        return;
    };
    ask_scene.add("anna");
    let ask = |key: &str, prompt: &str| ask_scene.ask(&["anna", "--key", key, prompt]);
    assert_eq!(ask("k1", "hello").stdout, "one\n");
    ask_scene.scene.call_ok(&["member", "rm", "anna"]);
    let again = ask("k1", "hello");
    assert_eq!((again.code, again.stdout.as_str()), (0, "one\n"), "{again:?}");
    let other = ask("k1", "something else");
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains("key"), "{other:?}");
    let new = ask("k2", "hello");
    assert_eq!(new.code, 1, "{new:?}");
    assert!(new.stderr.contains("no member"), "{new:?}");
    // A member of the same name with another folder.
    ask_scene.scene.call_ok(&["member", "add", "anna", "--agent", "codex", "--cwd", "/"]);
    assert_eq!(ask("k1", "hello").stdout, "one\n");
    assert_eq!(ask_scene.launches().len(), 1);
    ask_scene.end();
}
