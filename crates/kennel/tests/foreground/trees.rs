//! The whole tree ends, however its processes try to escape.

use kennel_testing::{Pen, Running, Scene, Who, alive, eventually, everywhere, signal};

/// Starts the agent, waits until it runs with at least `others` more processes, and stops it with
/// TERM.
#[track_caller]
fn stop_with_term(scene: &Scene, flags: &[&str], behaviour: &[&str], others: usize) -> i32 {
    let mut running = scene.start(flags, behaviour);
    running.wait_ready();
    eventually("all processes run", || {
        scene.pids().iter().filter(|(pid, _)| alive(*pid)).count() > others
    });
    running.signal("TERM");
    let ended = running.wait();
    scene.assert_nothing_left();
    ended.code
}

everywhere! {
    /// T1
    fn a_double_forked_daemon_is_ended(scene: Scene) {
        assert_eq!(stop_with_term(&scene, &[], &["double-fork"], 1), 143);
    }

    /// T1
    fn children_in_sessions_of_their_own_are_ended(scene: Scene) {
        assert_eq!(stop_with_term(&scene, &[], &["setsid", "5"], 5), 143);
    }

    /// T1: no environment, no parent, no group and no session leads back to the agent.
    fn a_daemon_without_environment_is_ended(scene: Scene) {
        assert_eq!(stop_with_term(&scene, &[], &["env-i"], 1), 143);
    }

    /// T1
    fn a_deep_chain_is_ended(scene: Scene) {
        assert_eq!(stop_with_term(&scene, &[], &["chain-setsid", "40"], 40), 143);
    }

    /// T1: the agent has already ended when its daemons are ended.
    fn daemons_that_an_agent_leaves_behind_are_ended_after_the_linger(scene: Scene) {
        for behaviour in ["double-fork-exit", "env-i-exit", "setsid-exit"] {
            let ended = scene.run(&["--linger", "200ms"], &[behaviour]);
            assert_eq!(ended.code, 0, "{behaviour}: {}", ended.stderr);
            scene.assert_nothing_left();
        }
    }

    /// T1
    fn a_storm_of_daemons_is_ended(scene: Scene) {
        let ended = scene.run(&["--linger", "50ms"], &["daemonize-storm", "60"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(scene.pids().len() >= 60);
        scene.assert_nothing_left();
    }

    /// B7: the agent crashed; what it left ignores TERM.
    fn a_child_that_ignores_term_is_killed_after_its_agent_has_gone(scene: Scene) {
        let ended = scene.run(&["--linger", "100ms"], &["ignore-term-exit"]);
        assert_eq!(ended.code, 3, "the agent's own code");
        scene.assert_nothing_left();
    }

    /// T2: all share one grace.
    fn many_processes_that_ignore_term_share_one_grace(scene: Scene) {
        let mut running = scene.start(&["--grace", "1s"], &["ignore-term", "10"]);
        running.wait_ready();
        let stop = std::time::Instant::now();
        running.signal("TERM");
        assert_eq!(running.wait().code, 137);
        assert!(stop.elapsed() >= std::time::Duration::from_secs(1), "the grace was given");
        scene.assert_nothing_left();
        assert_eq!(scene.pids().len(), 11);
    }

    /// T4: a descendant holds the pipe open; the session settles, and the pipe is released.
    fn a_descendant_that_holds_stdout_open_is_ended(scene: Scene) {
        let ended = scene.run(&["--linger", "100ms"], &["hold-stdout"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "ready\n"));
        scene.assert_nothing_left();
    }

    /// T5: a zombie counts as dead.
    fn a_zombie_in_the_tree_does_not_hold_up_the_end(scene: Scene) {
        assert_eq!(stop_with_term(&scene, &[], &["zombie"], 0), 143);
    }

    /// T5: a process whose first thread has ended looks like a zombie but lives.
    fn a_process_whose_first_thread_has_ended_counts_as_alive(scene: Scene) {
        let mut running = scene.start(&["--grace", "200ms"], &["thread-leader-exit"]);
        running.wait_ready();
        let agent = scene.pid_of("agent");
        assert!(!running.has_ended());
        running.signal("TERM");
        assert_eq!(running.wait().code, 143);
        assert!(!std::path::Path::new(&format!("/proc/{agent}")).exists());
        scene.assert_nothing_left();
    }

    /// T7: Kennel's own process group is never signalled.
    fn a_bystander_in_kennels_own_process_group_survives(scene: Scene) {
        // The scene's shell starts it in the background, in the same group and session.
        let mut command = scene.command(std::path::Path::new("/bin/sh"));
        let kennel = scene.path("kennel");
        let pen = if scene.pen == Pen::Cgroup { "cgroup" } else { "subtree" };
        let script = format!(
            "{agent} sleep >bystander 2>&1 & echo $! > pid; exec {kennel} run --pen {pen} -- {agent} setsid 2",
            agent = scene.fake_agent(), kennel = kennel.display(),
        );
        command.args(["-c", &script]).env("KENNEL_HOME", scene.path("home/kennel"));
        let mut running = Running::start(command);
        running.wait_ready();
        let read = || std::fs::read_to_string(scene.path("work/pid")).unwrap_or_default();
        let bystander: i32 = read().trim().parse().expect("a pid");
        running.signal("TERM");
        assert_eq!(running.wait().code, 143);
        assert!(alive(bystander), "the bystander was ended");
        signal(bystander, "KILL");
        scene.assert_nothing_left_soon();
    }

    /// T10
    fn a_stopped_tree_is_ended(scene: Scene) {
        let mut running = scene.start(&[], &["stop-self"]);
        running.wait_ready();
        let stopped = |role: &str| {
            let pid = scene.pid_of(role);
            kennel_testing::Process::look(pid).is_some_and(|process| process.state == 'T')
        };
        eventually("both are stopped", || stopped("agent") && stopped("leaf"));
        running.signal("TERM");
        // TERM is followed by CONT, so the default disposition ends them without a KILL.
        assert_eq!(running.wait().code, 143);
        scene.assert_nothing_left();
    }

    /// T11: an agent runs its own Kennel in another home.
    fn a_kennel_inside_a_kennel_is_ended_with_it(scene: Scene) {
        let kennel = scene.path("kennel");
        let kennel = kennel.to_str().expect("a plain path");
        let inner_home = scene.path("home/inner");
        let inner_home = inner_home.to_str().expect("a plain path");
        let agent = scene.fake_agent();
        let argv = [kennel, "--home", inner_home, "run", "--", &agent, "env-i"];
        let mut running = Running::start(scene.run_command(&[], &argv));
        running.wait_ready();
        assert_eq!(scene.processes().iter().filter(|p| p.command.starts_with("kennel-keeper")).count(), 2);
        running.signal("INT").signal("INT");
        let _whatever_it_made_of_that = running.wait();
        eventually("no process is left", || scene.processes().is_empty());
        // A cgroup pen of the inner Kennel outside the outer pen is empty now; the inner home
        // removes it.
        let sweep = scene.kennel(&["--home", inner_home, "run", "--", &agent, "exit", "0"]);
        assert_eq!(Running::start(sweep).wait().code, 0);
        scene.assert_nothing_left();
    }

    /// TERM to the whole tree lets the inner Kennel finish: it reports the agent's own status.
    fn a_stop_of_the_outer_kennel_is_a_stop_of_the_inner_one(scene: Scene) {
        let kennel = scene.path("kennel");
        let kennel = kennel.to_str().expect("a plain path");
        let inner_home = scene.path("home/inner");
        let inner_home = inner_home.to_str().expect("a plain path");
        let agent = scene.fake_agent();
        let argv = [kennel, "--home", inner_home, "run", "--", &agent, "setsid", "2"];
        let mut running = Running::start(scene.run_command(&[], &argv));
        running.wait_ready().signal("TERM");
        // Its daemon gets TERM too and may react first.
        let ended = running.wait();
        assert_eq!(ended.code, 143, "{}", ended.stderr);
        scene.assert_nothing_left();
    }
}

/// For processes that can't be ended: they keep the pipes open.
fn start_with_errors_in(scene: &Scene, errors: &std::path::Path, behaviour: &[&str]) -> Running {
    let agent = scene.fake_agent();
    let argv = [&[agent.as_str()], behaviour].concat();
    Running::start_with_errors_in(scene.run_command(&["--grace", "100ms"], &argv), errors)
}

/// T9 and T11 need a cgroup to move to or nest in, so another user needs a delegated one.
fn scenes_with_a_writable_cgroup() -> impl Iterator<Item = Scene> {
    [(Who::Root, Pen::Cgroup), (Who::Root, Pen::Subtree), (Who::Other, Pen::Cgroup)]
        .into_iter()
        .filter_map(|(who, pen)| Scene::new(who, pen))
}

/// T9
#[test]
fn a_process_that_moves_itself_to_another_cgroup_is_ended() {
    for scene in scenes_with_a_writable_cgroup() {
        for behaviour in ["move-cgroup", "move-cgroup-child"] {
            let elsewhere = scene.other_cgroup(&format!("elsewhere-{behaviour}"));
            let path = elsewhere.to_str().expect("a plain path").to_owned();
            let mut running = scene.start(&[], &[behaviour, &path]);
            running.wait_ready();
            let moved =
                || std::fs::read_to_string(elsewhere.join("cgroup.procs")).unwrap_or_default();
            eventually("a process has moved", || !moved().is_empty());
            running.signal("TERM");
            assert_eq!(running.wait().code, 143);
            scene.assert_nothing_left();
        }
    }
}

/// T11
#[test]
fn cgroups_that_an_agent_nests_are_removed_bottom_up() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Cgroup)] {
        let Some(scene) = Scene::new(who, pen) else {
            continue;
        };
        let mut running = scene.start(&[], &["nest-cgroup", "nest"]);
        running.wait_ready();
        let pens = scene.pens();
        assert_eq!(pens.len(), 1);
        assert!(pens[0].join("nest/inner").exists());
        running.signal("TERM");
        assert_eq!(running.wait().code, 143);
        scene.assert_nothing_left();
    }
}

