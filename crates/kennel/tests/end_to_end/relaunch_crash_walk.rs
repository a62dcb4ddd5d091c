//! S1 for relaunched and queued sessions: whatever is killed at any step, there are
//! never two launches at once, each launch is on record, and every session ends properly.

use std::fs;
use std::time::Duration;

use kennel_testing::{Faults, Pen, Running, Scene, Who, eventually, skip};
use serde_json::Value;

use crate::config::configure;
use crate::crash_case::{Victims, about_launches};

const TIMEOUT: Duration = Duration::from_secs(20);

/// What makes a process pass a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    /// A client resumes a session.
    Resume,
    /// It fails and is restarted automatically.
    Restart,
    /// Its turn in the queue comes.
    Turn,
}

impl Scenario {
    fn passing(point: &str) -> Self {
        match point {
            "daemon.relaunch.resumed" => Self::Resume,
            "daemon.queue.turn_came" => Self::Turn,
            "daemon.relaunch.stored"
            | "daemon.relaunch.pending"
            | "daemon.relaunch.restarted"
            | "yard.kept" => Self::Restart,
            _ => panic!("no scenario passes {point}"),
        }
    }

    /// Prepares everything up to the point and starts what passes it.
    fn begin(self, scene: &Scene, faults: &Faults, point: &str) -> Running {
        let agent = scene.fake_agent();
        let alone = format!("{agent} lock alone.lock alone.log");
        let stays = format!("exec {alone}");
        let fails = format!("{alone} 0; exit 3");
        match self {
            Self::Resume => {
                scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", &stays]);
                scene.call_ok(&["stop", "x"]);
                faults.arm(point);
                Running::start(scene.kennel(&["resume", "-d", "x"]))
            }
            Self::Restart => {
                scene.call_ok(&["daemon", "start"]);
                faults.arm(point);
                let flags = ["-d", "--name", "x", "--restart", "on-failure:1"];
                Running::start(scene.run_command(&flags, &["/bin/sh", "-c", &fails]))
            }
            Self::Turn => {
                scene.launch(&["--name", "first"], &["sleep"]);
                scene.launch_command(&["--queue", "--name", "x"], &["/bin/sh", "-c", &stays]);
                faults.arm(point);
                Running::start(scene.kennel(&["stop", "first"]))
            }
        }
    }
}

/// How often the agent has started; checks that it never ran twice at once.
#[track_caller]
fn starts(scene: &Scene) -> usize {
    let log = fs::read_to_string(scene.path("work/alone.log")).unwrap_or_default();
    assert!(!log.contains("COLLISION"), "two at once: {log}");
    log.matches("start").count()
}

fn is_settled(session: &Value) -> bool {
    match session["phase"].as_str() {
        Some("running") => session["wanted"] == "running",
        Some("cleaned") => session["relaunch"]["relaunch"] != "pending",
        _ => false,
    }
}

fn run_case(scene: &Scene, point: &'static str, victims: Victims) {
    let faults = Faults::new(scene);
    configure(scene, "daemon.max_live = 1\n");
    let result = Scenario::passing(point).begin(scene, &faults, point);
    faults.wait_reached(point, TIMEOUT).unwrap_or_else(|| panic!("{point} is not passed"));
    let _killed = victims.kill(scene, None);
    faults.disarm(point);
    let _first_look = scene.sessions();
    let result = result.wait();
    assert!(result.code >= 0, "a command was killed: {result:?}");
    eventually("everything settles", || scene.sessions().iter().all(is_settled));
    scene.call_ok(&["stop", "--all"]);
    let sessions = scene.sessions();
    let ran = |it: &&Value| it["name"] == "x" && it["exit"]["kind"] != "never_ran";
    let (ran, starts) = (sessions.iter().filter(ran).count(), starts(scene));
    assert!(starts <= ran, "{starts} starts: {sessions:#?}");
    assert!(starts <= 2, "more starts than requested: {sessions:#?}");
    if result.code == 0 && Scenario::passing(point) == Scenario::Resume {
        assert!(result.stdout.trim_end().ends_with("_2"), "{result:?}");
        assert_eq!(sessions.len(), 2, "{sessions:#?}");
    }
    if !victims.yard && Scenario::passing(point) != Scenario::Resume {
        // If the yard lives, nothing is lost: an accepted launch runs.
        let launches = if Scenario::passing(point) == Scenario::Restart { 2 } else { 1 };
        let promised = result.code == 0;
        assert!(starts == launches || !promised, "{starts} starts: {result:?} {sessions:#?}");
    }
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

fn walk(victims: Victims) {
    if !cfg!(feature = "faults") {
        return skip("the walk over further launches", "built without the feature `faults`");
    }
    for point in about_launches() {
        let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
        let reported = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_case(&scene, point, victims);
        }));
        if let Err(panic) = reported {
            eprintln!("*** {point} {victims:?}\n{}", scene.logs());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn the_daemon_is_killed() {
    walk(Victims { daemon: true, keeper: false, yard: false });
}

#[test]
fn the_yard_is_killed() {
    walk(Victims { daemon: false, keeper: false, yard: true });
}

#[test]
fn daemon_and_yard_are_killed() {
    walk(Victims { daemon: true, keeper: false, yard: true });
}
