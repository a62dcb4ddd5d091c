//! The end of everything: bounded, awaited, and told one by one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal, skip};

use crate::births::scene_with_points;
use crate::walk::Part;

const PATIENCE: Duration = Duration::from_secs(20);

everywhere! {
    /// T2: by `stop --all` and by `daemon stop`.
    fn many_that_ignore_term_end_within_about_one_grace(scene: Scene) {
        for by_daemon in [false, true] {
            let flags = ["--grace", "1s"];
            let ids: Vec<_> =
                (0..6).map(|_| scene.launch_ready(&flags, &["ignore-term", "1"])).collect();
            let begun = Instant::now();
            let args: &[&str] = if by_daemon { &["daemon", "stop"] } else { &["stop", "--all"] };
            let said = scene.call_ok(args);
            let took = begun.elapsed();
            assert!(took >= Duration::from_secs(1), "the grace was given: {took:?}");
            assert!(took < Duration::from_secs(5), "one grace for each: {took:?}");
            for id in &ids {
                assert!(said.contains(id.as_str()), "{id} in {said}");
            }
            assert_eq!(said.matches("stopped in").count(), ids.len(), "{said}");
            scene.assert_nothing_left();
        }
        eventually("yard and daemon have left", || scene.all_processes().is_empty());
    }

    /// T4
    fn a_session_settles_though_a_descendant_holds_its_stdout_open(scene: Scene) {
        let id = scene.launch(&["--linger", "100ms"], &["hold-stdout"]);
        assert_eq!(scene.call(&["wait", &id]).code, 0);
        assert_eq!(scene.output(&id), "ready\n");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// The yard passes a TERM on: a service manager need not know who is who.
    fn a_term_to_yard_or_daemon_ends_everything(scene: Scene) {
        for to_yard in [false, true] {
            let id = scene.launch_ready(&["--grace", "5s"], &["env-i"]);
            let pid = if to_yard { scene.yard() } else { scene.daemon() };
            signal(pid.expect("it runs"), "TERM");
            eventually("nobody is left", || scene.all_processes().is_empty());
            let session = scene.session(&id);
            assert_eq!(session["phase"], "cleaned", "{session:#}");
            assert_eq!(session["reason"]["kind"], "shutdown", "{session:#}");
            assert_eq!(session["exit"]["signal"], 15, "{session:#}");
        }
        scene.stop_daemon();
    }

    fn a_daemon_that_leaves_its_sessions_finds_them_again(scene: Scene) {
        let id = scene.launch_ready(&[], &["env-i"]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        assert_eq!(scene.daemon(), None);
        assert_eq!(scene.call(&["daemon", "status"]).code, 1);
        assert!(scene.yard().is_some(), "somebody must catch what falls");
        assert!(kennel_testing::alive(scene.pid_of("agent")));
        assert_eq!(scene.session(&id)["phase"], "running");
        scene.call_ok(&["stop", &id]);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// B9
#[test]
fn a_launch_under_way_is_ended_by_a_shutdown_and_nothing_new_is_taken() {
    let Some((scene, faults)) = scene_with_points(Who::Root, Pen::Cgroup) else { return };
    let bystander = Part::new("bystander", false);
    bystander.launch(&scene);
    faults.arm("keeper.go");
    let run = Part::new("subject", false).start(&scene);
    faults.wait_reached("keeper.go", PATIENCE).expect("the launch is held");
    let stop = Running::start(scene.kennel(&["daemon", "stop"]));
    eventually("the bystander is being ended", || {
        scene.session("bystander")["wanted"] == "stopped"
    });
    let refused = Part::new("late", false).start(&scene).wait();
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains("being stopped"), "{refused:?}");
    faults.disarm("keeper.go");
    let stop = stop.wait();
    assert_eq!(stop.code, 0, "{stop:?}");
    assert_ne!(run.wait().code, 0);
    eventually("nobody is left", || scene.all_processes().is_empty());
    for name in ["bystander", "subject"] {
        assert_eq!(scene.session(name)["phase"], "cleaned");
    }
    scene.stop_daemon();
}

/// S8: a keeper that does not answer, and one that nobody can end.
#[test]
fn a_shutdown_is_bounded_when_a_keeper_does_not_answer() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    let id = scene.launch_ready(&["--grace", "200ms"], &["env-i"]);
    let keeper = scene.keeper().expect("a keeper");
    signal(keeper, "STOP");
    // Whoever tells it to go on is too late each time.
    let mut stop = Running::start(scene.kennel(&["daemon", "stop"]));
    eventually("the shutdown is over", || {
        stop_again(keeper);
        stop.has_ended()
    });
    let stop = stop.wait();
    assert_eq!(stop.code, 0, "{stop:?}");
    eventually("nobody is left", || scene.all_processes().is_empty());
    assert_eq!(scene.session(&id)["phase"], "cleaned");
    scene.stop_daemon();
}

/// Stops a process that somebody may have woken; it may be gone.
pub(crate) fn stop_again(pid: i32) {
    let running = |p: kennel_testing::Process| !matches!(p.state, 'T' | 'Z' | 'X');
    if kennel_testing::Process::look(pid).is_some_and(running) {
        std::process::Command::new("kill").args(["-STOP", &pid.to_string()]).output().ok();
    }
}

/// T6
#[test]
fn a_frozen_process_is_named_owned_and_reaped_once_thawed() {
    for by_daemon in [false, true] {
        for pen in [Pen::Cgroup, Pen::Subtree] {
            let Some(scene) = Scene::new(Who::Root, pen) else { return };
            let Some(group) = FreezerGroup::new(&scene) else { return };
            let id = scene.launch_ready(&["--grace", "100ms"], &["setsid", "1"]);
            let frozen = scene.pid_of("leaf");
            group.freeze(frozen);
            let args: &[&str] = if by_daemon { &["daemon", "stop"] } else { &["stop", &id] };
            let stop = scene.call(args);
            assert_eq!(stop.code, 205, "{stop:?}");
            assert!(stop.stdout.contains("still alive"), "{stop:?}");
            assert!(stop.stdout.contains(&frozen.to_string()), "{stop:?}");
            assert!(stop.stdout.contains("uninterruptible"), "{stop:?}");
            assert!(scene.keeper().is_some(), "it is still owned");
            if !by_daemon {
                let session = scene.session(&id);
                assert_eq!(session["phase"], "stopping", "{session:#}");
                assert_eq!(session["survivors"][0]["pid"], frozen, "{session:#}");
            }
            group.thaw();
            let session = scene.wait_phase(&id, "cleaned");
            assert_eq!(session["survivors"], serde_json::json!([]), "{session:#}");
            scene.assert_nothing_left_soon();
            scene.stop_daemon();
        }
    }
}

/// A group of the freezer of cgroup v1, whose members the kernel holds against any signal.
struct FreezerGroup(PathBuf);

impl FreezerGroup {
    fn new(scene: &Scene) -> Option<Self> {
        let freezer = Path::new("/sys/fs/cgroup/freezer");
        if !freezer.join("tasks").exists() {
            skip("a frozen process", "no v1 freezer hierarchy here");
            return None;
        }
        let path = freezer.join(scene.cgroup().file_name().expect("a name"));
        std::fs::create_dir(&path).expect("a freezer group");
        Some(Self(path))
    }

    fn set(&self, state: &str) {
        let file = self.0.join("freezer.state");
        std::fs::write(&file, state).expect("set");
        eventually("the freezer has settled", || {
            std::fs::read_to_string(&file).is_ok_and(|now| now.trim() == state)
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
