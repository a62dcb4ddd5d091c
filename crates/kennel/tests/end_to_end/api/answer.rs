//! What an agent answers, over the API.

use kennel_testing::{Pen, Running, Who, eventually};

use super::client::{Answer, Returning, crash_daemon};
use crate::ask::Company;

/// Asks, and leaves it to itself; gives the session's id.
fn ask(company: &Company, args: &[&str]) -> String {
    let told = company.ask(&[&["-d"], args].concat());
    assert_eq!(told.code, 0, "{told:?}");
    told.stdout.trim_end().to_owned()
}

#[test]
fn the_answer_is_waited_for_and_told_in_one_object() {
    let Some(company) = Company::new(Who::Root, Pen::Cgroup, &["tool ok the answer"]) else {
        return;
    };
    company.add("anna");
    let id = ask(&company, &["anna", "hello"]);
    let scene = &company.scene;
    let path = format!("/v1/sessions/{id}/answer");
    let told = Answer::get(scene, &format!("{path}?wait=true"), &[]).json();
    assert_eq!(
        (&told["verdict"], &told["answer"], &told["attempts"], &told["tools"], &told["member"]),
        (&"succeeded".into(), &"the answer".into(), &1.into(), &1.into(), &"anna".into()),
        "{told:#}"
    );
    assert!(told["conversation"].is_string() && told["usage"].is_object(), "{told:#}");
    // What is printed for programs is the same.
    let printed = scene.call_json(&["answer", "--json", &id]);
    assert_eq!(printed, told);
    let other = scene.launch(&["--name", "x"], &["exit", "0"]);
    let refused = Answer::get(scene, &format!("/v1/sessions/{other}/answer"), &[]);
    assert_eq!(refused.status, 409);
    company.script(&["hang"]);
    let hanging = ask(&company, &["anna", "hello"]);
    company.wait_launches(2);
    let early = Answer::get(scene, &format!("/v1/sessions/{hanging}/answer"), &[]);
    assert_eq!(early.status, 409, "it is not over");
    scene.call_ok(&["stop", "--now", &hanging]);
    company.end();
}

#[test]
fn what_an_agent_does_is_told_over_attempts_and_crashes_once() {
    let script = ["tool overloaded", "tool ok at last"];
    let Some(company) = Company::new(Who::Root, Pen::Subtree, &script) else { return };
    company.add("anna");
    let mut asking: Running = company.start(&["anna", "--replay", "--retries", "1", "hello"]);
    company.wait_launches(1);
    let scene = &company.scene;
    let member = company.member("anna");
    let id = member["last_session"].as_str().map(str::to_owned);
    let id = id.unwrap_or_else(|| {
        let sessions = scene.sessions();
        sessions[0]["session"].as_str().expect("an id").to_owned()
    });
    let mut follower = Returning::new(scene, format!("/v1/sessions/{id}/answer"));
    let (mut kinds, mut ids) = (Vec::new(), Vec::new());
    loop {
        let event = follower.next();
        kinds.push(event.event.clone());
        ids.push(event.id.clone());
        if event.event == "tool" && kinds.iter().filter(|kind| *kind == "tool").count() == 1 {
            crash_daemon(scene);
        }
        if event.event == "verdict" {
            let told = event.json();
            assert_eq!((&told["verdict"], &told["attempts"]), (&"succeeded".into(), &2.into()));
            assert_eq!(told["answer"], "at last");
            break;
        }
    }
    assert_eq!(kinds[0], "attempt");
    assert_eq!(kinds.iter().filter(|kind| *kind == "attempt").count(), 2, "{kinds:?}");
    assert!(kinds.iter().any(|kind| kind == "text"), "{kinds:?}");
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "each is told once: {ids:?}");
    let last = ids.last().expect("an id").clone();
    let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", last.as_str())];
    let path = format!("/v1/sessions/{id}/answer");
    assert_eq!(Answer::get(scene, &path, &headers).status, 204, "it need not come back");
    eventually("who asked has the answer", || asking.has_ended());
    assert_eq!(asking.wait().code, 0);
    company.end();
}