/// Hundreds of nested cgroups are removed with few descriptors, and the exit code is kept.
#[test]
fn very_deeply_nested_cgroups_are_removed_with_few_descriptors() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    let script = r#"d=$1; i=0; while [ $i -lt 300 ]; do d=$d/n; mkdir "$d" || exit 9; i=$((i+1)); done; exit 5"#;
    let mut command = scene.command(std::path::Path::new("/bin/sh"));
    let wrapper = r#"ulimit -n 160; exec "$@""#;
    command.args(["-c", wrapper, "sh"]).arg(scene.path("kennel"));
    let find = r#"p=$(sed -n s/^0:://p /proc/self/cgroup); m=$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo | head -1); set -- "$m$p"; "#;
    command.args(["run", "--pen", "cgroup", "--", "/bin/sh", "-c", &format!("{find}{script}")]);
    command.env("KENNEL_HOME", scene.path("home/kennel"));
    let ended = Running::start(command).wait();
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    scene.assert_nothing_left();
}

/// T8 and the delegation rule: a cgroup that is delegated but not entered can't be cloned into.
#[test]
fn another_user_without_a_cgroup_gets_a_subtree_pen_automatically() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else {
        return;
    };
    let agent = scene.fake_agent();
    let mut running =
        Running::start(scene.kennel(&["run", "--pen", "auto", "--", &agent, "env-i"]));
    running.wait_ready();
    assert_eq!(scene.pens(), Vec::<std::path::PathBuf>::new());
    running.signal("TERM");
    assert_eq!(running.wait().code, 143);
    scene.assert_nothing_left();

    if scene.has_cgroup() {
        let refused = scene.kennel(&["run", "--pen", "cgroup", "--", &agent, "exit", "0"]);
        let refused = Running::start(refused).wait();
        assert_eq!(refused.code, 203);
        assert!(refused.stderr.contains("this host supports no cgroup pen"), "{}", refused.stderr);
        assert!(refused.stderr.contains("kennel doctor"), "{}", refused.stderr);
    }
}

