//! Never the wrong process: numbers that became another's, namesakes, other homes, other boots.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kennel_testing::{
    Pen, Process, Running, Scene, Who, alive, eventually, everywhere, signal, skip,
};
use serde_json::Value;

use crate::deaths::kill_all;

everywhere! {
    /// I2: the user's own agent, in the same folder, with the same command line.
    fn a_namesake_outside_survives_everything(scene: Scene) {
        let agent = scene.fake_agent();
        let mut own = scene.command(Path::new(&agent));
        own.arg("sleep").stdout(Stdio::piped());
        let mut own = Running::start(own);
        own.wait_ready();
        let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
        scene.call_ok(&["stop", &id]);
        let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
        signal(scene.keeper().expect("a keeper"), "KILL");
        scene.wait_phase(&id, "cleaned");
        scene.call_ok(&["strays", "--end"]);
        scene.call_ok(&["rescue", "--end"]);
        scene.call_ok(&["daemon", "stop"]);
        assert!(alive(own.pid()), "the user's own agent was hit");
        own.signal("KILL");
        let _killed = own.wait();
        scene.assert_nothing_left_soon();
    }

    /// I6: two homes see nothing of each other.
    fn a_second_home_is_none_of_ours(scene: Scene) {
        let id = scene.launch_ready(&["--name", "x"], &["env-i"]);
        let other = |args: &[&str]| {
            let mut command = scene.kennel(args);
            command.env("KENNEL_HOME", scene.path("home/other"));
            let ended = Running::start(command).wait();
            assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
            ended.stdout
        };
        assert_eq!(other(&["ps", "-a", "--json"]).trim(), "[]");
        assert_eq!(other(&["strays", "--end"]), "no strays\n");
        other(&["rescue", "--end"]);
        other(&["stop", "--all"]);
        other(&["daemon", "stop"]);
        assert_eq!(scene.session(&id)["phase"], "running");
        assert_eq!(scene.processes().len(), 3, "keeper, agent and its daemon");
        scene.call_ok(&["stop", "--all"]);
        scene.stop_daemon();
    }

    /// I6: a backup that somebody uses, while the original lives.
    fn a_copied_home_adopts_and_ends_nothing_of_the_original(scene: Scene) {
        let id = scene.launch_ready(&["--name", "x"], &["env-i"]);
        let gone = scene.launch(&["--name", "gone"], &["exit", "3"]);
        assert_eq!(scene.call(&["wait", &gone]).code, 3);
        let mut copy = scene.command(Path::new("cp"));
        // Sockets can't be copied, and need not be.
        copy.args(["-a"]).args([scene.kennel_home(), scene.path("home/copy")]);
        let _copied = Running::start(copy).wait();
        let call = |args: &[&str]| {
            let mut command = scene.kennel(args);
            command.env("KENNEL_HOME", scene.path("home/copy"));
            Running::start(command).wait()
        };
        let listed = call(&["ps", "-a", "--json"]);
        assert_eq!(listed.code, 0, "{listed:?}");
        let listed: Vec<Value> = serde_json::from_str(&listed.stdout).expect("JSON");
        let live = listed.iter().filter(|session| session["phase"] != "cleaned").count();
        assert_eq!(live, 0, "{listed:#?}");
        for args in [&["stop", "--all"][..], &["strays", "--end"], &["rescue", "--end"]] {
            let ended = call(args);
            assert_eq!(ended.code, 0, "{args:?}: {ended:?}");
        }
        assert_eq!(call(&["daemon", "stop"]).code, 0);
        assert_eq!(scene.session(&id)["phase"], "running");
        assert_eq!(scene.processes().len(), 3, "{:?}", scene.processes());
        scene.call_ok(&["stop", "--all"]);
        scene.stop_daemon();
    }
}

/// I6: processes and cgroups that only look like Kennel's.
#[test]
fn what_only_looks_like_ours_is_left_alone() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    scene.call_ok(&["daemon", "start"]);
    let mut lookalikes = Vec::new();
    for name in ["kennel-keeper", "kennel-yard", "kennel-daemon"] {
        let script = format!("exec -a {name} sleep 300");
        let mut bash = scene.command(Path::new("bash"));
        bash.args(["-c", &script]).env("KENNEL_HOME_ID", "0123456789abcdef");
        bash.env("KENNEL_SESSION_ID", "0c3k5d9wq2fa");
        lookalikes.push(Running::start(bash));
    }
    let foreign = scene.other_cgroup("kennel-0123456789abcdef-0c3k5d9wq2fa");
    fs::write(foreign.join("cgroup.procs"), lookalikes[0].pid().to_string()).expect("moved");
    signal(scene.daemon().expect("a daemon"), "KILL");
    assert_eq!(scene.call_ok(&["strays"]), "no strays\n");
    assert_eq!(scene.call_ok(&["strays", "--end"]), "no strays\n");
    scene.call_ok(&["rescue", "--end"]);
    for lookalike in &mut lookalikes {
        assert!(!lookalike.has_ended());
        lookalike.signal("KILL");
    }
    drop(lookalikes);
    fs::remove_dir(foreign).expect("nobody is in it");
    scene.stop_daemon();
}