fn question(company: &Company) -> serde_json::Value {
    let scene = &company.scene;
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    serde_json::json!({
        "agent": "claude", "prompt": "hello", "cwd": scene.path("work"), "env": {"PATH": path},
        "pen": "subtree", "grace_ms": 200,
    })
}

#[test]
fn a_prompt_is_asked_and_answered_in_one_stream() {
    let Some(company) = Company::new(Who::Root, Pen::Subtree, &["tool ok the answer"]) else {
        return;
    };
    let scene = &company.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let mut told = Answer::post(scene, "/v1/ask", &accept, &question(&company)).events();
    let mut kinds = Vec::new();
    let verdict = loop {
        let event = told.next().expect("an event");
        kinds.push(event.event.clone());
        if event.event == "verdict" {
            break event.json();
        }
    };
    assert_eq!(
        (&verdict["verdict"], &verdict["answer"]),
        (&"succeeded".into(), &"the answer".into())
    );
    assert!(kinds.contains(&"text".to_owned()) && kinds.contains(&"tool".to_owned()), "{kinds:?}");
    // Without a stream the session is the answer, and goes on by itself.
    company.script(&["ok another"]);
    let begun = Answer::post(scene, "/v1/ask", &[], &question(&company));
    assert_eq!(begun.status, 201);
    let id = begun.json()["session"].as_str().expect("an id").to_owned();
    let told = Answer::get(scene, &format!("/v1/sessions/{id}/answer?wait=true"), &[]).json();
    assert_eq!(told["answer"], "another", "{told:#}");
    let mut nobody = question(&company);
    nobody.as_object_mut().expect("an object").remove("agent");
    assert_eq!(Answer::post(scene, "/v1/ask", &[], &nobody).status, 422);
    company.end();
}

/// Who asks and goes without a word wants nothing any more, unless they said so.
#[test]
fn a_prompt_ends_with_the_stream_that_asked_for_it() {
    let Some(company) = Company::new(Who::Root, Pen::Subtree, &["hang"]) else { return };
    let scene = &company.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let told = Answer::post(scene, "/v1/ask", &accept, &question(&company)).events();
    company.wait_launches(1);
    drop(told);
    eventually("it has ended", || scene.sessions()[0]["judged"]["verdict"]["kind"] == "cancelled");
    let mut apart = question(&company);
    apart["detach"] = true.into();
    let told = Answer::post(scene, "/v1/ask", &accept, &apart).events();
    company.wait_launches(2);
    drop(told);
    let second = scene.sessions()[1]["id"].as_str().expect("an id").to_owned();
    // A request that comes later is answered: the daemon has seen the stream go.
    scene.call_ok(&["ps"]);
    assert_eq!(scene.session(&second)["wanted"], "running");
    scene.call_ok(&["stop", "--now", &second]);
    company.end();
}

/// Who comes upon what another has asked for does not end it by going; whoever asked is tied to it.
#[test]
fn a_prompt_does_not_end_with_one_who_only_joined_it() {
    let Some(company) = Company::new(Who::Root, Pen::Subtree, &["hang"]) else { return };
    let scene = &company.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let mut first = question(&company);
    first["key"] = "once".into();
    first["detach"] = true.into();
    let begun = Answer::post(scene, "/v1/ask", &[], &first);
    assert_eq!(begun.status, 201);
    let id = begun.json()["session"].as_str().expect("an id").to_owned();
    company.wait_launches(1);
    let mut second = first.clone();
    second["detach"] = false.into();
    let joined = Answer::post(scene, "/v1/ask", &accept, &second);
    assert_eq!(joined.status, 200);
    drop(joined);
    // One who says so is tied, wherever they come from.
    scene.call_ok(&["ps"]);
    assert_eq!(scene.session(&id)["wanted"], "running");
    let path = format!("/v1/sessions/{id}/answer?tied=true");
    let tied = Answer::get(scene, &path, &accept);
    assert_eq!(tied.status, 200);
    scene.call_ok(&["ps"]);
    drop(tied);
    eventually("it has ended", || scene.session(&id)["judged"]["verdict"]["kind"] == "cancelled");
    assert_eq!(company.launches().len(), 1);
    company.end();
}
