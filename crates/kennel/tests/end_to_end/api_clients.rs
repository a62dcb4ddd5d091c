//! Programs that disconnect early, repeat requests or send many at once, with the client crate.

use std::fs;
use std::thread;

use kennel_client::{Client, ClientError, Timeout, session_path};
use kennel_testing::{Pen, Scene, Who, eventually};
use kennel_types::api::Until;
use kennel_types::api::{CreateRequest, ListRequest, OsText, StopRequest};
use kennel_types::{AgentSettings, AgentSpec, Phase, SessionView};

use crate::ask::AskScene;
use crate::client::{kennel_of, request};
use crate::config::configure;

fn scene() -> Option<Scene> {
    // Only the owner may use the socket, and the test itself connects.
    let scene = Scene::new(Who::Root, Pen::Subtree)?;
    scene.call_ok(&["daemon", "start"]);
    Some(scene)
}

fn named(scene: &Scene, name: &str, behaviour: &[&str]) -> CreateRequest {
    let agent = scene.fake_agent();
    let mut request = request(scene, &[&[agent.as_str()], behaviour].concat());
    request.spec.name = Some(name.to_owned());
    request.spec.key = Some(format!("key-of-{name}"));
    request
}

fn all(kennel: &Client) -> Vec<SessionView> {
    kennel.sessions(&ListRequest { all: true, ..ListRequest::default() }).expect("a list")
}

