//! Messages for invalid input and for limits that can't be enforced.

use std::fs;

use kennel_testing::{Pen, Scene, Who};

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// A client that requests a limit and does not get it must learn so at once.
#[test]
fn a_limit_that_is_not_enforced_is_reported_with_the_reason() {
    let Some(scene) = scene() else { return };
    let flags = ["--memory", "1G", "--pids", "50", "--best-effort"];
    let in_front = scene.run(&flags, &["exit", "3"]);
    assert_eq!(in_front.code, 3, "{in_front:?}");
    let apart = scene.run(&[&["-d", "--name", "apart"], &flags[..]].concat(), &["sleep"]);
    assert_eq!(apart.code, 0, "{apart:?}");
    for ended in [&in_front, &apart] {
        for limit in ["memory", "pids"] {
            let reported =
                format!("kennel: can't limit {limit}: a pen without a cgroup was requested");
            assert!(ended.stderr.contains(&reported), "{ended:?}");
        }
    }
    let page = scene.call_ok(&["inspect", "apart"]);
    assert!(page.contains("  problem     can't limit memory"), "{page}");
    assert!(page.contains("  memory      at most 1.0 GiB\n"), "{page}");
    let held = scene.run(&["--best-effort"], &["exit", "0"]);
    assert_eq!((held.code, held.stderr.as_str()), (0, ""), "no limit was requested");
    scene.call_ok(&["stop", "apart"]);
    scene.stop_daemon();
}

#[test]
fn a_home_that_is_a_file_is_reported() {
    let Some(scene) = scene() else { return };
    let file = scene.path("file");
    fs::write(&file, "mine").expect("written");
    let file = file.to_str().expect("a plain path");
    let refused = scene.call(&["--home", file, "ps"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains("is not a folder"), "{refused:?}");
    assert_eq!(fs::read_to_string(file).expect("still there"), "mine");
}

#[test]
fn an_invalid_description_of_an_agent_is_reported_with_its_file() {
    let Some(scene) = scene() else { return };
    let file = scene.path("work/agent.toml");
    fs::write(&file, "program = 7\n").expect("written");
    let path = file.to_str().expect("a plain path");
    let refused = scene.call(&["ask", "--agent", "mine", "--description", path, "hello"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains(&format!("--description {path}: ")), "{refused:?}");
    assert_eq!(scene.daemon(), None, "no daemon was started for it");
}

#[test]
fn pruning_counts_sessions() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["--name", "x"], &["exit", "0"]);
    scene.wait_phase(&id, "cleaned");
    assert_eq!(scene.call(&["resume", "x"]).code, 0);
    scene.wait_phase(&format!("{id}_2"), "cleaned");
    let pruned = scene.call(&["prune"]);
    assert_eq!((pruned.code, pruned.stdout), (0, format!("x ({id})\n")), "{}", pruned.stderr);
    assert!(pruned.stderr.contains("1 session removed"), "{}", pruned.stderr);
    scene.stop_daemon();
}