/// T10: an unprivileged keeper can't signal a set-uid child of another user. Kennel names it and
/// keeps it on record until it is gone.
#[test]
fn a_child_of_another_user_is_named_in_a_subtree_pen_and_ended_in_a_cgroup_pen() {
    use std::os::unix::fs::PermissionsExt;
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Other, pen) else {
            continue;
        };
        let setuid = scene.path("setuid-agent");
        std::fs::copy(scene.fake_agent(), &setuid).expect("copied");
        std::fs::set_permissions(&setuid, std::fs::Permissions::from_mode(0o4755)).expect("chmod");
        let path = setuid.to_str().expect("a plain path");
        let errors = scene.path("errors");
        let mut running =
            start_with_errors_in(&scene, &errors, &["fork-exec-other", path, "setuid-sleep"]);
        running.wait_ready();
        let child = || scene.processes().into_iter().find(|p| p.command.starts_with(path));
        // All four ids: until the last is root's, its old user may still signal it.
        let is_roots = |pid: i32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.lines().any(|line| line == "Uid:\t0\t0\t0\t0")
        };
        eventually("it is root's", || child().is_some_and(|process| is_roots(process.pid)));
        let child = child().expect("just seen").pid;
        running.signal("TERM");
        let code = running.wait_without_output();
        let message = std::fs::read_to_string(&errors).expect("readable stderr");
        if pen == Pen::Cgroup {
            assert_eq!(code, 143, "{message}");
            scene.assert_nothing_left();
            continue;
        }
        assert_eq!(code, 205, "{message}");
        assert!(message.contains(&format!("pid {child} ")), "{message}");
        assert!(message.contains("not permitted: it runs as user 0"), "{message}");
        assert!(scene.keeper().is_some(), "it is still owned");
        signal(child, "KILL");
        scene.assert_nothing_left_soon();
    }
}

