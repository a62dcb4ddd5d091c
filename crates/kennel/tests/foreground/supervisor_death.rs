//! `kennel run` or its keeper is killed: the tree does not survive either.

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal};

/// The possible codes of a run whose keeper was killed: from the yard's TERM or KILL, where the
/// kernel reports the status to processes other than the parent, or unknown.
const LOST: [i32; 3] = [137, 143, 206];

everywhere! {
    fn the_tree_does_not_survive_a_kill_of_kennel_run(scene: Scene) {
        for behaviour in ["env-i", "setsid", "ignore-term", "double-fork", "stop-self"] {
            let mut running = scene.start(&[], &[behaviour]);
            running.wait_ready().signal("KILL");
            let _killed = running.wait();
            scene.assert_nothing_left_soon();
        }
    }

    /// `kennel run` is killed at any moment of the launch.
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

    /// The yard inherits the orphans and ends them. The status is known as far as the
    /// kernel reports it to processes other than the parent.
    fn the_tree_does_not_survive_a_kill_of_the_keeper(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        signal(scene.keeper().expect("a keeper"), "KILL");
        let ended = running.wait();
        assert!(LOST.contains(&ended.code), "{}: {}", ended.code, ended.stderr);
        assert!(ended.stderr.contains("keeper"), "{}", ended.stderr);
        scene.assert_nothing_left();
    }

    /// The yard continues a keeper that does not answer, in case it is stopped.
    fn a_stop_works_although_the_keeper_is_suspended(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        signal(scene.keeper().expect("a keeper"), "STOP");
        running.signal("TERM");
        let ended = running.wait();
        assert_eq!((ended.code, ended.stderr.as_str()), (143, ""));
        scene.assert_nothing_left();
    }

    /// The yard continues a suspended keeper.
    fn a_suspended_keeper_still_ends_the_tree_when_kennel_run_is_killed(scene: Scene) {
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        signal(scene.keeper().expect("a keeper"), "STOP");
        running.signal("KILL");
        let _killed = running.wait();
        scene.assert_nothing_left_soon();
    }
}

/// The agent kills its keeper as its first act, while the gate opens.
#[test]
fn an_agent_that_kills_its_keeper_does_not_escape() {
    for (who, pen) in
        [(Who::Root, Pen::Cgroup), (Who::Root, Pen::Subtree), (Who::Other, Pen::Subtree)]
    {
        let Some(scene) = Scene::new(who, pen) else { continue };
        for _ in 0..6 {
            let script = "kill -9 $PPID; trap '' TERM INT HUP; exec sleep 200";
            let running = Running::start(scene.run_command(&[], &["/bin/sh", "-c", script]));
            assert!(LOST.contains(&running.wait().code));
            scene.assert_nothing_left();
        }
    }
}

/// The keeper dies during the linger, after it has reaped the agent. A process that left the cgroup
/// is ended too.
#[test]
fn a_process_that_left_the_cgroup_is_ended_when_the_keeper_dies_after_the_agent() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    let elsewhere = scene.other_cgroup("elsewhere");
    let agent = scene.fake_agent();
    let script = format!(
        "{agent} sleep >/dev/null & {agent} sleep >/dev/null & setsid {agent} move-cgroup {} & sleep 0.3; exit 4",
        elsewhere.display()
    );
    let mut running =
        Running::start(scene.run_command(&["--linger", "1h"], &["/bin/sh", "-c", &script]));
    running.wait_ready();
    let shells =
        || scene.processes().iter().filter(|p| p.command.starts_with("/bin/sh -c")).count();
    eventually("the agent has ended", || shells() == 0);
    signal(scene.keeper().expect("a keeper"), "KILL");
    assert_eq!(running.wait().code, 4, "the agent's own status was reported before");
    scene.assert_nothing_left();
}

/// The tree is ended even if no process reads Kennel's messages.
#[test]
fn the_tree_ends_although_standard_error_is_closed_or_full() {
    for stuck in [false, true] {
        let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = scene.run_command(&[], &[&scene.fake_agent(), "env-i"]);
        command.stdout(std::process::Stdio::piped());
        if stuck {
            // Full, with a reader that never reads.
            let mut full = writer.try_clone().expect("a handle");
            rustix::io::ioctl_fionbio(&full, true).expect("non-blocking");
            while std::io::Write::write(&mut full, &[b'x'; 4096]).is_ok() {}
            rustix::io::ioctl_fionbio(&full, false).expect("blocking again");
            command.stderr(writer);
        } else {
            drop(reader.try_clone());
            command.stderr(writer);
        }
        let reader = stuck.then_some(reader);
        let mut child = command.spawn().expect("starts");
        eventually("the tree is up", || scene.pids().len() == 2);
        signal(scene.keeper().expect("a keeper"), "KILL");
        eventually("it ends", || child.try_wait().expect("our child").is_some());
        let code = child.wait().expect("our child").code().expect("a code");
        assert!(LOST.contains(&code), "{code}");
        scene.assert_nothing_left();
        drop(reader);
    }
}

