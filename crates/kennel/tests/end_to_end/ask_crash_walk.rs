//! S1 for prompts: the daemon is killed at every step of an attempt, its verdict, the next attempt
//! and a queued turn. Every prompt runs exactly as often as it should, is judged once and counted
//! once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use kennel_testing::{Faults, Pen, Running, Who, eventually, signal};
use serde_json::Value;

use crate::ask::AskScene;
use crate::crash_case::{about_launches, about_prompts};
use crate::launch_and_cancel::scene_with_points;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Points that a prompt does not pass: they belong to a manual resume or to the yard.
const OTHERS: [&str; 2] = ["daemon.relaunch.resumed", "yard.kept"];

/// Every point that belongs to prompts, except those of members.
fn points() -> impl Iterator<Item = &'static str> {
    let points = about_prompts().chain(about_launches());
    points.filter(|point| !point.starts_with("daemon.member.") && !OTHERS.contains(point))
}

/// Waits until the daemon reaches the point, and kills it there.
fn kill_at(faults: &Faults, point: &str) {
    let reached = faults.wait_reached(point, TIMEOUT);
    let held = reached.unwrap_or_else(|| panic!("{point} is not passed"));
    signal(held, "KILL");
    faults.disarm(point);
}

fn answer(ask_scene: &AskScene, id: &str) -> Value {
    let reported = ask_scene.scene.call(&["answer", "--json", id]);
    assert_eq!(reported.code, 0, "{reported:?}");
    serde_json::from_str(&reported.stdout).expect("JSON")
}

/// One prompt is retried while another one is queued.
fn run_case(ask_scene: &AskScene, faults: &Faults, point: &str) {
    ask_scene.add("anna");
    faults.arm(point);
    let ask = |key: &str| {
        let args = ["-d", "--queue", "--retries", "1", "--key", key, "anna", key];
        ask_scene.start(&args)
    };
    let first = ask("first");
    let launched = || !ask_scene.log().is_empty();
    eventually("it is asked", || launched() || faults.reached(point).is_some());
    let early = !launched();
    if early {
        kill_at(faults, point);
        eventually("it is launched", launched);
    }
    let second = ask("second");
    if !early {
        kill_at(faults, point);
    }
    let [first, second] = [first, second].map(|asked| {
        let ended = asked.wait();
        assert_eq!(ended.code, 0, "{ended:?}");
        ended.stdout.trim().to_owned()
    });
    let (first, second) = (answer(ask_scene, &first), answer(ask_scene, &second));
    assert_eq!((&first["answer"], &first["attempts"]), (&"one".into(), &2.into()), "{first:#}");
    assert_eq!((&second["answer"], &second["attempts"]), (&"two".into(), &1.into()), "{second:#}");
    let launches = ask_scene.launches();
    assert_eq!(launches.len(), 3, "{launches:?}");
    assert_eq!(launches[2], first["conversation"].as_str().expect("a conversation"));
    let member = ask_scene.member("anna");
    assert_eq!((&member["attempts"], &member["waiting"]), (&3.into(), &0.into()), "{member:#}");
    assert_eq!(member["usage"]["output_tokens"], 15, "{member:#}");
    assert_eq!(member["busy_with"], Value::Null, "{member:#}");
    assert_eq!(ask_scene.events("judged").len(), 3);
}

fn walk(who: Who, pen: Pen) {
    for point in points() {
        let Some((scene, faults)) = scene_with_points(who, pen) else { return };
        let ask_scene = AskScene::in_scene(scene, &["overloaded", "ok one", "ok two"]);
        let reported = catch_unwind(AssertUnwindSafe(|| run_case(&ask_scene, &faults, point)));
        if let Err(panic) = reported {
            eprintln!("*** {point}\n{:?}\n{}", ask_scene.log(), ask_scene.scene.logs());
            resume_unwind(panic);
        }
        ask_scene.end();
    }
}

#[test]
fn in_cgroup_pens() {
    walk(Who::Root, Pen::Cgroup);
}

#[test]
fn as_another_user_in_subtree_pens() {
    walk(Who::Other, Pen::Subtree);
}

/// A member exists or it does not: after a crash the request can simply be repeated.
#[test]
fn a_member_is_added_and_removed_atomically() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let ask_scene = AskScene::in_scene(scene, &["ok one"]);
    ask_scene.scene.call_ok(&["daemon", "start"]);
    let names = || {
        let members = ask_scene.scene.call_json(&["member", "list", "--json"]);
        members.as_array().expect("a list").len()
    };
    for (point, verb) in [("daemon.member.added", "add"), ("daemon.member.removed", "rm")] {
        let args: &[&str] = match verb {
            "add" => &["member", "add", "anna", "--agent", "claude"],
            _ => &["member", "rm", "anna"],
        };
        let after = usize::from(verb == "add");
        faults.arm(point);
        let reported = Running::start(ask_scene.scene.kennel(args));
        kill_at(&faults, point);
        let reported = reported.wait();
        assert!(reported.code != 0 || names() == after, "{reported:?}");
        if names() != after {
            ask_scene.scene.call_ok(args);
        }
        assert_eq!(names(), after, "{verb}");
    }
    ask_scene.add("anna");
    assert_eq!(ask_scene.ask(&["anna", "hello"]).stdout, "one\n");
    ask_scene.end();
}
