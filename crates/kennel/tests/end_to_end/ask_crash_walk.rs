//! S1 for prompts: the daemon is killed at every step of an attempt, of its verdict, of the next one, and of a turn in line.
//! Everything is asked exactly as often as it should be, judged once, and counted once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use kennel_testing::{Faults, Pen, Running, Who, eventually, signal};
use serde_json::Value;

use crate::ask::Company;
use crate::crash_case::{about_launches, about_prompts};
use crate::launch_and_cancel::scene_with_points;

const PATIENCE: Duration = Duration::from_secs(30);

/// Points that a prompt does not pass: a person has it go on, or the yard is the one to pass it.
const OTHERS: [&str; 2] = ["daemon.again.resumed", "yard.kept"];

/// Every point that belongs to prompts, but for those of members themselves.
fn points() -> impl Iterator<Item = &'static str> {
    let points = about_prompts().chain(about_launches());
    points.filter(|point| !point.starts_with("daemon.member.") && !OTHERS.contains(point))
}

/// Waits until the daemon comes to the point, and kills it there.
fn kill_at(faults: &Faults, point: &str) {
    let reached = faults.wait_reached(point, PATIENCE);
    let held = reached.unwrap_or_else(|| panic!("{point} is not passed"));
    signal(held, "KILL");
    faults.disarm(point);
}

fn answer(company: &Company, id: &str) -> Value {
    let told = company.scene.call(&["answer", "--json", id]);
    assert_eq!(told.code, 0, "{told:?}");
    serde_json::from_str(&told.stdout).expect("JSON")
}

/// One prompt is tried again, another one waits in line meanwhile.
fn tell(company: &Company, faults: &Faults, point: &str) {
    company.add("anna");
    faults.arm(point);
    let ask = |key: &str| {
        let args = ["-d", "--queue", "--retries", "1", "--key", key, "anna", key];
        company.start(&args)
    };
    let first = ask("first");
    let launched = || !company.log().is_empty();
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
    let (first, second) = (answer(company, &first), answer(company, &second));
    assert_eq!((&first["answer"], &first["attempts"]), (&"one".into(), &2.into()), "{first:#}");
    assert_eq!((&second["answer"], &second["attempts"]), (&"two".into(), &1.into()), "{second:#}");
    let launches = company.launches();
    assert_eq!(launches.len(), 3, "{launches:?}");
    assert_eq!(launches[2], first["conversation"].as_str().expect("a conversation"));
    let member = company.member("anna");
    assert_eq!((&member["attempts"], &member["waiting"]), (&3.into(), &0.into()), "{member:#}");
    assert_eq!(member["usage"]["output_tokens"], 15, "{member:#}");
    assert_eq!(member["busy_with"], Value::Null, "{member:#}");
    assert_eq!(company.events("judged").len(), 3);
}

fn walk(who: Who, pen: Pen) {
    for point in points() {
        let Some((scene, faults)) = scene_with_points(who, pen) else { return };
        let company = Company::in_scene(scene, &["overloaded", "ok one", "ok two"]);
        let told = catch_unwind(AssertUnwindSafe(|| tell(&company, &faults, point)));
        if let Err(panic) = told {
            eprintln!("*** {point}\n{:?}\n{}", company.log(), company.scene.logs());
            resume_unwind(panic);
        }
        company.end();
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

/// A member is there, or it is not: whoever was killed over it can just be asked again.
#[test]
fn a_member_is_added_and_removed_whole() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let company = Company::in_scene(scene, &["ok one"]);
    company.scene.call_ok(&["daemon", "start"]);
    let names = || {
        let members = company.scene.call_json(&["member", "list", "--json"]);
        members.as_array().expect("a list").len()
    };
    for (point, verb) in [("daemon.member.added", "add"), ("daemon.member.removed", "rm")] {
        let args: &[&str] = match verb {
            "add" => &["member", "add", "anna", "--agent", "claude"],
            _ => &["member", "rm", "anna"],
        };
        let after = usize::from(verb == "add");
        faults.arm(point);
        let told = Running::start(company.scene.kennel(args));
        kill_at(&faults, point);
        let told = told.wait();
        assert!(told.code != 0 || names() == after, "{told:?}");
        if names() != after {
            company.scene.call_ok(args);
        }
        assert_eq!(names(), after, "{verb}");
    }
    company.add("anna");
    assert_eq!(company.ask(&["anna", "hello"]).stdout, "one\n");
    company.end();
}
