//! The test cases.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client;
use crate::test_home::{TestHome, pid, signal};

type TestCase = fn(&TestHome);

pub(crate) const TEST_CASES: &[(&str, TestCase)] = &[
    ("a_session_runs_and_is_cleaned", runs),
    ("reports_a_missing_program", missing_program),
    ("a_stop_ends_the_whole_tree", stop_ends_all),
    ("a_stopped_keeper_is_bypassed", stopped_keeper),
    ("a_killed_daemon_is_started_again_and_adopts", adopts),
    ("reports_an_end_that_happened_without_a_daemon", ends_alone),
    ("a_killed_keeper_takes_its_tree_along", killed_keeper),
    ("keeper_and_daemon_killed_at_once", killed_both),
    ("a_killed_yard_is_replaced", killed_yard),
    ("an_unobservable_session_is_lost_until_it_is_forgotten", lost),
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

fn runs(home: &TestHome) {
    let session = home.run(&["/bin/sh", "-c", "exit 7"]);
    let ended = home.wait(&session);
    assert_eq!(ended["phase"], "cleaned");
    assert_eq!((&ended["exit"]["code"], &ended["exit_code"]), (&json!(7), &json!(7)));
    assert_eq!(ended["reason"]["kind"], "exited");
    assert_eq!(ended["unrecorded"], false);
    assert!(ended["ended_at"].is_string() && ended["started_at"].is_string(), "{ended}");
    home.assert_clean(&ended);
    let events = home.ask("GET", "/v1/events", None).lines();
    let of_it: Vec<_> = events.iter().filter(|event| event["session"] == session["id"]).collect();
    let kinds: Vec<_> = of_it.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    let order = ["reserved", "launching", "starting", "running", "reaped", "cleaned"];
    let mut left = kinds.iter();
    assert!(order.iter().all(|kind| left.any(|other| other == kind)), "{kinds:?}");
    let everything =
        format!("{events:?}{:?}", std::fs::read_to_string(home.path("log/daemon.log")));
    assert!(!everything.contains("hunter2"), "a secret is in the log");
    for entry in std::fs::read_dir(home.path("")).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let secret = bytes.windows(7).any(|seven| seven == b"hunter2");
            assert!(!secret, "a secret is in {}", entry.path().display());
        }
    }
}

fn missing_program(home: &TestHome) {
    let session = home.run(&["/no/such/program"]);
    assert_eq!(session["reason"]["kind"], "failed", "{session}");
    assert_eq!(session["reason"]["code"], 204);
    assert_eq!(session["exit"]["kind"], "never_ran");
    let ended = home.wait(&session);
    assert_eq!(ended["phase"], "cleaned");
    home.assert_clean(&ended);
}

/// A script that ignores TERM, with a child in its own session that does the same, without any environment.
const STUBBORN: &str = "trap '' TERM; env -i setsid /bin/sh -c \
    'trap \"\" TERM; while :; do sleep 0.1; done' MARK & READY; while :; do sleep 0.1; done";

fn stubborn(home: &TestHome) -> (Value, String) {
    let mark = home.path("mark").display().to_string();
    let session = home.run_script(&STUBBORN.replace("MARK", &mark));
    home.until("both processes run", || (home.processes(&mark).len() >= 2).then_some(()));
    (session, mark)
}

fn stop_ends_all(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let began = Instant::now();
    let answer = home.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert!(began.elapsed() >= Duration::from_millis(900), "the stop waited for the grace period");
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    assert_eq!(answer["session"]["reason"], json!({"kind": "stopped", "by": "the test"}));
    home.assert_clean(&answer["session"]);
    let again = home.stop(&session);
    assert_eq!(again["result"], "already_gone");
}

fn stopped_keeper(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let keeper = home.keeper_pid(&session);
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
    let answer = home.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    home.gone(keeper);
    home.assert_clean(&answer["session"]);
    stopper.join().unwrap();
}

fn adopts(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let before = home.kill_daemon();
    let now = home.show(&session);
    assert_eq!(now["phase"], "running", "{now}");
    assert_eq!(now["pid"], session["pid"]);
    assert_ne!(home.daemon_pid(), before);
    let answer = home.stop(&session);
    assert_eq!(answer["result"], "stopped");
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    home.assert_clean(&answer["session"]);
}