/// B3: a removal succeeds or asks to stop the session first; nothing appears later.
#[test]
fn a_session_that_is_removed_while_it_starts_is_gone() {
    let Some(scene) = scene() else { return };
    let kennel = kennel_of(&scene);
    for round in 0..20 {
        let request = named(&scene, &format!("b3-{round}"), &["sleep"]);
        let path = "/v1/sessions?until=started";
        let starting = kennel.send("POST", path, Some(&request), Timeout::None).expect("sent");
        let name = request.spec.name.clone().expect("a name");
        loop {
            match kennel.remove(&name) {
                Ok(()) => break,
                // It does not exist yet, or it is live.
                Err(ClientError::Problem(problem))
                    if ["not_found", "conflict"].contains(&&*problem.code) =>
                {
                    if problem.code == "conflict" {
                        kennel
                            .stop(&name, &StopRequest { now: true, ..StopRequest::default() })
                            .expect("a stop");
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
        // The client learned the outcome in either case.
        let reported = starting.receive::<SessionView>();
        assert!(reported.is_ok_and(|session| session.phase >= Phase::Running), "round {round}");
        assert!(matches!(kennel.session(&name), Err(ClientError::Problem(_))), "round {round}");
    }
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// B4: the session is owned and ends properly, whether or not its client waits for the response.
#[test]
fn a_session_whose_client_vanishes_is_owned_or_never_started() {
    let Some(scene) = scene() else { return };
    let kennel = kennel_of(&scene);
    for (round, tethered) in (0..20).map(|round| (round, round % 2 == 0)) {
        let mut request = named(&scene, &format!("b4-{round}"), &["sleep"]);
        request.spec.tethered = tethered;
        drop(kennel.send("POST", "/v1/sessions", Some(&request), Timeout::None).expect("sent"));
        // A repeated request returns the same session or creates the first one, never a second. A
        // session tied to the first client has ended with it.
        let again = kennel.create(&request, Until::Started).expect("an answer");
        let alike =
            all(&kennel).into_iter().filter(|session| session.name == request.spec.name).count();
        assert_eq!(alike, 1, "round {round}");
        kennel
            .stop(&again.id, &StopRequest { now: true, ..StopRequest::default() })
            .expect("a stop");
    }
    eventually("all have settled", || {
        all(&kennel).iter().all(|session| session.phase == Phase::Cleaned)
    });
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// B8: KILL is still sent, and the stop completes.
#[test]
fn a_stop_completes_without_its_client() {
    let Some(scene) = scene() else { return };
    let kennel = kennel_of(&scene);
    let session = kennel
        .create(&named(&scene, "deaf", &["ignore-term", "3"]), Until::Started)
        .expect("a session");
    let stop =
        StopRequest { grace_ms: Some(200), by: "a program".to_owned(), ..StopRequest::default() };
    let path = session_path(&session.id, "/stop");
    let asked = kennel.send("POST", &path, Some(&stop), Timeout::None).expect("sent");
    eventually("the stop is under way", || {
        kennel.session(&session.id).is_ok_and(|session| session.phase == Phase::Stopping)
    });
    drop(asked);
    let over = kennel.wait(&session.id).expect("its end");
    assert_eq!(over.phase, Phase::Cleaned, "{over:#?}");
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// B11: fifty programs at once against a limit of ten.
#[test]
fn of_fifty_concurrent_programs_ten_get_a_session_and_the_others_a_reason() {
    const LIMIT: usize = 10;
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    configure(&scene, "daemon.max_live = 10\n");
    scene.call_ok(&["daemon", "start"]);
    let kennel = kennel_of(&scene);
    let answers: Vec<_> = thread::scope(|scope| {
        let ask = |number: usize| {
            let request = named(&scene, &format!("b11-{number}"), &["sleep"]);
            let kennel = &kennel;
            scope.spawn(move || kennel.create(&request, Until::Started))
        };
        let asked: Vec<_> = (0..50).map(ask).collect();
        asked.into_iter().map(|asked| asked.join().expect("a thread")).collect()
    });
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((taken.len(), refused.len()), (LIMIT, 50 - LIMIT));
    for answer in refused {
        let Err(ClientError::Problem(problem)) = answer else { panic!("{answer:?}") };
        assert_eq!(problem.status, 503, "{problem:?}");
        assert!(
            problem.detail.contains("the limit is 10") && problem.hint.is_some(),
            "{problem:?}"
        );
    }
    assert_eq!(all(&kennel).len(), LIMIT, "nothing was created for the others");
    scene.stop_daemon();
    scene.assert_nothing_left_soon();
}

/// R3: a client with a shorter deadline than the daemon's repeats its request with the same key.
#[test]
fn a_repeated_request_with_its_key_returns_the_same_session() {
    let Some(scene) = scene() else { return };
    let kennel = kennel_of(&scene);
    let request = named(&scene, "slow", &["sleep"]);
    let mut asked = Vec::new();
    for _ in 0..4 {
        asked.push(
            kennel.send("POST", "/v1/sessions", Some(&request), Timeout::None).expect("sent"),
        );
        eventually("it is on record", || kennel.session("slow").is_ok());
    }
    // Two of them give up.
    asked.truncate(2);
    let reported: Vec<SessionView> =
        asked.into_iter().map(|sent| sent.receive().expect("an answer")).collect();
    assert!(reported.iter().all(|session| session.id == reported[0].id), "{reported:#?}");
    // The key is in the header.
    let by_header = CreateRequest { argv: vec![OsText::from("/bin/true")], ..request.clone() };
    let conflict =
        kennel.create(&by_header, Until::Started).expect_err("another command, the same key");
    assert!(matches!(conflict, ClientError::Problem(problem) if problem.status == 409));
    assert_eq!(all(&kennel).len(), 1, "nothing else was begun");
    scene.call_ok(&["stop", "slow"]);
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

/// A prompt whose client vanishes at once is answered if it is detached, and ended if it is tied.
#[test]
fn a_prompt_whose_client_vanishes_is_answered_or_ended() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["hang", "ok done"]) else {
        return;
    };
    let scene = &ask_scene.scene;
    scene.call_ok(&["daemon", "start"]);
    let kennel = kennel_of(scene);
    for cancel_on_disconnect in [true, false] {
        let mut request = request(scene, &[]);
        let settings = AgentSettings { agent: "claude".to_owned(), ..AgentSettings::default() };
        request.spec.agent =
            Some(Box::new(AgentSpec { settings, cancel_on_disconnect, ..AgentSpec::default() }));
        request.prompt = Some("hi".to_owned());
        let path = OsText::from(format!("{}:/usr/bin:/bin", scene.path("bin").display()).as_str());
        request.env.0[0].1 = path;
        let session = kennel.create(&request, Until::Accepted).expect("a session");
        let wait = session_path(
            &session.session,
            if cancel_on_disconnect { "/wait?cancel_on_disconnect=true" } else { "/wait" },
        );
        let waiting = kennel.send("GET", &wait, None::<&()>, Timeout::None).expect("sent");
        eventually("the agent is up", || {
            ask_scene.launches().len() == if cancel_on_disconnect { 1 } else { 2 }
        });
        drop(waiting);
        let over = kennel.wait(&session.session).expect("its end");
        let verdict = over.judged.as_ref().map(|judged| judged.verdict.kind.to_string());
        assert_eq!(
            verdict.as_deref(),
            Some(if cancel_on_disconnect { "cancelled" } else { "succeeded" }),
            "{over:#?}"
        );
    }
    assert_eq!(
        fs::read_dir(scene.path("work/claude")).expect("a folder").count(),
        3,
        "lock, log and script"
    );
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}
