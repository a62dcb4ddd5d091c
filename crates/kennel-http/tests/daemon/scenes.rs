//! The tests: what a daemon must do.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client;
use crate::stage::{Stage, pid, signal};

type Scene = fn(&Stage);

pub(crate) const SCENES: &[(&str, Scene)] = &[
    ("a_session_runs_and_is_cleaned", runs),
    ("reports_a_missing_program", missing_program),
    ("a_stop_ends_the_whole_tree", stop_ends_all),
    ("a_stopped_keeper_is_bypassed", stopped_keeper),
    ("a_killed_daemon_is_started_again_and_adopts", adopts),
    ("reports_an_end_that_happened_without_a_daemon", ends_alone),
    ("a_killed_keeper_takes_its_tree_along", killed_keeper),
    ("keeper_and_daemon_killed_at_once", killed_both),
    ("a_killed_yard_is_replaced", killed_yard),
    ("an_unobservable_session_is_lost_until_it_is_given_up", lost),
    ("a_shutdown_ends_all_sessions_and_reports_each", shutdown),
    ("a_term_is_a_shutdown", term),
    ("a_daemon_that_shuts_down_can_keep_its_sessions", keep),
    ("a_replaced_daemon_keeps_its_sessions", replace),
    ("input_and_signals_reach_the_agent", input),
    ("passes_a_standard_input_by_its_ticket", deposit),
    ("a_tethered_session_ends_with_its_client", tethered),
    ("finds_shows_and_removes_sessions", records),
    ("a_child_session_ends_with_its_parent", parent),
    ("adopts_many_sessions_quickly", many),
    ("refuses_invalid_requests", invalid_requests),
];

fn runs(stage: &Stage) {
    let session = stage.run(&["/bin/sh", "-c", "exit 7"]);
    let ended = stage.wait(&session);
    assert_eq!(ended["phase"], "cleaned");
    assert_eq!((&ended["exit"]["code"], &ended["exit_code"]), (&json!(7), &json!(7)));
    assert_eq!(ended["reason"]["kind"], "exited");
    assert_eq!(ended["unrecorded"], false);
    assert!(ended["ended_at"].is_string() && ended["started_at"].is_string(), "{ended}");
    stage.assert_clean(&ended);
    let events = stage.ask("GET", "/v1/events", None).lines();
    let of_it: Vec<_> = events.iter().filter(|event| event["session"] == session["id"]).collect();
    let kinds: Vec<_> = of_it.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let order = ["reserved", "launching", "starting", "running", "reaped", "cleaned"];
    let mut left = kinds.iter();
    assert!(order.iter().all(|kind| left.any(|other| other == kind)), "{kinds:?}");
    let everything =
        format!("{events:?}{:?}", std::fs::read_to_string(stage.path("log/daemon.log")));
    assert!(!everything.contains("hunter2"), "a secret is in the log");
    for entry in std::fs::read_dir(stage.path("")).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let secret = bytes.windows(7).any(|seven| seven == b"hunter2");
            assert!(!secret, "a secret is in {}", entry.path().display());
        }
    }
}

fn missing_program(stage: &Stage) {
    let session = stage.run(&["/no/such/program"]);
    assert_eq!(session["reason"]["kind"], "failed", "{session}");
    assert_eq!(session["reason"]["code"], 204);
    assert_eq!(session["exit"]["kind"], "never_ran");
    let ended = stage.wait(&session);
    assert_eq!(ended["phase"], "cleaned");
    stage.assert_clean(&ended);
}

/// Ignores TERM, and has a child in a session of its own that does too, without any environment.
const STUBBORN: &str = "trap '' TERM; env -i setsid /bin/sh -c \
    'trap \"\" TERM; while :; do sleep 0.1; done' MARK & READY; while :; do sleep 0.1; done";