fn ends_alone(home: &TestHome) {
    let session = home.run_script("READY; sleep 0.2; exit 5");
    let agent = pid(&session["pid"]);
    // No daemon is started for a while, so that the session ends without one.
    let daemon = home.daemon_pid();
    signal(daemon, Signal::STOP);
    home.gone(agent);
    signal(daemon, Signal::KILL);
    home.gone(daemon);
    let ended = home.wait(&session);
    assert_eq!(ended["exit"], json!({"kind": "code", "code": 5}));
    assert_eq!(ended["reason"]["kind"], "exited");
    home.assert_clean(&ended);
}

fn killed_keeper(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let keeper = home.keeper_pid(&session);
    signal(keeper, Signal::KILL);
    let ended = home.wait(&session);
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    assert_eq!(ended["reason"]["kind"], "keeper_died", "{ended}");
    // The exit status is the kernel's, or unknown.
    let kind = ended["exit"]["kind"].as_str().unwrap();
    assert!(kind == "signal" || kind == "unknown", "{ended}");
    home.assert_clean(&ended);
}

fn killed_both(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let (keeper, daemon) = (home.keeper_pid(&session), home.daemon_pid());
    signal(daemon, Signal::KILL);
    signal(keeper, Signal::KILL);
    home.gone(daemon);
    let ended = home.wait(&session);
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    assert_eq!(ended["reason"]["kind"], "keeper_died", "{ended}");
    assert_eq!(ended["exit"]["kind"], "unknown", "{ended}");
    home.assert_clean(&ended);
}

fn killed_yard(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    signal(yard, Signal::KILL);
    home.gone(daemon);
    assert_ne!(home.yard_pid(), yard);
    assert_eq!(home.show(&session)["phase"], "running");
    let keeper = home.keeper_pid(&session);
    let answer = home.stop(&session);
    assert_eq!(answer["result"], "stopped", "{answer}");
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
    home.gone(keeper);
    home.assert_clean(&answer["session"]);
}

fn lost(home: &TestHome) {
    let (session, mark) = stubborn(home);
    let keeper = home.keeper_pid(&session);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    for pid in [yard, daemon, keeper] {
        signal(pid, Signal::KILL);
    }
    for pid in [yard, daemon, keeper] {
        home.gone(pid);
    }
    home.start_yard();
    let is = |phase: &str| (home.show(&session)["phase"] == phase).then_some(());
    if session["pen"].as_str().is_some_and(|pen| pen.starts_with('/')) {
        home.until("the cgroup is proof enough", || is("cleaned"));
    } else {
        home.until("it is lost", || is("lost"));
        assert_eq!(home.stop(&session)["result"], "still_alive");
        let id = session["id"].as_str().unwrap();
        let forgotten = home.post(&format!("/v1/sessions/{id}/forget"), &json!({"by": "me"}));
        assert_eq!(forgotten["phase"], "cleaned");
        let ended = home.wait(&session);
        assert_eq!(ended["reason"], json!({"kind": "forgotten", "by": "me"}));
        assert_eq!(ended["exit"]["kind"], "unknown");
    }
    home.until("the agent was ended anyway", || home.processes(&mark).is_empty().then_some(()));
}

fn shutdown(home: &TestHome) {
    let (first, mark) = stubborn(home);
    let second = home.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    let began = Instant::now();
    let answer = home.ask("POST", "/v1/daemon/stop", Some(&json!({"keep": false})));
    let lines = answer.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for session in [&first, &second] {
        let line = lines.iter().find(|line| line["session"]["id"] == session["id"]).unwrap();
        assert_eq!(line["result"], "stopped", "{line}");
        assert_eq!(line["session"]["reason"]["kind"], "shutdown");
    }
    assert_eq!(lines[2], json!({"done": true}));
    assert!(began.elapsed() < Duration::from_secs(8), "about one grace period in total");
    home.gone(daemon);
    home.gone(yard);
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
}

fn term(home: &TestHome) {
    let (_session, mark) = stubborn(home);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    signal(daemon, Signal::HUP);
    assert_eq!(home.daemon_pid(), daemon, "a daemon ignores SIGHUP");
    signal(daemon, Signal::TERM);
    home.gone(daemon);
    home.gone(yard);
    assert_eq!(home.processes(&mark), Vec::<i32>::new());
}

fn keep(home: &TestHome) {
    let session = home.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    let lines = home.ask("POST", "/v1/daemon/stop", Some(&json!({"keep": true}))).lines();
    assert_eq!(lines, [json!({"done": true})]);
    home.gone(daemon);
    assert!(!home.processes("sleep 1000").is_empty());
    // Repeated, because a yard that has not reaped the old daemon yet starts no new one.
    home.until("a daemon is running again", || {
        let visitor = kennel_keeper::YardClient::connect(&home.path("")).unwrap();
        visitor.send(&kennel_keeper::protocol::YardRequest::Start).unwrap();
        home.try_ask("GET", "/v1/daemon", None).ok()
    });
    assert_eq!(home.yard_pid(), yard);
    assert_eq!(home.show(&session)["phase"], "running");
    assert_eq!(home.stop(&session)["result"], "stopped");
}

