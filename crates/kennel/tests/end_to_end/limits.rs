//! Resource limits where the kernel's controllers are available: for root, and for a user with a
//! delegated cgroup.

use std::fs;
use std::path::PathBuf;

use kennel_testing::{Ended, Pen, Running, Scene, Who, eventually, signal, skip};

/// A shell that fills its memory without limit.
const GLUTTON: &str = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done";

fn scene(who: Who) -> Option<Scene> {
    let scene = Scene::new(who, Pen::Cgroup)?;
    let list = fs::read_to_string(scene.cgroup().join("cgroup.controllers")).expect("controllers");
    let has = |name: &str| list.split_ascii_whitespace().any(|word| word == name);
    if !["memory", "pids", "cpu"].into_iter().all(has) {
        skip("limits of sessions", &format!("the controllers here are: {}", list.trim()));
        return None;
    }
    start_daemon(&scene);
    Some(scene)
}

/// Starts a daemon. On an emulated machine that may take longer than a client waits.
fn start_daemon(scene: &Scene) {
    eventually("a daemon is up", || scene.call(&["daemon", "start"]).code == 0);
}

macro_rules! as_root_and_as_a_user {
    ($($(#[$meta:meta])* fn $name:ident($scene:ident: Scene) $body:block)+) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            fn scenario($scene: Scene) $body

            #[test]
            fn as_root() {
                scene(Who::Root).map(scenario);
            }

            #[test]
            fn as_a_user() {
                scene(Who::Other).map(scenario);
            }
        }
    )+};
}

fn run(scene: &Scene, flags: &[&str], script: &str) -> Ended {
    Running::start(scene.run_command(flags, &["/bin/sh", "-c", script])).wait()
}

/// A file of the only pen.
fn of_the_pen(scene: &Scene, file: &str) -> String {
    let pens = scene.pens();
    let [pen] = &pens[..] else { panic!("not one pen: {pens:?}") };
    fs::read_to_string(pen.join(file)).expect(file).trim().to_owned()
}

as_root_and_as_a_user! {
    /// E4
    fn an_oom_kill_is_reported(scene: Scene) {
        let flags = ["--memory", "32M", "--name", "glutton"];
        let ended = run(&scene, &flags, GLUTTON);
        assert_eq!(ended.code, 137, "{ended:?}");
        let exit = &scene.session("glutton")["exit"];
        assert_eq!((&exit["signal"], &exit["oom"]), (&9.into(), &true.into()), "{exit}");
        let list = scene.call_ok(&["ps", "-a"]);
        assert!(list.contains("137 (out of memory)"), "{list}");
        scene.assert_nothing_left();
        // A tool that uses too much memory dies alone, and its agent continues.
        let ended = run(&scene, &["--memory", "32M"], &format!("sh -c '{GLUTTON}'; exit 7"));
        assert_eq!(ended.code, 7, "{ended:?}");
        // The limit of one launch must not apply to the next, which may have the same keeper.
        let ended = run(&scene, &[], "cat /sys/fs/cgroup$(cut -d: -f3- /proc/self/cgroup)/memory.max");
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "max\n"), "{ended:?}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    fn limits_hold_in_the_pen(scene: Scene) {
        let flags = ["--memory", "64M", "--pids", "8", "--cpu", "0.1", "--name", "limited"];
        let id = scene.launch_ready(&flags, &["sleep"]);
        assert_eq!(of_the_pen(&scene, "memory.max"), (64 << 20).to_string());
        assert_eq!(of_the_pen(&scene, "pids.max"), "8");
        assert_eq!(of_the_pen(&scene, "cpu.max"), "10000 100000");
        scene.call_ok(&["stop", &id]);
        let ended = run(&scene, &["--pids", "8"], "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait");
        assert_ne!(ended.code, 0, "{ended:?}");
        assert!(ended.stderr.contains("fork"), "{ended:?}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }

    fn kennels_own_processes_stay_in_their_own_leaf(scene: Scene) {
        let id = scene.launch_ready(&["--pids", "50"], &["sleep"]);
        let inside = || fs::read_to_string(scene.cgroup().join("cgroup.procs")).expect("read");
        assert_eq!(inside(), "", "no process is above the pens");
        // A later daemon moves to the leaf too.
        let daemon = scene.daemon().expect("a daemon");
        signal(daemon, "KILL");
        eventually("there is another daemon", || scene.daemon().is_some_and(|it| it != daemon));
        let other = scene.launch_ready(&["--memory", "1G"], &["sleep"]);
        assert_eq!(scene.pens().len(), 2);
        assert_eq!(inside(), "");
        scene.call_ok(&["stop", &id, &other]);
        scene.assert_nothing_left();
        scene.stop_daemon();
        // So does one that starts when all others have ended.
        start_daemon(&scene);
        let id = scene.launch_ready(&["--cpu", "0.5"], &["sleep"]);
        assert_eq!(of_the_pen(&scene, "cpu.max"), "50000 100000");
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }

    fn with_foreign_processes_a_limit_is_refused_or_dropped(scene: Scene) {
        // A shell that was started in Kennel's cgroup.
        let mut other = scene.command(&PathBuf::from("/bin/sh"));
        let mut other = Running::start({ other.args(["-c", "echo there; exec sleep 1000"]); other });
        other.wait_line("there");
        let ended = run(&scene, &["--memory", "1G"], "exit 3");
        assert_eq!(ended.code, 203, "{ended:?}");
        assert!(ended.stderr.contains("can't limit memory"), "{ended:?}");
        assert!(ended.stderr.contains("is also in this cgroup"), "{ended:?}");
        let ended = run(&scene, &["--memory", "1G", "--best-effort"], "exit 3");
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(!scene.cgroup().join("kennel-supervisor").exists(), "no process was moved");
        drop(other);
        let ended = run(&scene, &["--memory", "1G"], "exit 3");
        assert_eq!(ended.code, 3, "{ended:?}");
        scene.stop_daemon();
    }
}
