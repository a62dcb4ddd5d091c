//! Repeated requests, resumes and restarts: never two launches at once.

use std::time::{Duration, Instant};

use kennel_testing::{Ended, Pen, Running, Scene, Who, eventually, everywhere, signal};
use serde_json::Value;

use crate::config::configure;
use crate::launch_and_cancel::scene_with_points;

const TIMEOUT: Duration = Duration::from_secs(20);

/// An agent that must run alone, with a record of its runs.
const ALONE: [&str; 3] = ["lock", "alone.lock", "alone.log"];

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// How often the agent has started; checks that it never ran twice at once.
#[track_caller]
fn starts(scene: &Scene) -> usize {
    let log = std::fs::read_to_string(scene.path("work/alone.log")).unwrap_or_default();
    assert!(!log.contains("COLLISION"), "two at once: {log}");
    log.matches("start").count()
}

/// Runs this many clients at once and returns their answers.
fn at_once(scene: &Scene, count: usize, args: &[&str]) -> Vec<Ended> {
    let clients: Vec<_> = (0..count).map(|_| Running::start(scene.kennel(args))).collect();
    clients.into_iter().map(Running::wait).collect()
}

/// The one answer that all got.
#[track_caller]
fn one_answer(answers: &[Ended]) -> String {
    let first = answers[0].stdout.trim_end().to_owned();
    for answer in answers {
        assert_eq!((answer.code, answer.stdout.trim_end()), (0, first.as_str()), "{answer:?}");
    }
    first
}

fn ended(scene: &Scene, id: &str) -> Value {
    scene.wait_phase(id, "cleaned")
}

/// The session is resumed before the end of the stopped launch is on record.
#[test]
fn a_stop_is_answered_for_the_launch_that_it_stopped() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch_ready(&["--name", "x"], &ALONE);
    faults.arm("daemon.record.outcome_saved");
    let stop = Running::start(scene.kennel(&["stop", "x"]));
    faults.wait_reached("daemon.record.outcome_saved", TIMEOUT).expect("its end is written");
    let resume = Running::start(scene.kennel(&["resume", "-d", "x"]));
    let next = format!("{id}_2");
    eventually("it is resumed", || scene.sessions().iter().any(|session| session["id"] == next));
    faults.disarm("daemon.record.outcome_saved");
    let stop = stop.wait();
    assert!(stop.code == 0 && stop.stdout.contains("x: stopped"), "{stop:?}");
    assert_eq!(resume.wait().code, 0);
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