fn replace(home: &TestHome) {
    let session = home.run(&["/bin/sleep", "1000"]);
    let (yard, daemon) = (home.yard_pid(), home.daemon_pid());
    let answer = home.ask("POST", "/v1/daemon/replace", Some(&json!({"program": null})));
    assert_eq!(answer.status, 202);
    home.gone(daemon);
    assert_eq!(home.yard_pid(), yard);
    assert_eq!(home.show(&session)["phase"], "running");
    assert_eq!(home.stop(&session)["result"], "stopped");
}

fn input(home: &TestHome) {
    let mut request = home.request(&[
        "/bin/sh",
        "-c",
        "trap 'exit 3' USR1; read line; echo $line; \
        while :; do sleep 0.05; done",
    ]);
    request["stdin"] = json!("pipe");
    let session = home.post("/v1/sessions", &request);
    let of = |what: &str| format!("/v1/sessions/{}/{what}", session["id"].as_str().unwrap());
    home.post(&of("input"), &json!({"hex": "68690a", "eof": true}));
    let folder = session["folder"].as_str().unwrap().to_owned();
    home.until("it has echoed", || {
        let journal = std::fs::read_dir(format!("{folder}/journal")).ok()?;
        let mut files = journal.flatten().filter_map(|entry| std::fs::read(entry.path()).ok());
        files.any(|bytes| bytes.windows(3).any(|three| three == b"hi\n")).then_some(())
    });
    let wrong = home.ask("POST", &of("signal"), Some(&json!({"signal": 99})));
    assert_eq!(wrong.status, 422);
    home.post(&of("signal"), &json!({"signal": 10}));
    let ended = home.wait(&session);
    assert_eq!(ended["exit"], json!({"kind": "code", "code": 3}));
    let late = home.ask("POST", &of("signal"), Some(&json!({"signal": 10})));
    assert_eq!(late.status, 409);
}

fn deposit(home: &TestHome) {
    std::fs::write(home.path("input"), "from afar").unwrap();
    let input = std::fs::File::open(home.path("input")).unwrap();
    let ticket = "00112233445566778899aabbccddeeff";
    home.pass_descriptor(ticket, &input);
    let mut request = home.request(&["/bin/sh", "-c", "test \"$(cat)\" = 'from afar'"]);
    request["stdin"] = json!({"deposit": {"ticket": ticket}});
    let session = home.post("/v1/sessions", &request);
    assert_eq!(home.wait(&session)["exit_code"], 0);
    assert_eq!(home.ask("POST", "/v1/sessions", Some(&request)).status, 422, "a ticket works once");
}

fn tethered(home: &TestHome) {
    let mut request = home.request(&["/bin/sleep", "1000"]);
    request["tethered"] = json!(true);
    // The client does not wait for the response.
    let stream = client::send(&home.path("kennel.sock"), "POST", "/v1/sessions", Some(&request));
    stream.unwrap().flush().unwrap();
    // Either the disconnect was noticed, or the session was never tied to the connection.
    home.until("it has ended", || {
        let all = home.get("/v1/sessions?all=true");
        let sessions = all["sessions"].as_array().unwrap();
        sessions.iter().all(|session| session["phase"] == "cleaned").then_some(())
    });
}

