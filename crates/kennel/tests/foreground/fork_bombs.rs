//! T3: fork bombs that replenish themselves, bounded by the fake agent.

use kennel_testing::{Pen, Running, Scene, Who};

fn end_a_bomb(scene: &Scene, command: std::process::Command) {
    let mut running = Running::start(command);
    running.wait_ready();
    running.signal("INT").signal("INT");
    let ended = running.wait();
    assert!([137, 143].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
    scene.assert_nothing_left();
}

/// A cgroup pen wins against any bomb.
#[test]
fn a_bomb_in_a_cgroup_pen_is_ended() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Cgroup) else {
            continue;
        };
        let agent = scene.fake_agent();
        end_a_bomb(&scene, scene.run_command(&[], &[&agent, "bomb", "50", "120"]));
    }
}

/// A subtree pen wins against a bomb that leaves the machine some room.
#[test]
fn a_bomb_in_a_subtree_pen_is_ended() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else {
            continue;
        };
        let agent = scene.fake_agent();
        end_a_bomb(&scene, scene.run_command(&[], &[&agent, "bomb", "30", "120"]));
    }
}

/// A pid namespace wins without a cgroup and without privileges.
#[test]
fn a_bomb_in_a_namespace_pen_is_ended() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else {
            continue;
        };
        let agent = scene.fake_agent();
        end_a_bomb(
            &scene,
            scene.kennel(&["run", "--pen", "pidns", "--", &agent, "bomb", "50", "120"]),
        );
    }
}

/// A process that keeps forking and exiting has no stable pid to signal.
#[test]
fn a_process_that_keeps_forking_is_ended_in_every_pen() {
    for (who, pen) in [
        (Who::Root, "cgroup"),
        (Who::Root, "subtree"),
        (Who::Other, "subtree"),
        (Who::Other, "pidns"),
    ] {
        let kind = if pen == "cgroup" { Pen::Cgroup } else { Pen::Subtree };
        let Some(scene) = Scene::new(who, kind) else {
            continue;
        };
        let agent = scene.fake_agent();
        let command =
            scene.kennel(&["run", "--linger", "1h", "--pen", pen, "--", &agent, "hop", "120"]);
        let mut running = Running::start(command);
        running.wait_ready();
        running.signal("INT").signal("INT");
        let _code_of_whichever_generation = running.wait();
        scene.assert_nothing_left();
    }
}