everywhere! {
    /// R2: all get the same answer.
    fn four_concurrent_resumes_start_one_launch(scene: Scene) {
        let id = scene.launch_ready(&["--name", "x"], &ALONE);
        scene.call_ok(&["stop", "x"]);
        let answers = at_once(&scene, 4, &["resume", "-d", "x"]);
        let next = one_answer(&answers);
        assert_eq!(next, format!("{id}_2"));
        eventually("it is up", || starts(&scene) == 2);
        let live = scene.call(&["resume", "-d", &id]);
        assert_eq!((live.code, live.stdout.trim_end()), (0, next.as_str()), "{live:?}");
        assert!(live.stderr.contains("by an earlier request"), "{live:?}");
        scene.call_ok(&["stop", "x"]);
        assert_eq!(starts(&scene), 2);
        // Both launches are listed and are removed together.
        assert!(scene.output(&format!("{id}_1")).contains("ready"));
        let page = scene.call_ok(&["inspect", &id]);
        assert!(page.contains("Launches") && page.contains(&next), "{page}");
        scene.call_ok(&["rm", &id]);
        assert_eq!(scene.sessions(), Vec::<Value>::new());
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    fn twenty_concurrent_requests_with_one_key_start_one_session(scene: Scene) {
        let agent = scene.fake_agent();
        let run = ["run", "-d", "--pen", scene.pen_name(), "--key", "k-1", "--"];
        let args = [&run[..], &[agent.as_str()], &ALONE].concat();
        scene.call_ok(&["daemon", "start"]);
        let id = one_answer(&at_once(&scene, 20, &args));
        assert_eq!(scene.sessions().len(), 1);
        eventually("it is up", || starts(&scene) == 1);
        // It is in the register, so the next daemon knows it.
        signal(scene.daemon().expect("a daemon"), "KILL");
        assert_eq!(one_answer(&at_once(&scene, 2, &args)), id);
        scene.call_ok(&["stop", &id]);
        // And for a while after its end.
        assert_eq!(one_answer(&at_once(&scene, 2, &args)), id);
        assert_eq!(starts(&scene), 1);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

#[test]
fn a_different_request_with_the_same_key_is_refused_with_the_differences() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["--key", "k", "--grace", "1s"], &["exit", "3"]);
    ended(&scene, &id);
    let other = scene.run(&["-d", "--key", "k", "--grace", "2s"], &["exit", "4"]);
    assert_eq!((other.code, other.stdout.as_str()), (202, ""), "{other:?}");
    let reported =
        format!("session {id} has this key and was requested differently: the command, --grace");
    assert!(other.stderr.contains(&reported), "{other:?}");
    assert_eq!(scene.launch(&["--key", "k", "--grace", "1s"], &["exit", "3"]), id);
    let wrong = scene.run(&["-d", "--key", "a b"], &["exit", "0"]);
    assert_eq!(wrong.code, 201, "{wrong:?}");
    // A new session may use the key once the old one is removed.
    scene.call_ok(&["rm", &id]);
    assert_ne!(scene.launch(&["--key", "k"], &["exit", "4"]), id);
    scene.stop_daemon();
}

#[test]
fn a_key_is_free_again_after_its_retention() {
    let Some(scene) = scene() else { return };
    configure(&scene, "daemon.key_retention = '0s'\n");
    let id = scene.launch(&["--key", "k"], &["exit", "0"]);
    ended(&scene, &id);
    let next = scene.launch(&["--key", "k"], &["exit", "0"]);
    assert_ne!(next, id);
    ended(&scene, &next);
    scene.call_ok(&["prune"]);
    assert_eq!(scene.sessions(), Vec::<Value>::new(), "no key is held");
    scene.stop_daemon();
}

#[test]
fn prune_skips_sessions_whose_keys_are_held() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["--key", "k"], &["exit", "0"]);
    ended(&scene, &id);
    let other = scene.launch(&["--name", "other"], &["exit", "0"]);
    ended(&scene, &other);
    // A dry run changes nothing.
    let would = scene.call(&["prune", "--dry-run"]);
    assert_eq!(would.stdout, format!("other ({other})\n"), "{would:?}");
    assert!(would.stderr.contains("1 session would be removed"), "{would:?}");
    assert_eq!(scene.sessions().len(), 2);
    let none = scene.call(&["prune", "--dry-run", "--older-than", "1h"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none:?}");
    let pruned = scene.call(&["prune"]);
    assert_eq!(pruned.stdout, format!("other ({other})\n"), "{pruned:?}");
    assert!(
        pruned.stderr.contains("kept 1 session of a plan, or with a valid idempotency key"),
        "{pruned:?}"
    );
    assert_eq!(
        scene.launch(&["--key", "k"], &["exit", "0"]),
        id,
        "the key returns the same session"
    );
    scene.call_ok(&["rm", &id]);
    assert_ne!(scene.launch(&["--key", "k"], &["exit", "0"]), id);
    scene.stop_daemon();
}

#[test]
fn a_foreground_run_with_a_used_key_waits_for_that_session() {
    let Some(scene) = scene() else { return };
    let wait = "while [ ! -e go ]; do sleep 0.01; done; exit 5";
    let argv = ["/bin/sh", "-c", wait];
    let id = scene.launch_command(&["--key", "k"], &argv);
    let second = Running::start(scene.run_command(&["--key", "k"], &argv));
    let killed = Running::start(scene.run_command(&["--key", "k"], &argv));
    // The waiting client may disconnect: the session is not tied to it.
    killed.signal("KILL");
    let _killed = killed.wait();
    std::fs::write(scene.path("work/go"), "").expect("a file");
    let second = second.wait();
    assert_eq!(second.code, 5, "{second:?}");
    assert_eq!(ended(&scene, &id)["exit"]["code"], 5);
    assert_eq!(scene.sessions().len(), 1);
    scene.stop_daemon();
}

/// R3: the client gave up, but its request continued.
#[test]
fn a_client_that_retries_gets_the_same_session() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    faults.arm("keeper.go");
    let first = scene.start(&["-d", "--key", "k"], &ALONE);
    faults.wait_reached("keeper.go", TIMEOUT).expect("the launch is held");
    first.signal("KILL");
    let _killed = first.wait();
    let again = scene.start(&["-d", "--key", "k"], &ALONE);
    faults.disarm("keeper.go");
    let again = again.wait();
    assert_eq!(again.code, 0, "{again:?}");
    let sessions = scene.sessions();
    assert_eq!(sessions.len(), 1, "{sessions:#?}");
    assert_eq!(sessions[0]["id"], again.stdout.trim_end());
    scene.call_ok(&["stop", again.stdout.trim_end()]);
    assert_eq!(starts(&scene), 1);
    scene.stop_daemon();
}

