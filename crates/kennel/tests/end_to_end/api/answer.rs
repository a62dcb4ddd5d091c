//! Answers of agents over the API.

use kennel_testing::{Pen, Running, Who, eventually};

use super::client::{Answer, Returning, crash_daemon};
use crate::ask::AskScene;

/// Sends a detached prompt and returns the session's id.
fn ask(ask_scene: &AskScene, args: &[&str]) -> String {
    let reported = ask_scene.ask(&[&["-d"], args].concat());
    assert_eq!(reported.code, 0, "{reported:?}");
    reported.stdout.trim_end().to_owned()
}

#[test]
fn the_answer_is_awaited_and_returned_as_one_object() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Cgroup, &["tool ok the answer"]) else {
        return;
    };
    ask_scene.add("anna");
    let id = ask(&ask_scene, &["anna", "hello"]);
    let scene = &ask_scene.scene;
    let path = format!("/v1/sessions/{id}/answer");
    let reported = Answer::get(scene, &format!("{path}?wait=true"), &[]).json();
    assert_eq!(
        (
            &reported["verdict"],
            &reported["answer"],
            &reported["attempts"],
            &reported["tools"],
            &reported["member"]
        ),
        (&"succeeded".into(), &"the answer".into(), &1.into(), &1.into(), &"anna".into()),
        "{reported:#}"
    );
    assert!(reported["conversation"].is_string() && reported["usage"].is_object(), "{reported:#}");
    // `--json` prints the same.
    let printed = scene.call_json(&["answer", "--json", &id]);
    assert_eq!(printed, reported);
    let other = scene.launch(&["--name", "x"], &["exit", "0"]);
    let refused = Answer::get(scene, &format!("/v1/sessions/{other}/answer"), &[]);
    assert_eq!(refused.status, 409);
    ask_scene.script(&["hang"]);
    let hanging = ask(&ask_scene, &["anna", "hello"]);
    ask_scene.wait_launches(2);
    let early = Answer::get(scene, &format!("/v1/sessions/{hanging}/answer"), &[]);
    assert_eq!(early.status, 409, "it is not over");
    scene.call_ok(&["stop", "--now", &hanging]);
    ask_scene.end();
}

#[test]
fn an_agents_activity_is_streamed_once_over_attempts_and_crashes() {
    let script = ["tool overloaded", "tool ok at last"];
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &script) else { return };
    ask_scene.add("anna");
    let mut asking: Running = ask_scene.start(&["anna", "--replay", "--retries", "1", "hello"]);
    ask_scene.wait_launches(1);
    let scene = &ask_scene.scene;
    let member = ask_scene.member("anna");
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
            let reported = event.json();
            assert_eq!(
                (&reported["verdict"], &reported["attempts"]),
                (&"succeeded".into(), &2.into())
            );
            assert_eq!(reported["answer"], "at last");
            break;
        }
    }
    assert_eq!(kinds[0], "attempt");
    assert_eq!(kinds.iter().filter(|kind| *kind == "attempt").count(), 2, "{kinds:?}");
    assert!(kinds.iter().any(|kind| kind == "text"), "{kinds:?}");
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "each is sent once: {ids:?}");
    let last = ids.last().expect("an id").clone();
    let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", last.as_str())];
    let path = format!("/v1/sessions/{id}/answer");
    assert_eq!(Answer::get(scene, &path, &headers).status, 204, "the client need not reconnect");
    eventually("the client has the answer", || asking.has_ended());
    assert_eq!(asking.wait().code, 0);
    ask_scene.end();
}

fn question(ask_scene: &AskScene) -> serde_json::Value {
    let scene = &ask_scene.scene;
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    serde_json::json!({
        "agent": "claude", "prompt": "hello", "cwd": scene.path("work"), "env": {"PATH": path},
        "pen": "subtree", "grace_ms": 200,
    })
}

#[test]
fn a_prompt_is_asked_and_answered_in_one_stream() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["tool ok the answer"]) else {
        return;
    };
    let scene = &ask_scene.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let mut reported = Answer::post(scene, "/v1/ask", &accept, &question(&ask_scene)).events();
    let mut kinds = Vec::new();
    let verdict = loop {
        let event = reported.next().expect("an event");
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
    // Without a stream the response is the session, which continues by itself.
    ask_scene.script(&["ok another"]);
    let begun = Answer::post(scene, "/v1/ask", &[], &question(&ask_scene));
    assert_eq!(begun.status, 201);
    let id = begun.json()["session"].as_str().expect("an id").to_owned();
    let reported = Answer::get(scene, &format!("/v1/sessions/{id}/answer?wait=true"), &[]).json();
    assert_eq!(reported["answer"], "another", "{reported:#}");
    let mut without_agent = question(&ask_scene);
    without_agent.as_object_mut().expect("an object").remove("agent");
    assert_eq!(Answer::post(scene, "/v1/ask", &[], &without_agent).status, 422);
    ask_scene.end();
}

/// A client that disconnects cancels its prompt, unless it is detached.
#[test]
fn a_prompt_ends_with_the_stream_that_asked_for_it() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["hang"]) else { return };
    let scene = &ask_scene.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let reported = Answer::post(scene, "/v1/ask", &accept, &question(&ask_scene)).events();
    ask_scene.wait_launches(1);
    drop(reported);
    eventually("it has ended", || scene.sessions()[0]["judged"]["verdict"]["kind"] == "cancelled");
    let mut detached = question(&ask_scene);
    detached["detach"] = true.into();
    let reported = Answer::post(scene, "/v1/ask", &accept, &detached).events();
    ask_scene.wait_launches(2);
    drop(reported);
    let second = scene.sessions()[1]["id"].as_str().expect("an id").to_owned();
    // A later request is answered, so the daemon has seen the stream close.
    scene.call_ok(&["ps"]);
    assert_eq!(scene.session(&second)["wanted"], "running");
    scene.call_ok(&["stop", "--now", &second]);
    ask_scene.end();
}

/// A client that joins another client's prompt does not end it by disconnecting; the first client
/// is tied to it.
#[test]
fn a_prompt_does_not_end_with_a_client_that_only_joined() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["hang"]) else { return };
    let scene = &ask_scene.scene;
    scene.call_ok(&["daemon", "start"]);
    let accept = [("Accept", "text/event-stream")];
    let mut first = question(&ask_scene);
    first["key"] = "once".into();
    first["detach"] = true.into();
    let begun = Answer::post(scene, "/v1/ask", &[], &first);
    assert_eq!(begun.status, 201);
    let id = begun.json()["session"].as_str().expect("an id").to_owned();
    ask_scene.wait_launches(1);
    let mut second = first.clone();
    second["detach"] = false.into();
    let joined = Answer::post(scene, "/v1/ask", &accept, &second);
    assert_eq!(joined.status, 200);
    drop(joined);
    // A client that asks for it is tied.
    scene.call_ok(&["ps"]);
    assert_eq!(scene.session(&id)["wanted"], "running");
    let path = format!("/v1/sessions/{id}/answer?cancel_on_disconnect=true");
    let cancel_on_disconnect = Answer::get(scene, &path, &accept);
    assert_eq!(cancel_on_disconnect.status, 200);
    scene.call_ok(&["ps"]);
    drop(cancel_on_disconnect);
    eventually("it has ended", || scene.session(&id)["judged"]["verdict"]["kind"] == "cancelled");
    assert_eq!(ask_scene.launches().len(), 1);
    ask_scene.end();
}
