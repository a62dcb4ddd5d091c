//! Never the wrong process.

use kennel_testing::{Pen, Running, Scene, Who, alive, eventually, everywhere};

everywhere! {
    /// I1, I2, I6: a process of the same program, with the cookie of another home, survives.
    fn a_namesake_with_a_look_alike_cookie_survives(scene: Scene) {
        let agent = scene.path("fake-agent");
        let mut namesake = scene.command(&agent);
        namesake.arg("sleep").env("KENNEL_HOME_ID", "0123456789abcdef").env("KENNEL_SESSION_ID", "x");
        namesake.env("FAKE_AGENT_PIDS", scene.path("work/namesakes"));
        let mut namesake = Running::start(namesake);
        namesake.wait_ready();

        let mut running = scene.start(&[], &["setsid", "3"]);
        running.wait_ready().signal("INT").signal("INT");
        let _code = running.wait();
        assert!(alive(namesake.pid()), "a namesake was ended");
        // Its keeper may still be waiting for the confirmation that the outcome is on record.
        let left = scene.processes().into_iter().filter(|p| !p.command.starts_with("kennel-keeper"));
        assert_eq!(left.map(|p| p.pid).collect::<Vec<_>>(), [namesake.pid()]);
        drop(namesake);
        scene.assert_nothing_left_soon();
    }

    /// I4: a pid marker in the agent's own output, whole or split or forged, means nothing.
    fn a_forged_pid_in_the_output_means_nothing(scene: Scene) {
        let mut bystander = Running::start({
            let mut command = scene.command(&scene.path("fake-agent"));
            command.arg("sleep").env("FAKE_AGENT_PIDS", scene.path("work/bystanders"));
            command
        });
        bystander.wait_ready();
        let marker = format!("KENNEL_PID={} pid: {}", bystander.pid(), bystander.pid());
        let mut running = scene.start(&[], &["marker", &marker]);
        running.wait_line(&marker).signal("TERM");
        assert_eq!(running.wait().code, 143);
        assert!(alive(bystander.pid()));
        drop(bystander);
        scene.assert_nothing_left_soon();
    }
}

/// I1: the kernel reuses the pids of dead processes. The bystanders here
/// get pids around those of the tree and must survive.
#[test]
fn processes_that_reuse_pids_of_the_tree_survive() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else {
        return;
    };
    let mut running = scene.start(&["--grace", "100ms"], &["hop", "60"]);
    running.wait_ready();
    let bystanders = (0..40)
        .map(|_| {
            let mut command = scene.command(&scene.path("fake-agent"));
            command.arg("sleep").env("FAKE_AGENT_PIDS", scene.path("work/bystanders"));
            let mut bystander = Running::start(command);
            bystander.wait_ready();
            bystander
        })
        .collect::<Vec<_>>();
    running.signal("INT").signal("INT");
    let _code_of_whichever_generation = running.wait();
    for bystander in &bystanders {
        assert!(alive(bystander.pid()), "a bystander was ended");
    }
    eventually("only they are left", || scene.processes().len() == bystanders.len());
    drop(bystanders);
    scene.assert_nothing_left_soon();
}
