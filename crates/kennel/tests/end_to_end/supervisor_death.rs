//! The death of supervisors: which sessions are kept, adopted, ended or lost.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use kennel_testing::{Pen, Process, Running, Scene, Who, alive, eventually, everywhere, signal};

use crate::crash_case::{Part, Victims};
use crate::freezer::FreezerGroup;
use crate::journal::Journal;
use crate::launch_and_cancel::{assert_cleaned, scene_with_points};

/// Kills yard, daemon and keeper at the same moment.
pub(crate) fn kill_all(scene: &Scene) {
    let victims = Victims { daemon: true, keeper: true, yard: true };
    let keeper = scene.keeper();
    victims.kill(scene, keeper);
    eventually("they are dead", || {
        [scene.yard(), scene.daemon(), scene.keeper()].iter().all(Option::is_none)
    });
}

fn journal(scene: &Scene, id: &str) -> Journal {
    Journal::read(&scene.session_folder(id))
}

/// The yard runs the new program, too, which does not know what the old one was about to end.
#[test]
fn orphans_are_ended_even_if_the_yard_is_replaced_meanwhile() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch_ready(&["--linger", "1h"], &["ignore-term-exit"]);
    faults.arm("yard.reaped");
    signal(scene.keeper().expect("a keeper"), "KILL");
    faults.wait_reached("yard.reaped", Duration::from_secs(20)).expect("the yard is held");
    let restart = Running::start(scene.kennel(&["daemon", "restart"]));
    eventually("the former daemon has exited", || scene.daemon().is_none());
    faults.disarm("yard.reaped");
    assert_eq!(restart.wait().code, 0);
    let session = scene.wait_phase(&id, "cleaned");
    assert_eq!(scene.processes(), [], "{session:#}");
    scene.stop_daemon();
}

