//! Never the wrong process: reused pids, same names, other homes, other boots.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use kennel_testing::{
    Ended, Pen, Running, Scene, Who, alive, eventually, everywhere, signal, skip,
};
use serde_json::Value;

use crate::supervisor_death::kill_all;

everywhere! {
    /// I2: the user's own agent with the same folder and command line.
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
        assert!(alive(own.pid()), "the user's own agent was ended");
        own.signal("KILL");
        let _killed = own.wait();
        scene.assert_nothing_left_soon();
    }

    /// I6: two homes do not affect each other.
    fn a_second_home_is_left_alone(scene: Scene) {
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

    /// I6: a copy of the home is used while the original lives.
    fn a_copied_home_adopts_and_ends_nothing_of_the_original(scene: Scene) {
        let id = scene.launch_ready(&["--name", "x"], &["env-i"]);
        let gone = scene.launch(&["--name", "gone"], &["exit", "3"]);
        assert_eq!(scene.call(&["wait", &gone]).code, 3);
        let mut copy = scene.command(Path::new("cp"));
        // Sockets can't be copied and are not needed.
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
fn lookalikes_are_left_alone() {
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
    fs::remove_dir(foreign).expect("it is empty");
    scene.stop_daemon();
}

/// Kills all of Kennel's processes and the agent, lets others take the pids of agent and keeper,
/// and tries everything that ends a process. Runs in its own pid namespace, where no other process
/// takes pids.
const PIDS_ARE_REUSED: &str = r#"
    $KENNEL run -d --pen $PEN --name x -- $AGENT sleep
    until [ -s $FAKE_AGENT_PIDS ]; do sleep 0.01; done
    agent=$(cut -d' ' -f1 $FAKE_AGENT_PIDS)
    keeper=$(sed -n 's/^keeper //p' $KENNEL_HOME/sessions/*/lock)
    yard=$(cat $KENNEL_HOME/yard.lock)
    daemon=$($KENNEL daemon status --json | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p')
    kill -STOP $yard $daemon $keeper
    kill -KILL $yard $daemon $keeper $agent
    # A shell that waits for one child also reaps the others.
    while [ -d /proc/$agent ] || [ -d /proc/$keeper ]; do /bin/true; done
    for number in $agent $keeper; do
        echo $((number - 1)) >/proc/sys/kernel/ns_last_pid
        sleep 300 &
        [ $! = $number ] || { echo another number: $!; exit; }
    done
    $KENNEL ps -a
    $KENNEL stop x
    $KENNEL strays --end
    $KENNEL rescue --end
    $KENNEL forget x
    $KENNEL rm --force x
    $KENNEL prune
    $KENNEL daemon stop
    for number in $agent $keeper; do
        grep -q sleep /proc/$number/comm && echo $number survived
    done
"#;

/// I1
#[test]
fn a_reused_recorded_pid_is_not_touched() {
    for pen in [Pen::Subtree, Pen::Cgroup] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let ended = in_container(&scene, PIDS_ARE_REUSED);
        if ended.stdout.contains("another number") {
            return skip("a reused pid", "can't create a process with a given pid here");
        }
        assert_eq!(ended.stdout.matches("survived").count(), 2, "{ended:?}\n{}", scene.logs());
        eventually("the container is gone", || scene.all_processes().is_empty());
    }
}

/// Runs a script as the first process of a new pid namespace.
pub(crate) fn in_container(scene: &Scene, script: &str) -> Ended {
    let mut command = scene.command(Path::new("unshare"));
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-uc", script]);
    command.env("KENNEL_HOME", scene.kennel_home()).env("KENNEL", scene.path("kennel"));
    command.env("AGENT", scene.fake_agent()).env("PEN", scene.pen_name());
    Running::start(command).wait()
}

/// I5: the records name another boot.
#[test]
fn sessions_ended_by_a_reboot_are_reported_and_not_repeated() {
    for pen in [Pen::Subtree, Pen::Cgroup] {
        let Some(scene) = Scene::new(Who::Root, pen) else { return };
        let log = scene.path("work/log");
        let (lock, log) = (scene.path("work/lock"), log.to_str().expect("a plain path"));
        let id = scene.launch_ready(&[], &["work", lock.to_str().expect("plain"), log]);
        kill_all(&scene);
        scene.kill_all_processes();
        for pen in scene.pens() {
            fs::remove_dir(pen).expect("it is empty");
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

/// I5: a restarted container has the same boot but another pid namespace.
#[test]
fn sessions_ended_by_a_container_restart_are_reported() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let first = in_container(
        &scene,
        "$KENNEL run -d --pen subtree --name x -- $AGENT env-i && $KENNEL ps --json",
    );
    assert_eq!(first.code, 0, "{first:?}");
    eventually("the container is gone", || scene.all_processes().is_empty());
    let second = in_container(&scene, "$KENNEL ps -a --json; $KENNEL daemon stop >&2");
    assert_eq!(second.code, 0, "{second:?}");
    let sessions: Vec<Value> = serde_json::from_str(&second.stdout).expect("JSON");
    assert_eq!(sessions.len(), 1, "{second:?}");
    assert_eq!(sessions[0]["phase"], "cleaned", "{second:?}");
    assert_eq!(sessions[0]["reason"]["kind"], "rebooted", "{second:?}");
    eventually("no process is left", || scene.all_processes().is_empty());
}