fn stubborn(stage: &Stage) -> (Value, String) {
    let mark = stage.path("mark").display().to_string();
    let session = stage.run_script(&STUBBORN.replace("MARK", &mark));
    stage.until("both are there", || (stage.processes(&mark).len() >= 2).then_some(()));
    (session, mark)
}

fn stop_ends_all(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let began = Instant::now();
    let answer = stage.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert!(began.elapsed() >= Duration::from_millis(900), "the grace was kept");
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    assert_eq!(answer["session"]["reason"], json!({"kind": "stopped", "by": "the test"}));
    stage.assert_clean(&answer["session"]);
    let again = stage.stop(&session);
    assert_eq!(again["result"], "already_gone");
}

fn stopped_keeper(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let keeper = stage.keeper_pid(&session);
    // Stopped several times, so that it stays stopped even if it is continued.
    for _ in 0..3 {
        signal(keeper, Signal::STOP);
    }
    let stopper = std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(12);
        while Instant::now() < end {
            signal(keeper, Signal::STOP);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let answer = stage.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    stage.gone(keeper);
    stage.assert_clean(&answer["session"]);
    stopper.join().unwrap();
}

fn adopts(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let before = stage.kill_daemon();
    let now = stage.show(&session);
    assert_eq!(now["phase"], "running", "{now}");
    assert_eq!(now["pid"], session["pid"]);
    assert_ne!(stage.daemon_pid(), before);
    let answer = stage.stop(&session);
    assert_eq!(answer["result"], "stopped");
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    stage.assert_clean(&answer["session"]);
}

fn ends_alone(stage: &Stage) {
    let session = stage.run_script("READY; sleep 0.2; exit 5");
    let agent = pid(&session["pid"]);
    // No daemon is started for a while, so that the session ends without one.
    let daemon = stage.daemon_pid();
    signal(daemon, Signal::STOP);
    stage.gone(agent);
    signal(daemon, Signal::KILL);
    stage.gone(daemon);
    let ended = stage.wait(&session);
    assert_eq!(ended["exit"], json!({"kind": "code", "code": 5}));
    assert_eq!(ended["reason"]["kind"], "exited");
    stage.assert_clean(&ended);
}

fn killed_keeper(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let keeper = stage.keeper_pid(&session);
    signal(keeper, Signal::KILL);
    let ended = stage.wait(&session);
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    assert_eq!(ended["reason"]["kind"], "keeper_died", "{ended}");
    // The exit status is the kernel's, or unknown.
    let kind = ended["exit"]["kind"].as_str().unwrap();
    assert!(kind == "signal" || kind == "unknown", "{ended}");
    stage.assert_clean(&ended);
}

fn killed_both(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let (keeper, daemon) = (stage.keeper_pid(&session), stage.daemon_pid());
    signal(daemon, Signal::KILL);
    signal(keeper, Signal::KILL);
    stage.gone(daemon);
    let ended = stage.wait(&session);
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    assert_eq!(ended["reason"]["kind"], "keeper_died", "{ended}");
    assert_eq!(ended["exit"]["kind"], "unknown", "{ended}");
    stage.assert_clean(&ended);
}

fn killed_yard(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    signal(yard, Signal::KILL);
    stage.gone(daemon);
    assert_ne!(stage.yard_pid(), yard);
    assert_eq!(stage.show(&session)["phase"], "running");
    let keeper = stage.keeper_pid(&session);
    let answer = stage.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
    stage.gone(keeper);
    stage.assert_clean(&answer["session"]);
}

fn lost(stage: &Stage) {
    let (session, mark) = stubborn(stage);
    let keeper = stage.keeper_pid(&session);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    for pid in [yard, daemon, keeper] {
        signal(pid, Signal::KILL);
    }
    for pid in [yard, daemon, keeper] {
        stage.gone(pid);
    }
    stage.start_yard();
    let is = |phase: &str| (stage.show(&session)["phase"] == phase).then_some(());
    if session["pen"].as_str().is_some_and(|pen| pen.starts_with('/')) {
        stage.until("the cgroup is proof enough", || is("cleaned"));
    } else {
        stage.until("it is lost", || is("lost"));
        assert_eq!(stage.stop(&session)["result"], "still_alive");
        let id = session["id"].as_str().unwrap();
        let forgotten = stage.post(&format!("/v1/sessions/{id}/forget"), &json!({"by": "me"}));
        assert_eq!(forgotten["phase"], "cleaned");
        let ended = stage.wait(&session);
        assert_eq!(ended["reason"], json!({"kind": "forgotten", "by": "me"}));
        assert_eq!(ended["exit"]["kind"], "unknown");
    }
    stage.until("the agent was ended all the same", || {
        stage.processes(&mark).is_empty().then_some(())
    });
}

fn shutdown(stage: &Stage) {
    let (first, mark) = stubborn(stage);
    let second = stage.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    let began = Instant::now();
    let answer = stage.ask("POST", "/v1/daemon/stop", Some(&json!({"keep": false})));
    let lines = answer.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for session in [&first, &second] {
        let line = lines.iter().find(|line| line["session"]["id"] == session["id"]).unwrap();
        assert_eq!(line["result"], "stopped", "{line}");
        assert_eq!(line["session"]["reason"]["kind"], "shutdown");
    }
    assert_eq!(lines[2], json!({"done": true}));
    assert!(began.elapsed() < Duration::from_secs(8), "about one grace in all");
    stage.gone(daemon);
    stage.gone(yard);
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
}

fn term(stage: &Stage) {
    let (_session, mark) = stubborn(stage);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    signal(daemon, Signal::HUP);
    assert_eq!(stage.daemon_pid(), daemon, "a daemon ignores SIGHUP");
    signal(daemon, Signal::TERM);
    stage.gone(daemon);
    stage.gone(yard);
    assert_eq!(stage.processes(&mark), Vec::<i32>::new());
}

fn keep(stage: &Stage) {
    let session = stage.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    let lines = stage.ask("POST", "/v1/daemon/stop", Some(&json!({"keep": true}))).lines();
    assert_eq!(lines, [json!({"done": true})]);
    stage.gone(daemon);
    assert!(!stage.processes("sleep 1000").is_empty());
    // Repeated, because a yard that has not reaped the old daemon yet starts no new one.
    stage.until("there is a daemon again", || {
        let visitor = kennel_keeper::YardClient::connect(&stage.path("")).unwrap();
        visitor.send(&kennel_keeper::protocol::YardRequest::Start).unwrap();
        stage.try_ask("GET", "/v1/daemon", None).ok()
    });
    assert_eq!(stage.yard_pid(), yard);
    assert_eq!(stage.show(&session)["phase"], "running");
    assert_eq!(stage.stop(&session)["result"], "stopped");
}

fn replace(stage: &Stage) {
    let session = stage.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (stage.yard_pid(), stage.daemon_pid());
    let answer = stage.ask("POST", "/v1/daemon/replace", Some(&json!({"program": null})));
    assert_eq!(answer.status, 202);
    stage.gone(daemon);
    assert_eq!(stage.yard_pid(), yard);
    assert_eq!(stage.show(&session)["phase"], "running");
    assert_eq!(stage.stop(&session)["result"], "stopped");
}

fn input(stage: &Stage) {
    let mut order = stage.order(&[
        "/bin/sh",
        "-c",
        "trap 'exit 3' USR1; read line; echo $line; \
        while :; do sleep 0.05; done",
    ]);
    order["stdin"] = json!("pipe");
    let session = stage.post("/v1/sessions", &order);
    let of = |what: &str| format!("/v1/sessions/{}/{what}", session["id"].as_str().unwrap());
    stage.post(&of("input"), &json!({"hex": "68690a", "eof": true}));
    let folder = session["folder"].as_str().unwrap().to_owned();
    stage.until("it has echoed", || {
        let journal = std::fs::read_dir(format!("{folder}/journal")).ok()?;
        let mut files = journal.flatten().filter_map(|entry| std::fs::read(entry.path()).ok());
        files.any(|bytes| bytes.windows(3).any(|three| three == b"hi\n")).then_some(())
    });
    let wrong = stage.ask("POST", &of("signal"), Some(&json!({"signal": 99})));
    assert_eq!(wrong.status, 422);
    stage.post(&of("signal"), &json!({"signal": 10}));
    let ended = stage.wait(&session);
    assert_eq!(ended["exit"], json!({"kind": "code", "code": 3}));
    let late = stage.ask("POST", &of("signal"), Some(&json!({"signal": 10})));
    assert_eq!(late.status, 409);
}

fn deposit(stage: &Stage) {
    std::fs::write(stage.path("input"), "from afar").unwrap();
    let input = std::fs::File::open(stage.path("input")).unwrap();
    let ticket = "00112233445566778899aabbccddeeff";
    stage.pass_descriptor(ticket, &input);
    let mut order = stage.order(&["/bin/sh", "-c", "test \"$(cat)\" = 'from afar'"]);
    order["stdin"] = json!({"deposit": {"ticket": ticket}});
    let session = stage.post("/v1/sessions", &order);
    assert_eq!(stage.wait(&session)["exit_code"], 0);
    assert_eq!(stage.ask("POST", "/v1/sessions", Some(&order)).status, 422, "a ticket works once");
}

fn tethered(stage: &Stage) {
    let mut order = stage.order(&["/bin/sleep", "1000"]);
    order["tethered"] = json!(true);
    // The client does not wait for the response.
    let stream = client::send(&stage.path("kennel.sock"), "POST", "/v1/sessions", Some(&order));
    stream.unwrap().flush().unwrap();
    // Either the disconnect was noticed, or the session was never tied to the connection.
    stage.until("it has ended", || {
        let all = stage.get("/v1/sessions?all=true");
        let sessions = all["sessions"].as_array().unwrap();
        sessions.iter().all(|session| session["phase"] == "cleaned").then_some(())
    });
}

fn records(stage: &Stage) {
    let mut order = stage.order(&["/bin/sleep", "1000"]);
    order["name"] = json!("claude");
    let session = stage.post("/v1/sessions", &order);
    let id = session["id"].as_str().unwrap();
    let by_name = stage.get("/v1/sessions/claude");
    assert_eq!(by_name["id"], session["id"]);
    assert_eq!(stage.get(&format!("/v1/sessions/{}", &id[..9]))["id"], session["id"]);
    let taken = stage.ask("POST", "/v1/sessions", Some(&order));
    assert_eq!((taken.status, &taken.json()["code"]), (409, &json!("conflict")));
    let misspelled = stage.ask("GET", "/v1/sessions/cluade", None);
    assert_eq!(misspelled.status, 404);
    assert!(misspelled.json()["detail"].as_str().unwrap().contains("claude"));
    // Events that need not be durable are recorded a moment later.
    let inspected = stage.until("its history is recorded", || {
        let inspected = stage.get("/v1/sessions/claude/inspect");
        (inspected["timeline"].as_array().unwrap().len() >= 4).then_some(inspected)
    });
    assert_eq!(inspected["members"][0]["command"], "/bin/sleep 1000");
    assert_eq!(inspected["members"][0]["pid"], session["pid"]);
    assert_eq!(inspected["usage"]["processes"], 1);
    assert_eq!(inspected["trouble"], json!([]));
    assert_eq!(stage.ask("DELETE", "/v1/sessions/claude", None).status, 409);
    let not_lost = stage.ask("POST", "/v1/sessions/claude/forget", Some(&json!({"by": "me"})));
    assert_eq!(not_lost.status, 409);
    assert_eq!(stage.get("/v1/sessions")["sessions"].as_array().unwrap().len(), 1);
    stage.stop(&session);
    assert_eq!(stage.get("/v1/sessions")["sessions"].as_array().unwrap().len(), 0);
    assert_eq!(stage.get("/v1/sessions?all=true")["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(stage.ask("DELETE", "/v1/sessions/claude", None).status, 204);
    assert!(!std::path::Path::new(session["folder"].as_str().unwrap()).exists());
    let other = stage.run(&["/bin/true"]);
    stage.wait(&other);
    let pruned = stage.post("/v1/prune", &json!({"older_than_ms": 3_600_000}));
    assert_eq!(pruned["removed"], json!([]));
    let pruned = stage.post("/v1/prune", &json!({}));
    assert_eq!(pruned["removed"], json!([other["id"]]));
    assert_eq!(stage.get("/v1/sessions?all=true")["sessions"], json!([]));
}

fn parent(stage: &Stage) {
    let parent = stage.run(&["/bin/sleep", "1000"]);
    let mut order = stage.order(&["/bin/sleep", "1000"]);
    order["parent"] = parent["id"].clone();
    let child = stage.post("/v1/sessions", &order);
    order["outlives_parent"] = json!(true);
    let stays = stage.post("/v1/sessions", &order);
    stage.stop(&parent);
    let ended = stage.wait(&child);
    assert_eq!(ended["reason"]["kind"], "parent_ended");
    assert_eq!(stage.show(&stays)["phase"], "running");
}

fn many(stage: &Stage) {
    const MANY: usize = 100;
    let sessions: Vec<_> = (0..MANY).map(|_| stage.run(&["/bin/sleep", "1000"])).collect();
    let daemon = stage.daemon_pid();
    let descriptors = std::fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().count();
    assert!(descriptors < 2 * MANY + 40, "{descriptors} descriptors");
    stage.kill_daemon();
    let live = stage.get("/v1/sessions")["sessions"].clone();
    assert_eq!(live.as_array().unwrap().len(), MANY);
    assert!(live.as_array().unwrap().iter().all(|session| session["phase"] == "running"));
    stage.until("every adoption is recorded", || {
        let events = stage.ask("GET", "/v1/events", None).lines();
        let adopted = events.iter().filter(|event| event["kind"] == "adopted").count();
        (adopted == MANY).then_some(())
    });
    let began = Instant::now();
    let lines = stage.ask("POST", "/v1/daemon/stop", Some(&json!({"grace_ms": 1000}))).lines();
    assert_eq!(lines.len(), MANY + 1);
    assert!(lines[..MANY].iter().all(|line| line["result"] == "stopped"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    drop(sessions);
}

fn invalid_requests(stage: &Stage) {
    let ask = |method: &str, path: &str, body: &Value| {
        let answer = stage.ask(method, path, Some(body));
        (answer.status, answer.json()["code"].as_str().unwrap().to_owned())
    };
    let invalid = (422, "invalid".to_owned());
    assert_eq!(ask("POST", "/v1/sessions", &json!({})), invalid);
    let mut order = stage.order(&["/bin/true"]);
    order["argv"] = json!([]);
    assert_eq!(ask("POST", "/v1/sessions", &order), invalid);
    order["argv"] = json!([{"hex": "zz"}]);
    assert_eq!(ask("POST", "/v1/sessions", &order), invalid);
    assert_eq!(ask("GET", "/v1/nothing", &json!({})), (404, "not_found".to_owned()));
    let by_method = (405, "method_not_allowed".to_owned());
    assert_eq!(ask("PUT", "/v1/daemon", &json!({})), by_method);
    assert_eq!(ask("GET", "/v1/sessions?all=perhaps", &json!({})), invalid);
    assert_eq!(stage.get("/v1/sessions?all=true")["sessions"], json!([]), "no session was created");
    assert!(
        !stage.path("sessions").exists() || stage.path("sessions").read_dir().unwrap().count() == 0
    );
}