everywhere! {
    /// S3
    fn an_end_without_a_daemon_is_reported_by_the_next_one(scene: Scene) {
        let script = "while [ ! -e go ]; do sleep 0.01; done; echo last words; exit 9";
        let id = scene.launch_command(&[], &["/bin/sh", "-c", script]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        fs::write(scene.path("work/go"), "").expect("a file");
        eventually("its keeper has exited", || scene.keeper().is_none());
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["exit"]["code"], 9, "{session:#}");
        assert_eq!(session["reason"]["kind"], "exited", "{session:#}");
        assert_eq!(scene.output(&id), "last words\n");
        assert_eq!(scene.call(&["wait", &id]).code, 9);
        scene.stop_daemon();
    }

    /// S4
    fn a_new_daemon_notices_a_killed_keeper(scene: Scene) {
        let id = scene.launch_ready(&[], &["env-i"]);
        let former = scene.daemon().expect("a daemon");
        signal(former, "KILL");
        assert_eq!(scene.session(&id)["phase"], "running");
        assert_ne!(scene.daemon(), Some(former));
        signal(scene.keeper().expect("a keeper"), "KILL");
        // No client asks: the daemon notices by itself.
        scene.assert_nothing_left_soon();
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "keeper_died", "{session:#}");
        // A new kernel reports the status to every holder of a pidfd.
        let kinds = ["signal", "unknown"].map(serde_json::Value::from);
        assert!(kinds.contains(&session["exit"]["kind"]), "{session:#}");
        let logs = scene.call(&["logs", &id]);
        assert_eq!((logs.code, logs.stdout.as_str()), (0, "ready\n"), "{logs:?}");
        assert!(logs.stderr.contains("the keeper was killed"), "{logs:?}");
        assert_cleaned(&scene, &id);
        scene.stop_daemon();
    }

    /// S5, S12: it is not repeated.
    fn keeper_and_daemon_are_killed_and_the_tree_is_ended(scene: Scene) {
        let paths = [scene.path("work/lock"), scene.path("work/log")];
        let [lock, log] = paths.each_ref().map(|path| path.to_str().expect("a plain path"));
        let id = scene.launch_ready(&[], &["work", lock, log]);
        let both = Victims { daemon: true, keeper: true, yard: false };
        both.kill(&scene, scene.keeper());
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "keeper_died", "{session:#}");
        assert_eq!(session["exit"]["kind"], "unknown", "it may have run: {session:#}");
        assert_eq!(scene.call(&["wait", &id]).code, 206);
        scene.assert_nothing_left_soon();
        let log = fs::read_to_string(log).expect("the agent's log");
        assert_eq!(log.lines().count(), 1, "{log}");
        scene.stop_daemon();
    }

    /// S6
    fn a_session_ends_when_its_lease_runs_out(scene: Scene) {
        let id = scene.launch_ready(&["--lease", "500ms", "--grace", "1s"], &["env-i"]);
        let stays = scene.launch_ready(&["--lease", "off"], &["sleep"]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        eventually("its keeper has ended it", || scene.keepers().len() == 1);
        assert!(scene.session_folder(&id).join("lock").exists(), "the cleanup stays owed");
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "lease_over", "{session:#}");
        assert_eq!(session["exit"]["signal"], 15, "{session:#}");
        assert_cleaned(&scene, &id);
        assert_eq!(scene.session(&stays)["phase"], "running");
        scene.call_ok(&["stop", "--all"]);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    /// S9: no client asks, and no lease expires.
    fn the_yard_starts_a_crashed_daemon_again(scene: Scene) {
        let id = scene.launch_ready(&["--lease", "5s"], &["env-i"]);
        let agent = scene.pid_of("agent");
        for _ in 0..4 {
            let former = scene.daemon().expect("a daemon");
            signal(former, "KILL");
            eventually("another daemon runs", || {
                scene.daemon().is_some_and(|pid| pid != former)
            });
        }
        let log = scene.logs();
        for pause in ["100ms", "200ms", "400ms", "800ms"] {
            assert!(log.contains(&format!("restarting it in {pause}")), "{log}");
        }
        assert!(alive(agent));
        assert_eq!(scene.session(&id)["phase"], "running");
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }

    /// S11: a suspended keeper is continued and ends the session properly.
    fn a_stop_continues_a_suspended_keeper(scene: Scene) {
        let id = scene.launch_ready(&[], &["env-i"]);
        signal(scene.keeper().expect("a keeper"), "STOP");
        scene.call_ok(&["stop", &id]);
        let session = scene.session(&id);
        assert_eq!(session["exit"]["signal"], 15, "{session:#}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// S11: a keeper that hangs, for example on its disk.
#[test]
fn a_stop_does_not_wait_for_a_keeper_that_hangs() {
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let Some(group) = FreezerGroup::new(&scene) else { return };
        let id = scene.launch_ready(&["--grace", "200ms"], &["env-i"]);
        let keeper = scene.keeper().expect("a keeper");
        group.freeze(keeper);
        assert_eq!(scene.session(&id)["phase"], "running", "no stop was requested");
        let stop = scene.call(&["stop", &id]);
        // They were killed and need a moment to die.
        for (pid, _) in scene.pids() {
            eventually("the pen is ended without its keeper", || !alive(pid));
        }
        assert_eq!(stop.code, 205, "{stop:?}");
        assert!(stop.stdout.contains(&keeper.to_string()), "{stop:?}");
        group.thaw();
        scene.wait_phase(&id, "cleaned");
        scene.assert_nothing_left_soon();
        scene.stop_daemon();
    }
}

/// S2: a planned restart with a program at another path, during a launch.
#[test]
fn a_newer_program_takes_over_everything() {
    let Some((scene, faults)) = scene_with_points(Who::Root, Pen::Cgroup) else { return };
    let parts = ["one", "two", "three"].map(|name| Part::new(name, false));
    let ids = parts.each_ref().map(|part| part.launch(&scene));
    fs::create_dir(scene.path("newer")).expect("mkdir");
    let newer = scene.path("newer/kennel");
    fs::copy(scene.path("kennel"), &newer).expect("copied");

    faults.arm("keeper.go");
    let starting = Part::new("starting", false).start(&scene);
    faults.wait_reached("keeper.go", Duration::from_secs(20)).expect("the launch is held");
    let (yard, daemon) = (scene.yard(), scene.daemon());
    let mut restart = scene.command(&newer);
    restart.args(["daemon", "restart"]).env("KENNEL_HOME", scene.kennel_home());
    let restart = Running::start(restart);
    let leaving = || scene.call_ok(&["events"]).contains("daemon_leaving");
    eventually("the daemon is about to exit", leaving);
    faults.disarm("keeper.go");
    let restart = restart.wait();
    assert_eq!(restart.code, 0, "{restart:?}");
    let starting = starting.wait();
    assert_eq!(starting.code, 0, "its grant was waited for: {starting:?}\n{}", scene.logs());

    assert_eq!(scene.yard(), yard, "the same process");
    assert_ne!(scene.daemon(), daemon);
    let program = |pid: Option<i32>| {
        fs::read_link(format!("/proc/{}/exe", pid.expect("it runs"))).expect("its program")
    };
    assert_eq!(program(scene.yard()), newer);
    assert_eq!(program(scene.daemon()), newer);
    for name in ["one", "two", "three", "starting"] {
        assert_eq!(scene.session(name)["phase"], "running", "{name}");
    }
    let before = ids.each_ref().map(|id| journal(&scene, id).numbers().len());
    for (id, before) in ids.iter().zip(before) {
        eventually("output continues", || journal(&scene, id).numbers().len() > before);
    }
    // New keepers are forked from the new program.
    Part::new("new", false).launch(&scene);
    scene.call_ok(&["stop", "--all"]);
    for id in &ids {
        let journal = journal(&scene, id);
        journal.assert_in_order();
        assert_eq!(journal.gaps, []);
    }
    scene.stop_daemon();
}

/// S7: a failed check proves nothing.
#[test]
fn a_session_that_cannot_be_examined_is_neither_dropped_nor_ended() {
    // Root may examine everything.
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Other, pen) else { continue };
        let id = scene.launch_ready(&[], &["env-i"]);
        let agent = scene.pid_of("agent");
        let folder = scene.session_folder(&id);
        set_mode(&folder, 0o000);
        signal(scene.daemon().expect("a daemon"), "KILL");
        let session = scene.session(&id);
        assert_ne!(session["phase"], "cleaned", "{session:#}");
        assert_eq!(session["wanted"], "running", "{session:#}");
        assert_eq!(scene.call_ok(&["strays", "--end"]), "no strays\n");
        assert!(alive(agent) && scene.keeper().is_some());
        set_mode(&folder, 0o700);
        eventually("it is adopted after all", || {
            let timeline = scene.call_ok(&["events", "--session", &id]);
            timeline.contains("adopted")
        });
        assert_eq!(scene.session(&id)["phase"], "running");
        scene.call_ok(&["stop", &id]);
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

fn set_mode(path: &PathBuf, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// S14: no process is left that could observe it.
#[test]
fn an_unobservable_session_is_lost_until_it_is_forgotten() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else { continue };
        let id = scene.launch_ready(&[], &["env-i"]);
        let unseen = scene.pid_of("daemon");
        kill_all(&scene);
        let session = scene.wait_phase(&id, "lost");
        assert!(session["exit"].is_null(), "{session:#}");
        assert!(!alive(scene.pid_of("agent")), "the recorded process is ended");
        assert!(alive(unseen), "it carries no mark");
        let stop = scene.call(&["stop", &id]);
        assert_eq!(stop.code, 205, "{stop:?}");
        assert_eq!(scene.call(&["rm", &id]).code, 1, "it is still owned");
        scene.call_ok(&["prune"]);
        assert_eq!(scene.session(&id)["phase"], "lost");
        scene.call_ok(&["daemon", "restart"]);
        assert_eq!(scene.session(&id)["phase"], "lost", "for the next daemon too");
        scene.call_ok(&["forget", &id]);
        let session = scene.session(&id);
        assert_eq!(session["phase"], "cleaned", "{session:#}");
        assert_eq!(session["reason"]["kind"], "forgotten", "{session:#}");
        assert_eq!(session["exit"]["kind"], "unknown", "{session:#}");
        let events = scene.call_ok(&["events", "--session", &id]);
        assert!(!events.contains("reaped"), "{events}");
        assert_eq!(scene.call(&["wait", &id]).code, 206);
        scene.call_ok(&["rm", &id]);
        signal(unseen, "KILL");
        scene.stop_daemon();
    }
}

/// In a cgroup pen it is still found.
#[test]
fn a_cgroup_is_found_after_all_of_kennel_was_killed() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Cgroup) else { continue };
        let id = scene.launch_ready(&[], &["env-i"]);
        kill_all(&scene);
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "keeper_died", "{session:#}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// T5, after all of Kennel was killed: `cgroup.kill` does not reach a process whose first thread
/// has ended, and which looks like a zombie.
#[test]
fn a_process_whose_first_thread_has_ended_is_ended_after_all_of_kennel_was_killed() {
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Root, pen) else { continue };
        let id = scene.launch_ready(&[], &["thread-leader-exit"]);
        let agent = scene.pid_of("agent");
        kill_all(&scene);
        let phase = if pen == Pen::Cgroup { "cleaned" } else { "lost" };
        scene.wait_phase(&id, phase);
        eventually("no thread of it is left", || {
            fs::read_dir(format!("/proc/{agent}/task")).map_or(0, Iterator::count) < 2
        });
        if pen == Pen::Subtree {
            scene.call_ok(&["forget", &id]);
        }
        scene.stop_daemon();
    }
}

/// A keeper that has outlived its yard is not reused: no yard would inherit its orphans, and the
/// new yard would report that none is left.
#[test]
fn a_keeper_that_has_outlived_its_yard_gets_no_further_launch() {
    for who in [Who::Root, Who::Other] {
        let Some(scene) = Scene::new(who, Pen::Subtree) else { continue };
        let first = scene.launch_ready(&[], &["sleep"]);
        let keeper = scene.keeper().expect("a keeper");
        let yard = scene.yard().expect("a yard");
        signal(yard, "KILL");
        eventually("there is another yard", || scene.yard().is_some_and(|pid| pid != yard));
        assert_eq!(scene.session(&first)["phase"], "running");
        scene.call_ok(&["stop", &first]);
        let second = scene.launch_ready(&[], &["env-i"]);
        let next = scene.keeper().expect("a keeper");
        assert_ne!(next, keeper, "the keeper was reused");
        let parent = Process::look(next).map(|process| process.parent);
        assert_eq!(parent, scene.yard(), "its keeper is the yard's child");
        signal(next, "KILL");
        scene.wait_phase(&second, "cleaned");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}