fn records(home: &TestHome) {
    let mut request = home.request(&["/bin/sleep", "1000"]);
    request["name"] = json!("claude");
    let session = home.post("/v1/sessions", &request);
    let id = session["id"].as_str().unwrap();
    let by_name = home.get("/v1/sessions/claude");
    assert_eq!(by_name["id"], session["id"]);
    assert_eq!(home.get(&format!("/v1/sessions/{}", &id[..9]))["id"], session["id"]);
    let taken = home.ask("POST", "/v1/sessions", Some(&request));
    assert_eq!((taken.status, &taken.json()["code"]), (409, &json!("conflict")));
    let misspelled = home.ask("GET", "/v1/sessions/cluade", None);
    assert_eq!(misspelled.status, 404);
    assert!(misspelled.json()["detail"].as_str().unwrap().contains("claude"));
    // Events that do not need to be durable are recorded a moment later.
    let inspected = home.until("its history is recorded", || {
        let inspected = home.get("/v1/sessions/claude/inspect");
        (inspected["timeline"].as_array().unwrap().len() >= 4).then_some(inspected)
    });
    assert_eq!(inspected["members"][0]["command"], "/bin/sleep 1000");
    assert_eq!(inspected["members"][0]["pid"], session["pid"]);
    assert_eq!(inspected["usage"]["processes"], 1);
    assert_eq!(inspected["trouble"], json!([]));
    assert_eq!(home.ask("DELETE", "/v1/sessions/claude", None).status, 409);
    let not_lost = home.ask("POST", "/v1/sessions/claude/forget", Some(&json!({"by": "me"})));
    assert_eq!(not_lost.status, 409);
    assert_eq!(home.get("/v1/sessions")["sessions"].as_array().unwrap().len(), 1);
    home.stop(&session);
    assert_eq!(home.get("/v1/sessions")["sessions"].as_array().unwrap().len(), 0);
    assert_eq!(home.get("/v1/sessions?all=true")["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(home.ask("DELETE", "/v1/sessions/claude", None).status, 204);
    assert!(!std::path::Path::new(session["folder"].as_str().unwrap()).exists());
    let other = home.run(&["/bin/true"]);
    home.wait(&other);
    let pruned = home.post("/v1/prune", &json!({"older_than_ms": 3_600_000}));
    assert_eq!(pruned["removed"], json!([]));
    let pruned = home.post("/v1/prune", &json!({}));
    assert_eq!(pruned["removed"], json!([other["id"]]));
    assert_eq!(home.get("/v1/sessions?all=true")["sessions"], json!([]));
}

fn parent(home: &TestHome) {
    let parent = home.run(&["/bin/sleep", "1000"]);
    let mut request = home.request(&["/bin/sleep", "1000"]);
    request["parent"] = parent["id"].clone();
    let child = home.post("/v1/sessions", &request);
    request["outlives_parent"] = json!(true);
    let stays = home.post("/v1/sessions", &request);
    home.stop(&parent);
    let ended = home.wait(&child);
    assert_eq!(ended["reason"]["kind"], "parent_ended");
    assert_eq!(home.show(&stays)["phase"], "running");
}

fn many(home: &TestHome) {
    const MANY: usize = 100;
    let sessions: Vec<_> = (0..MANY).map(|_| home.run(&["/bin/sleep", "1000"])).collect();
    let daemon = home.daemon_pid();
    let descriptors = std::fs::read_dir(format!("/proc/{daemon}/fd")).unwrap().count();
    assert!(descriptors < 2 * MANY + 40, "{descriptors} descriptors");
    home.kill_daemon();
    let live = home.get("/v1/sessions")["sessions"].clone();
    assert_eq!(live.as_array().unwrap().len(), MANY);
    assert!(live.as_array().unwrap().iter().all(|session| session["phase"] == "running"));
    home.until("every adoption is recorded", || {
        let events = home.ask("GET", "/v1/events", None).lines();
        let adopted = events.iter().filter(|event| event["kind"] == "adopted").count();
        (adopted == MANY).then_some(())
    });
    let began = Instant::now();
    let lines = home.ask("POST", "/v1/daemon/stop", Some(&json!({"grace_ms": 1000}))).lines();
    assert_eq!(lines.len(), MANY + 1);
    assert!(lines[..MANY].iter().all(|line| line["result"] == "stopped"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    drop(sessions);
}

fn invalid_requests(home: &TestHome) {
    let ask = |method: &str, path: &str, body: &Value| {
        let answer = home.ask(method, path, Some(body));
        (answer.status, answer.json()["code"].as_str().unwrap().to_owned())
    };
    let invalid = (422, "invalid".to_owned());
    assert_eq!(ask("POST", "/v1/sessions", &json!({})), invalid);
    let mut request = home.request(&["/bin/true"]);
    request["argv"] = json!([]);
    assert_eq!(ask("POST", "/v1/sessions", &request), invalid);
    request["argv"] = json!([{"hex": "zz"}]);
    assert_eq!(ask("POST", "/v1/sessions", &request), invalid);
    assert_eq!(ask("GET", "/v1/nothing", &json!({})), (404, "not_found".to_owned()));
    let by_method = (405, "method_not_allowed".to_owned());
    assert_eq!(ask("PUT", "/v1/daemon", &json!({})), by_method);
    assert_eq!(ask("GET", "/v1/sessions?all=perhaps", &json!({})), invalid);
    assert_eq!(home.get("/v1/sessions?all=true")["sessions"], json!([]), "no session was created");
    assert!(
        !home.path("sessions").exists() || home.path("sessions").read_dir().unwrap().count() == 0
    );
}