/// T6: a process in uninterruptible sleep, here in a frozen v1 freezer group.
#[test]
fn a_frozen_process_is_reported_as_alive_and_reaped_once_thawed() {
    let freezer = std::path::Path::new("/sys/fs/cgroup/freezer");
    if !freezer.join("tasks").exists() {
        return kennel_testing::skip("a frozen process", "no v1 freezer hierarchy here");
    }
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Root, pen) else {
            continue;
        };
        let name = scene.cgroup().file_name().expect("a name").to_owned();
        let group = FreezerGroup::new(freezer.join(name));
        let errors = scene.path("errors");
        let mut running = start_with_errors_in(&scene, &errors, &["setsid", "1"]);
        running.wait_ready();
        let frozen = scene.pid_of("leaf");
        group.freeze(frozen);
        running.signal("TERM");
        let code = running.wait_without_output();
        let message = std::fs::read_to_string(&errors).expect("readable stderr");
        assert_eq!(code, 205, "{message}");
        assert!(message.contains(&format!("pid {frozen} ")), "{message}");
        assert!(message.contains("uninterruptible"), "{message}");
        assert!(scene.keeper().is_some(), "it is still owned");
        group.thaw();
        scene.assert_nothing_left_soon();
    }
}

struct FreezerGroup(std::path::PathBuf);

impl FreezerGroup {
    fn new(path: std::path::PathBuf) -> Self {
        std::fs::create_dir(&path).expect("a freezer group");
        Self(path)
    }

    fn set(&self, state: &str) {
        std::fs::write(self.0.join("freezer.state"), state).expect("set");
        eventually("the freezer has settled", || {
            std::fs::read_to_string(self.0.join("freezer.state"))
                .is_ok_and(|now| now.trim() == state)
        });
    }

    fn freeze(&self, pid: i32) {
        std::fs::write(self.0.join("tasks"), pid.to_string()).expect("moved");
        self.set("FROZEN");
    }

    fn thaw(&self) {
        self.set("THAWED");
    }
}

impl Drop for FreezerGroup {
    fn drop(&mut self) {
        std::fs::write(self.0.join("freezer.state"), "THAWED").ok();
        eventually("the freezer group is removed", || {
            std::fs::remove_dir(&self.0).is_ok() || !self.0.exists()
        });
    }
}