/// Children that existed before a shell's `exec kennel run` do not belong to the session.
#[test]
fn a_child_from_before_the_exec_survives() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(scene) = Scene::new(who, pen) else { continue };
        let kind = if pen == Pen::Cgroup { "cgroup" } else { "subtree" };
        let script = format!(
            "{agent} sleep >bystander 2>&1 & echo $! > pid; exec {kennel} run --pen {kind} -- {agent} env-i",
            agent = scene.fake_agent(),
            kennel = scene.path("kennel").display(),
        );
        let mut command = scene.command(std::path::Path::new("/bin/sh"));
        command.args(["-c", &script]).env("KENNEL_HOME", scene.path("home/kennel"));
        let mut running = Running::start(command);
        running.wait_ready();
        signal(scene.keeper().expect("a keeper"), "KILL");
        assert!(LOST.contains(&running.wait().code));
        let bystander = std::fs::read_to_string(scene.path("work/pid")).expect("a pid");
        let bystander = bystander.trim().parse().expect("a pid");
        assert_eq!(scene.processes().iter().map(|p| p.pid).collect::<Vec<_>>(), [bystander]);
        signal(bystander, "KILL");
        scene.assert_nothing_left_soon();
    }
}

/// The yard continues a keeper that its agent suspended when the agent ends.
#[test]
fn a_keeper_suspended_by_its_agent_does_not_hang_the_run() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let argv = ["/bin/sh", "-c", "kill -STOP $PPID; exit 3"];
    assert_eq!(Running::start(scene.run_command(&[], &argv)).wait().code, 3);
    scene.assert_nothing_left();
}

/// Kennel bypasses a keeper that never answers.
#[test]
fn a_keeper_that_is_suspended_repeatedly_is_bypassed() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        let Some(scene) = Scene::new(who, pen) else { continue };
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        let keeper = scene.keeper().expect("a keeper");
        let stopped = |pid| kennel_testing::Process::look(pid).map(|process| process.state == 'T');
        signal(keeper, "STOP");
        running.signal("TERM");
        eventually("the run ends", || {
            if stopped(keeper) == Some(false) {
                // It may just have been killed, which is the condition.
                std::process::Command::new("kill")
                    .args(["-STOP", &keeper.to_string()])
                    .output()
                    .ok();
            }
            running.has_ended()
        });
        let ended = running.wait();
        assert!([137, 143, 206].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
        scene.assert_nothing_left();
    }
}

/// All of Kennel's processes are killed. The next daemon of that home finds the cgroup by its name
/// and ends what is left.
#[test]
fn only_the_next_daemon_of_the_home_ends_leftovers_of_a_killed_kennel() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Cgroup) else {
            continue;
        };
        let mut running = scene.start(&[], &["env-i"]);
        running.wait_ready();
        let keeper = scene.keeper().expect("a keeper");
        // Suspend all first, the yard before the processes that it would continue, so that none
        // notices another's end.
        let yard = scene.yard().expect("a yard");
        let daemon = scene.daemon().expect("a daemon");
        running.signal("STOP");
        for pid in [yard, daemon, keeper] {
            signal(pid, "STOP");
        }
        for pid in [yard, daemon, keeper] {
            signal(pid, "KILL");
        }
        running.signal("KILL");
        let _killed = running.wait_without_output();
        eventually("only the agent's tree is left", || scene.all_processes().len() == 2);
        assert_eq!(scene.pens().len(), 1);

        // Another home does not touch it.
        let mut stranger = scene.run_command(&[], &[&scene.fake_agent(), "exit", "5"]);
        stranger.env("KENNEL_HOME", scene.path("home/another"));
        assert_eq!(Running::start(stranger).wait().code, 5);
        eventually("the other home's keeper exits", || scene.keeper().is_none());
        assert_eq!(scene.processes().len(), 2);

        assert_eq!(scene.run(&[], &["exit", "6"]).code, 6);
        scene.assert_nothing_left_soon();
    }
}

/// A live pen of the same home is not a leftover.
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
        eventually("kennel, keeper, agent and leaf are left", || scene.processes().len() == 4);
        first.signal("TERM");
        assert_eq!(first.wait().code, 143);
        scene.assert_nothing_left();
    }
}
