//! `kennel run` or its holder is killed: the tree does not survive either.

use kennel_testing::{Pen, Scene, Who, eventually, everywhere, signal};

everywhere! {
    fn the_tree_does_not_survive_a_kill_of_kennel_run(scene: Scene) {
        for behaviour in ["env-i", "setsid", "ignore-term", "double-fork", "stop-self"] {
            let mut running = scene.start(&[], &[behaviour]);
            running.wait_ready().signal("KILL");
            let _killed = running.wait();
            scene.assert_nothing_left_soon();
        }
    }

    /// The same at any moment of the launch.
    fn nothing_survives_a_kill_of_kennel_run_at_any_moment(scene: Scene) {
        for delay in 0..25_u64 {
            let running = scene.start(&[], &["env-i"]);
            let until = std::time::Instant::now() + std::time::Duration::from_micros(delay * 400);
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
            running.signal("KILL");
            let _killed = running.wait();
            scene.assert_nothing_left_soon();
        }
    }

    /// The orphans fall to `kennel run`, which ends them and says that the status is unknown.
    fn the_tree_does_not_survive_a_kill_of_the_holder(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        signal(scene.holder().expect("a holder"), "KILL");
        let ended = running.wait();
        assert_eq!(ended.code, 206, "{}", ended.stderr);
        assert!(ended.stderr.contains("the holder was lost"), "{}", ended.stderr);
        scene.assert_nothing_left();
    }

    /// A holder that does not answer is bypassed.
    fn a_stopped_holder_does_not_keep_a_stop_from_happening(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        let holder = scene.holder().expect("a holder");
        signal(holder, "STOP");
        running.signal("TERM");
        let ended = running.wait();
        assert_eq!(ended.code, 206, "{}", ended.stderr);
        scene.assert_nothing_left();
    }

    /// A stopped holder is woken by the death of its caller.
    fn a_stopped_holder_still_ends_the_tree_when_kennel_run_is_killed(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        let holder = scene.holder().expect("a holder");
        signal(holder, "STOP");
        eventually("it is stopped", || {
            kennel_testing::Process::look(holder).is_some_and(|process| process.state == 'T')
        });
        running.signal("KILL");
        let _killed = running.wait();
        scene.assert_nothing_left_soon();
    }
}

/// Both are killed: what is left in a cgroup is found by its name and ended by the next run of that home.
#[test]
fn a_leftover_of_a_killed_owner_is_ended_by_the_next_run_of_its_home_and_no_other() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Cgroup) else {
            continue;
        };
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        let holder = scene.holder().expect("a holder");
        // The holder first, but stopped, so that neither has time to see the other go.
        running.signal("STOP");
        signal(holder, "KILL");
        running.signal("KILL").signal("CONT");
        let _killed = running.wait_without_output();
        eventually("only the agent's tree is left", || scene.holder().is_none());
        assert_eq!(scene.pens().len(), 1);
        assert_eq!(scene.processes().len(), 2, "{:?}", scene.processes());

        // Another home does not touch it.
        let mut stranger = scene.run_command(&[], &[&scene.fake_agent(), "exit", "5"]);
        stranger.env("KENNEL_HOME", scene.path("home/another"));
        assert_eq!(kennel_testing::Running::start(stranger).wait().code, 5);
        assert_eq!(scene.processes().len(), 2);

        assert_eq!(scene.run(&[], &["exit", "6"]).code, 6);
        scene.assert_nothing_left();
    }
}

/// A live pen of the same home is no leftover.
#[test]
fn two_runs_of_one_home_leave_each_other_alone() {
    for (who, pen) in
        [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Cgroup), (Who::Other, Pen::Subtree)]
    {
        let Some(scene) = Scene::new(who, pen) else {
            continue;
        };
        let mut first = scene.start(&[], &["setsid", "1"]);
        first.wait_ready();
        let mut second = scene.start(&[], &["setsid", "1"]);
        second.wait_ready();
        second.signal("TERM");
        assert_eq!(second.wait().code, 143);
        assert!(!first.has_ended());
        assert_eq!(
            scene.processes().len(),
            4,
            "kennel, holder, agent, leaf: {:?}",
            scene.processes()
        );
        first.signal("TERM");
        assert_eq!(first.wait().code, 143);
        scene.assert_nothing_left();
    }
}
