//! Members that are removed while somebody works for them: bounded, and with an honest answer.

use std::fs;
use std::time::Instant;

use kennel_testing::{Pen, Who, alive, eventually};

use crate::ask::Company;
use crate::supervisor_death::kill_all;

/// What can't be removed keeps neither a prompt from its verdict nor a member from being removed, and is told.
#[test]
fn a_prompt_that_leaves_something_has_its_verdict_and_sets_its_member_free() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    company.add("anna");
    let asked = company.start(&["anna", "hello"]);
    company.wait_launches(1);
    let id = company.member("anna")["busy_with"].as_str().expect("a session").to_owned();
    // No file, so that it can't be removed as one.
    let stubborn = company.scene.session_folder(&id).join("token");
    fs::remove_file(&stubborn).expect("a token");
    fs::create_dir(&stubborn).expect("mkdir");
    let removed = company.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!(removed, "anna: removed\n");
    let told = asked.wait();
    assert_eq!(told.code, 130, "{told:?}");
    assert!(told.stderr.contains("has left something"), "{told:?}");
    assert!(told.stderr.contains("token"), "{told:?}");
    let session = company.scene.session(&id);
    assert_eq!(session["phase"], "reaped", "{session:#}");
    assert_eq!(session["judged"]["verdict"]["kind"], "cancelled", "{session:#}");
    fs::remove_dir(&stubborn).expect("rmdir");
    company.scene.wait_phase(&id, "cleaned");
    assert_eq!(company.events("judged").len(), 1, "once");
    company.end();
}

/// Of a prompt that nobody can see any more nobody waits for the end: the answer says what to do.
#[test]
fn a_member_whose_prompt_is_lost_is_removed_when_that_is_given_up() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["leak hang"]) else { return };
    company.add("anna");
    let id = company.ask(&["-d", "anna", "hello"]).stdout.trim().to_owned();
    company.wait_launches(1);
    eventually("its tree is up", || company.scene.pids().len() >= 3);
    kill_all(&company.scene);
    company.scene.wait_phase(&id, "lost");
    let asked = Instant::now();
    let refused = company.scene.call(&["member", "rm", "--force", "anna"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains(&format!("kennel forget {id}")), "{refused:?}");
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
    assert_eq!(company.member("anna")["busy_with"], id.as_str());
    company.scene.call_ok(&["forget", &id]);
    eventually("it is judged", || company.member("anna")["busy_with"].is_null());
    company.scene.call_ok(&["member", "rm", "anna"]);
    for (pid, _) in company.scene.pids().into_iter().filter(|(pid, _)| alive(*pid)) {
        kennel_testing::signal(pid, "KILL");
    }
    company.end();
}

/// A stop that comes after the result does not have the agent begin another turn.
#[test]
fn an_agent_that_has_told_its_result_is_not_asked_to_end_but_killed() {
    for (script, turns) in [("again done", 0), ("hang", 0)] {
        let Some(company) = Company::new(Who::Other, Pen::Subtree, &[script]) else { return };
        let asked = company.start(&["--agent", "claude", "hello"]);
        company.wait_launches(1);
        let id = company.scene.sessions()[0]["id"].as_str().expect("an id").to_owned();
        if script != "hang" {
            eventually("it has told", || company.scene.output(&id).contains("\"result\""));
        }
        let stop = company.scene.call(&["stop", &id]);
        assert_eq!(stop.code, 0, "{stop:?}");
        let told = asked.wait();
        let again = company.log().iter().filter(|line| line.starts_with("turn ")).count();
        assert_eq!((again, company.launches().len()), (turns, 1), "{script}: {told:?}");
        let signal = &company.scene.session(&id)["exit"]["signal"];
        assert_eq!(*signal, if script == "hang" { 2 } else { 9 }, "{script}");
        company.end();
    }
}

/// A prompt in line is for who has the name now, not for who gets it later.
#[test]
fn a_member_that_a_prompt_waits_for_is_removed_only_with_that_prompt() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["hang"]) else { return };
    company.add("anna");
    let first = company.start(&["anna", "one"]);
    company.wait_launches(1);
    let second = company.start(&["--queue", "anna", "two"]);
    eventually("it is in line", || company.member("anna")["waiting"] == 1);
    let refused = company.scene.call(&["member", "rm", "anna"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    company.scene.call_ok(&["member", "rm", "--force", "anna"]);
    assert_eq!((first.wait().code, second.wait().code), (130, 130));
    assert_eq!(company.launches().len(), 1, "the second was never asked");
    company.end();
}

/// Who asks again has the answer of the first time, though the member is gone since, or is another. A prompt of another kind is
/// refused as before, and so is a new one to nobody.
#[test]
fn a_key_is_good_after_its_member_is_gone() {
    let Some(company) = Company::new(Who::Other, Pen::Subtree, &["ok one", "ok two"]) else {
        return;
    };
    company.add("anna");
    let ask = |key: &str, prompt: &str| company.ask(&["anna", "--key", key, prompt]);
    assert_eq!(ask("k1", "hello").stdout, "one\n");
    company.scene.call_ok(&["member", "rm", "anna"]);
    let again = ask("k1", "hello");
    assert_eq!((again.code, again.stdout.as_str()), (0, "one\n"), "{again:?}");
    let other = ask("k1", "something else");
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.stderr.contains("key"), "{other:?}");
    let new = ask("k2", "hello");
    assert_eq!(new.code, 1, "{new:?}");
    assert!(new.stderr.contains("no member"), "{new:?}");
    // One of the same name that works elsewhere.
    company.scene.call_ok(&["member", "add", "anna", "--agent", "codex", "--cwd", "/"]);
    assert_eq!(ask("k1", "hello").stdout, "one\n");
    assert_eq!(company.launches().len(), 1);
    company.end();
}