#[test]
fn a_resume_waits_for_a_stop_in_progress() {
    let Some(scene) = scene() else { return };
    let id = scene.launch_ready(&["--grace", "1s"], &["ignore-term", "1"]);
    let stop = Running::start(scene.kennel(&["stop", &id]));
    scene.wait_phase(&id, "stopping");
    let answers = at_once(&scene, 3, &["resume", "-d", &id]);
    assert_eq!(one_answer(&answers), format!("{id}_2"));
    assert_eq!(stop.wait().code, 0);
    let first = ended(&scene, &id);
    let second = scene.session(&format!("{id}_2"));
    assert!(first["ended_at"].as_str() <= second["started_at"].as_str(), "{first:#} {second:#}");
    scene.call_ok(&["stop", "--now", &id]);
    scene.stop_daemon();
}

/// With the environment of the resuming client; the streams are as before.
#[test]
fn a_foreground_resume_works_like_run() {
    let Some(scene) = scene() else { return };
    let script = "echo got $WORD; exit $CODE";
    let argv = ["/bin/sh", "-c", script];
    let first = Running::start(scene.run_command(&["-e", "WORD=one", "-e", "CODE=3"], &argv));
    let first = first.wait();
    assert_eq!((first.code, first.stdout.as_str()), (3, "got one\n"), "{first:?}");
    let id = scene.sessions()[0]["id"].as_str().expect("an id").to_owned();
    let mut command = scene.kennel(&["resume", &id]);
    command.envs([("WORD", "two"), ("CODE", "4")]);
    let second = Running::start(command).wait();
    assert_eq!((second.code, second.stdout.as_str()), (4, "got two\n"), "{second:?}");
    assert_eq!(scene.output(&id), "got two\n");
    assert_eq!(scene.output(&format!("{id}_1")), "got one\n");
    let unknown = scene.call(&["resume", "unknown"]);
    assert_eq!(unknown.code, 202, "{unknown:?}");
    scene.stop_daemon();
}

#[test]
fn a_failure_is_retried_as_often_as_allowed_with_growing_pauses() {
    let Some(scene) = scene() else { return };
    let since = Instant::now();
    let id = scene.launch(&["--restart", "on-failure:2"], &["exit", "3"]);
    // Only when no further launch follows.
    let waited = scene.call(&["wait", &id]);
    assert_eq!(waited.code, 3, "{waited:?}");
    assert!(since.elapsed() >= Duration::from_secs(3), "1 s and 2 s: {:?}", since.elapsed());
    let launches: Vec<_> = scene.sessions().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(launches, [id.clone(), format!("{id}_2"), format!("{id}_3")]);
    assert_eq!(scene.call_json(&["ps", "--json"]), Value::Array(Vec::new()));
    // A success is not repeated.
    let well = scene.launch(&["--restart", "on-failure"], &["exit", "0"]);
    assert_eq!(scene.call(&["wait", &well]).code, 0);
    scene.call_ok(&["prune"]);
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    let cancel_on_disconnect = scene.run(&["--restart", "on-failure"], &["exit", "0"]);
    assert_eq!(cancel_on_disconnect.code, 201, "{cancel_on_disconnect:?}");
    scene.stop_daemon();
}

#[test]
fn a_stop_in_the_pause_cancels_the_next_launch() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["--restart", "on-failure"], &["exit", "3"]);
    eventually("it waits for its next launch", || {
        scene.session(&id)["relaunch"]["relaunch"] == "pending"
    });
    assert!(scene.call_ok(&["ps"]).contains("restarting"));
    let early = scene.call(&["rm", &id]);
    assert_eq!(early.code, 1, "{early:?}");
    let waiting = Running::start(scene.kennel(&["wait", &id]));
    scene.call_ok(&["stop", &id]);
    assert_eq!(waiting.wait().code, 3);
    let session = scene.session(&id);
    assert_eq!(session["relaunch"]["relaunch"], "called_off", "{session:#}");
    signal(scene.daemon().expect("a daemon"), "KILL");
    eventually("there is another daemon", || scene.daemon().is_some());
    let session = scene.session(&id);
    assert_eq!(
        session["relaunch"]["relaunch"], "called_off",
        "for the next daemon too: {session:#}"
    );
    scene.call_ok(&["rm", &id]);
    scene.stop_daemon();
}