/// A process with just this number, if the kernel lets us have one.
fn spawn_with_pid(pid: i32, scene: &Scene) -> Option<Child> {
    for _ in 0..2000 {
        // The next one is the next number. Others may be quicker.
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let mut sleep = Command::new("sleep");
        let mut child = sleep.arg("300").current_dir(scene.path("work")).spawn().expect("sleep");
        if child.id() == u32::try_from(pid).expect("a pid") {
            return Some(child);
        }
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    None
}

/// I1: the recorded numbers of agent and keeper are others' by now.
#[test]
fn a_recorded_number_that_became_anothers_is_not_touched() {
    for pen in [Pen::Subtree, Pen::Cgroup] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
        let (agent, keeper) = (scene.pid_of("agent"), scene.keeper().expect("a keeper"));
        kill_all(&scene);
        std::process::Command::new("kill").args(["-KILL", &agent.to_string()]).output().ok();
        eventually("both are gone", || [agent, keeper].iter().all(|p| Process::look(*p).is_none()));
        let strangers: Vec<_> =
            [agent, keeper].iter().filter_map(|pid| spawn_with_pid(*pid, &scene)).collect();
        if strangers.is_empty() {
            return skip("a reused pid", "no process with a given number can be had here");
        }
        scene.call_ok(&["ps", "-a"]);
        for args in [
            &["stop", &id][..],
            &["strays", "--end"],
            &["rescue", "--end"],
            &["forget", &id],
            &["rm", "--force", &id],
            &["prune"],
        ] {
            // Some are refused; what counts is what they don't do.
            let _answer = scene.call(args);
        }
        for mut stranger in strangers {
            assert!(stranger.try_wait().expect("our child").is_none(), "a stranger was hit");
            stranger.kill().expect("our child");
            stranger.wait().expect("our child");
        }
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// I5: another boot, as far as the records tell.
#[test]
fn what_a_reboot_ended_is_told_as_that_and_not_run_again() {
    for pen in [Pen::Subtree, Pen::Cgroup] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let log = scene.path("work/log");
        let (lock, log) = (scene.path("work/lock"), log.to_str().expect("a plain path"));
        let id = scene.launch_ready(&[], &["work", lock.to_str().expect("plain"), log]);
        kill_all(&scene);
        scene.end_everyone();
        for pen in scene.pens() {
            fs::remove_dir(pen).expect("nobody is in it");
        }
        for file in [scene.session_folder(&id).join("lock"), scene.kennel_home().join("boot")] {
            let text = fs::read_to_string(&file).expect("a record");
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
            assert!(text.contains(boot.trim()), "{text}");
            let other = "00000000-1111-2222-3333-444444444444";
            fs::write(&file, text.replace(boot.trim(), other)).expect("written");
        }
        let session = scene.wait_phase(&id, "cleaned");
        assert_eq!(session["reason"]["kind"], "rebooted", "{session:#}");
        assert_eq!(session["exit"]["kind"], "unknown", "{session:#}");
        let starts = fs::read_to_string(log).expect("the agent's log");
        assert_eq!(starts.matches("start").count(), 1, "{starts}");
        scene.assert_nothing_left();
        scene.stop_daemon();
    }
}

/// I5: a container that is started again: the same boot, another pid namespace.
#[test]
fn what_a_restart_of_the_container_ended_is_told_as_that() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let kennel = scene.path("kennel");
    let in_container = |script: &str| {
        let mut command = scene.command(Path::new("unshare"));
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-ec", script]);
        command.env("KENNEL_HOME", scene.kennel_home());
        command.env("KENNEL", &kennel).env("AGENT", scene.fake_agent());
        Running::start(command).wait()
    };
    let first =
        in_container("$KENNEL run -d --pen subtree --name x -- $AGENT env-i; $KENNEL ps --json");
    assert_eq!(first.code, 0, "{first:?}");
    eventually("the container is gone", || scene.all_processes().is_empty());
    let second = in_container("$KENNEL ps -a --json; $KENNEL daemon stop >&2");
    assert_eq!(second.code, 0, "{second:?}");
    let sessions: Vec<Value> = serde_json::from_str(&second.stdout).expect("JSON");
    assert_eq!(sessions.len(), 1, "{second:?}");
    assert_eq!(sessions[0]["phase"], "cleaned", "{second:?}");
    assert_eq!(sessions[0]["reason"]["kind"], "rebooted", "{second:?}");
    eventually("nobody is left", || scene.all_processes().is_empty());
}
