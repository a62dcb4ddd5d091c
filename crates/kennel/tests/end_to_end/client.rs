//! The client crate against a real daemon.

use kennel_client::{Client, ClientError, Events};
use kennel_testing::{Pen, Scene, Who};
use kennel_types::api::Until;
use kennel_types::api::{
    CreateRequest, Environment, InputRequest, ListOrder, ListRequest, OsText, SignalRequest,
    StdinFrom, StopRequest, StopResult,
};
use kennel_types::{Phase, SessionSpec};

fn scene() -> Option<Scene> {
    // Only the owner may use the socket, and the test itself connects.
    Scene::new(Who::Root, Pen::Subtree)
}

pub(crate) fn request(scene: &Scene, argv: &[&str]) -> CreateRequest {
    let cwd = scene.path("work");
    let defaults = CreateRequest::with_defaults();
    CreateRequest {
        argv: argv.iter().map(|word| OsText::from(*word)).collect(),
        env: Environment(vec![
            (OsText::from("PATH"), OsText::from("/usr/bin:/bin")),
            (OsText::from("FAKE_AGENT_PIDS"), OsText::from(scene.path("work/pids").as_os_str())),
        ]),
        cwd: OsText::from(cwd.as_os_str()),
        spec: SessionSpec { pen: kennel_types::PenKind::Subtree, ..defaults.spec.clone() },
        ..defaults
    }
}

pub(crate) fn kennel_of(scene: &Scene) -> Client {
    Client::of_home(scene.kennel_home())
}

#[test]
fn a_program_starts_lists_stops_and_waits_for_sessions() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let kennel = kennel_of(&scene);
    let agent = scene.fake_agent();
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        let mut request = request(&scene, &[&agent, "sleep"]);
        request.spec.name = Some(name.to_owned());
        request.spec.key = Some(format!("key-of-{name}"));
        let session = kennel.create(&request, Until::Started).expect("a session");
        assert_eq!(session.phase, Phase::Running, "{session:#?}");
        let again = kennel.create(&request, Until::Started).expect("the same");
        assert_eq!(again.id, session.id, "the same key is the same session");
        ids.push(session.id);
    }
    let list =
        ListRequest { limit: Some(2), order: Some(ListOrder::Newest), ..ListRequest::default() };
    let page = kennel.page(&list).expect("a page");
    assert_eq!((page.sessions.len(), page.sessions[0].id.as_str()), (2, ids[2].as_str()));
    let all = kennel.sessions(&list).expect("all pages");
    assert_eq!(
        all.iter().map(|session| &session.id).rev().collect::<Vec<_>>(),
        ids.iter().collect::<Vec<_>>()
    );
    let stopped = kennel.stop("b", &StopRequest::default()).expect("an answer");
    assert_eq!(stopped.result, StopResult::Stopped, "{stopped:#?}");
    assert_eq!(
        kennel.stop("b", &StopRequest::default()).expect("an answer").result,
        StopResult::AlreadyGone
    );
    kennel.signal("a", &SignalRequest { signal: 9 }).expect("it is sent");
    let over = kennel.wait("a").expect("its end");
    assert_eq!(over.exit_code, Some(137), "{over:#?}");
    let named = ListRequest { name: Some("a".to_owned()), all: true, ..ListRequest::default() };
    assert_eq!(kennel.sessions(&named).expect("a list").len(), 1);
    let events = kennel.events(&Events { session: Some(ids[0].clone()), ..Events::default() });
    let kinds: Vec<_> =
        events.expect("events").map(|event| event.expect("an event").kind).collect();
    assert!(
        kinds.iter().any(|kind| kind == "running") && kinds.iter().any(|kind| kind == "cleaned"),
        "{kinds:?}"
    );
    kennel.stop("c", &StopRequest { now: true, ..StopRequest::default() }).expect("an answer");
    assert!(kennel.strays().expect("a look").strays.is_empty());
    kennel.remove("c").expect("it is over");
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

#[test]
fn a_stop_can_return_at_once() {
    let Some(scene) = scene() else { return };
    let id = scene.launch_ready(&["--grace", "1h"], &["ignore-term", "1"]);
    let kennel = kennel_of(&scene);
    for wait_ms in [0, 100, 100] {
        let request = StopRequest { wait_ms: Some(wait_ms), ..StopRequest::default() };
        let reported = kennel.stop(&id, &request).expect("an answer");
        assert_eq!(reported.result, StopResult::StillAlive, "{reported:#?}");
        assert!(reported.survivors.is_empty(), "no process has survived a KILL: {reported:#?}");
    }
    scene.wait_phase(&id, "stopping");
    let now = StopRequest { now: true, wait_ms: Some(60_000), ..StopRequest::default() };
    assert_eq!(kennel.stop(&id, &now).expect("an answer").result, StopResult::Stopped);
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

#[test]
fn input_arrives_and_errors_give_the_reason() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let kennel = kennel_of(&scene);
    let mut request = request(&scene, &["/bin/sh", "-c", "read line; test \"$line\" = hello"]);
    request.stdin = StdinFrom::Pipe;
    let session = kennel.create(&request, Until::Started).expect("a session");
    let hex = "68656c6c6f0a".to_owned();
    kennel.input(&session.id, &InputRequest { hex, eof: true }).expect("it is read");
    assert_eq!(kennel.wait(&session.id).expect("its end").exit_code, Some(0));
    let refused = |error: ClientError| match error {
        ClientError::Problem(problem) => (problem.status, problem.code),
        other => panic!("{other}"),
    };
    let unknown = kennel.session("nobody").expect_err("no session has this name");
    assert_eq!(refused(unknown), (404, "not_found".to_owned()));
    let list = ListRequest { limit: Some(0), ..ListRequest::default() };
    assert_eq!(refused(kennel.page(&list).expect_err("no page")), (422, "invalid".to_owned()));
    request.argv.clear();
    let nothing = kennel.create(&request, Until::Started).expect_err("nothing to run");
    assert_eq!(refused(nothing), (422, "invalid".to_owned()));
    scene.stop_daemon();
    assert!(matches!(kennel.daemon(), Err(ClientError::NoDaemon)));
}