#[test]
fn a_resume_in_the_pause_starts_the_next_launch_and_waiters_wait_for_it() {
    let Some(scene) = scene() else { return };
    let argv = ["/bin/sh", "-c", "[ -e go ] || exit 3"];
    let id = scene.launch_command(&["--restart", "on-failure"], &argv);
    eventually("it waits for its next launch", || {
        scene.session(&id)["relaunch"]["relaunch"] == "pending"
    });
    let waiting = Running::start(scene.kennel(&["wait", &id]));
    std::fs::write(scene.path("work/go"), "").expect("a file");
    let resumed = scene.call(&["resume", "-d", &id]);
    assert_eq!((resumed.code, resumed.stdout.trim_end()), (0, format!("{id}_2").as_str()));
    let waited = waiting.wait();
    assert_eq!(waited.code, 0, "{waited:?}");
    assert_eq!(scene.sessions().len(), 2);
    scene.stop_daemon();
}

/// The yard keeps the environment in memory for the next daemon.
#[test]
fn a_pause_and_its_environment_outlive_the_daemon() {
    for planned in [false, true] {
        let Some(scene) = scene() else { return };
        let script = "echo got $WORD >> words; [ -e go ] || exit 3";
        let flags = ["--restart", "on-failure", "-e", "WORD=secret"];
        let id = scene.launch_command(&flags, &["/bin/sh", "-c", script]);
        eventually("it waits for its next launch", || {
            scene.session(&id)["relaunch"]["relaunch"] == "pending"
        });
        std::fs::write(scene.path("work/go"), "").expect("a file");
        if planned {
            scene.call_ok(&["daemon", "restart"]);
        } else {
            signal(scene.daemon().expect("a daemon"), "KILL");
        }
        let waited = scene.call(&["wait", &id]);
        assert_eq!(waited.code, 0, "{waited:?}\n{}", scene.logs());
        let words = std::fs::read_to_string(scene.path("work/words")).expect("words");
        assert_eq!(words, "got secret\n".repeat(scene.sessions().len()));
        let on_disk = std::process::Command::new("grep")
            .args(["-rl", "secret"])
            .arg(scene.kennel_home())
            .output()
            .expect("grep");
        assert_eq!(String::from_utf8_lossy(&on_disk.stdout), "", "it is on the disk");
        scene.stop_daemon();
    }
}

/// S12: it may have run.
#[test]
fn a_launch_that_may_have_run_is_repeated_only_on_request() {
    for (flags, launches) in [
        (&["--restart", "on-failure"][..], 1),
        (&["--restart", "on-failure:1", "--restart-unknown"], 2),
    ] {
        let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
        let id = scene.launch_ready(flags, &["sleep"]);
        let (keeper, daemon) = (scene.keeper().expect("a keeper"), scene.daemon());
        for pid in [daemon.expect("a daemon"), keeper] {
            signal(pid, "STOP");
        }
        for pid in [daemon.expect("a daemon"), keeper] {
            signal(pid, "KILL");
        }
        ended(&scene, &id);
        if launches == 1 {
            let session = scene.session(&id);
            assert_eq!(session["relaunch"]["relaunch"], "undecided", "{session:#}");
            assert_eq!(scene.sessions().len(), 1);
        } else {
            eventually("it is launched again", || scene.sessions().len() == launches);
            scene.wait_phase(&format!("{id}_2"), "running");
            scene.call_ok(&["stop", &id]);
        }
        scene.stop_daemon();
    }
}

/// It has ended by itself, and the next launch is decided after the cleanup: a stop in between
/// still counts.
#[test]
fn a_stop_during_cleanup_of_a_failed_launch_cancels_the_next() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    faults.arm("daemon.clean_up.begun");
    let id = scene.launch(&["--restart", "on-failure:2"], &["exit", "3"]);
    faults.wait_reached("daemon.clean_up.begun", TIMEOUT).expect("the clean-up is held");
    let stop = Running::start(scene.kennel(&["stop", &id]));
    let called_off = || scene.session(&id)["relaunch"]["relaunch"] == "called_off";
    eventually("the stop is known", called_off);
    faults.disarm("daemon.clean_up.begun");
    let stop = stop.wait();
    assert_eq!(stop.code, 0, "{stop:?}");
    let session = scene.session(&id);
    assert_eq!(session["phase"], "cleaned", "{session:#}");
    assert_eq!(session["exit"]["code"], 3, "{session:#}");
    assert_eq!(session["launches"], 1, "{session:#}");
    assert!(called_off());
    scene.stop_daemon();
}
