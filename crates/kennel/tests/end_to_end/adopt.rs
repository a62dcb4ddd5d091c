//! R4: a session that a user started in a terminal is listed as the user's own. Limits and shutdown
//! never end it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kennel_testing::{
    Ended, Pen, Running, Scene, Who, alive, eventually, everywhere, signal, skip,
};
use serde_json::Value;

use crate::config::configure;
use crate::crash_case::about_adoption;
use crate::launch_and_cancel::scene_with_points;

/// A running program that the scene's user started without Kennel.
fn own(scene: &Scene, behaviour: &[&str]) -> Running {
    let mut command = scene.command(Path::new(&scene.fake_agent()));
    command.args(behaviour).stdout(Stdio::piped());
    let mut own = Running::start(command);
    own.wait_ready();
    own
}

fn adopt(scene: &Scene, own: &Running, flags: &[&str]) -> String {
    let pid = own.pid().to_string();
    let printed = scene.call_ok(&[&["adopt"], flags, &[pid.as_str()]].concat());
    printed.trim_end().to_owned()
}

/// Ends a process that the test started.
fn end(own: Running) {
    own.signal("KILL");
    let _killed = own.wait();
}

fn refused(scene: &Scene, args: &[&str], why: &str) -> Ended {
    let ended = scene.call(args);
    assert_eq!(ended.code, 1, "{args:?}: {ended:?}");
    assert!(ended.stderr.contains(why), "{why}: {ended:?}");
    ended
}

fn kill_daemon(scene: &Scene) {
    signal(scene.daemon().expect("a daemon"), "KILL");
}

/// `kennel report ARGS…` with the token from its token file.
fn report(scene: &Scene, id: &str, args: &[&str]) -> Ended {
    let mut command = scene.kennel(&[&["report"], args].concat());
    command.env("KENNEL_SESSION", id);
    command.env("KENNEL_TOKEN_FILE", scene.session_folder(id).join("token"));
    Running::start(command).wait()
}

/// A name that looks like an id could end the wrong session.
#[test]
fn a_name_that_looks_like_an_id_is_refused() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    let own = own(&scene, &["sleep"]);
    let pid = own.pid().to_string();
    refused(&scene, &["adopt", "--name", &id[..6], &pid], &format!("the id {id} begins with it"));
    let like_an_id = scene.call(&["adopt", "--name", "0c3k5d9wq2fa", &pid]);
    assert_eq!(like_an_id.code, 201, "{like_an_id:?}");
    assert!(like_an_id.stderr.contains("looks like a session id"), "{like_an_id:?}");
    assert_eq!(scene.sessions().len(), 1, "the launched one");
    scene.call_ok(&["stop", &id]);
    end(own);
    scene.stop_daemon();
}

everywhere! {
    fn it_is_listed_and_its_end_is_noticed(scene: Scene) {
        let own = own(&scene, &["sleep"]);
        let id = adopt(&scene, &own, &["--name", "mine", "--title", "the login page"]);
        let session = scene.session("mine");
        assert_eq!(session["id"], Value::from(id.as_str()), "{session:#}");
        assert_eq!(session["started_by"], "terminal", "{session:#}");
        assert_eq!(session["phase"], "running", "{session:#}");
        assert_eq!(session["pid"], own.pid(), "{session:#}");
        assert_eq!(session["pen"], Value::Null, "{session:#}");
        assert_eq!(session["title"], "the login page", "{session:#}");
        let list = scene.call_ok(&["ps"]);
        assert!(list.contains("running (adopted)") && list.contains("sleep"), "{list}");
        let page = scene.call_ok(&["inspect", "mine"]);
        for part in ["started by  the user (adopted", "its child processes are not contained", "adopted pid", " sleep"] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        let launched = scene.launch_ready(&[], &["sleep"]);
        assert_eq!(scene.session(&launched)["started_by"], "kennel");
        scene.call_ok(&["stop", &launched]);
        own.signal("TERM");
        let _ended = own.wait();
        let over = scene.wait_phase(&id, "cleaned");
        assert_eq!(over["reason"]["kind"], "exited", "{over:#}");
        assert_ne!(over["exit"], serde_json::json!({"kind": "code", "code": 0}), "{over:#}");
        assert!(!scene.session_folder(&id).join("token").exists(), "its token is left");
        assert_eq!(scene.call(&["resume", "-d", "mine"]).code, 202);
        scene.call_ok(&["rm", "mine"]);
        assert_eq!(scene.sessions().len(), 1, "the launched one");
        scene.stop_daemon();
    }

    fn it_survives_everything_that_ends_other_sessions(scene: Scene) {
        configure(&scene, "[run]\ntimeout = '1s'\nidle = '1s'\nsilence = '1s'\n");
        let mut own = own(&scene, &["sleep"]);
        let id = adopt(&scene, &own, &["--name", "mine"]);
        let launched = scene.launch_ready(&["--timeout", "0", "--idle", "0", "--silence", "0"], &["sleep"]);
        let printed = scene.call(&["stop", "--all"]);
        assert_eq!(printed.code, 0, "{printed:?}");
        assert!(printed.stderr.contains("mine: adopted, not stopped"), "{printed:?}");
        assert!(!printed.stdout.contains("mine"), "{printed:?}");
        scene.wait_phase(&launched, "cleaned");
        scene.call_ok(&["strays", "--end"]);
        scene.call_ok(&["prune"]);
        // The daemon is killed and finds it again.
        for _ in 0..2 {
            kill_daemon(&scene);
            assert_eq!(scene.wait_phase(&id, "running")["pid"], own.pid());
        }
        scene.call_ok(&["daemon", "restart"]);
        assert_eq!(scene.wait_phase(&id, "running")["pid"], own.pid());
        let stopped = scene.call_ok(&["daemon", "stop"]);
        assert!(!stopped.contains("mine"), "{stopped}");
        scene.call_ok(&["rescue", "--end"]);
        assert!(!own.has_ended(), "it was ended");
        assert_eq!(scene.wait_phase(&id, "running")["pid"], own.pid(), "the next daemon finds it");
        assert_eq!(report(&scene, &id, &["busy"]).code, 0, "its token is the same");
        end(own);
        scene.wait_phase(&id, "cleaned");
        scene.stop_daemon();
    }

    fn only_a_stop_that_names_it_ends_it_and_only_it(scene: Scene) {
        let own = own(&scene, &["children", "2"]);
        let below = |pid: i32| {
            let all = scene.all_processes().into_iter();
            all.filter(|it| it.parent == pid && it.state != 'Z').map(|it| it.pid).collect::<Vec<_>>()
        };
        let children = below(own.pid());
        assert!(!children.is_empty());
        let id = adopt(&scene, &own, &["--name", "mine"]);
        let bystander = self::own(&scene, &["sleep"]);
        let other = adopt(&scene, &bystander, &[]);
        let printed = scene.call_ok(&["stop", "--grace", "5s", "mine"]);
        assert!(printed.contains("mine: stopped"), "{printed}");
        let ended = own.wait_without_output();
        assert_ne!(ended, 0);
        let over = scene.session(&id);
        assert_eq!((&over["phase"], &over["reason"]["kind"]), (&"cleaned".into(), &"stopped".into()));
        assert!(children.iter().all(|pid| alive(*pid)), "its children do not belong to the session");
        children.into_iter().for_each(|pid| signal(pid, "KILL"));
        assert_eq!(scene.session(&other)["phase"], "running");
        assert!(alive(bystander.pid()));
        assert!(scene.call_ok(&["stop", "mine"]).contains("already gone"));
        end(bystander);
        scene.wait_phase(&other, "cleaned");
        scene.stop_daemon();
    }

    fn an_adopted_process_that_ignores_term_is_killed_after_its_grace(scene: Scene) {
        let own = own(&scene, &["ignore-term", "0"]);
        let id = adopt(&scene, &own, &[]);
        let stopping = Running::start(scene.kennel(&["stop", "--grace", "1s", &id]));
        scene.wait_phase(&id, "stopping");
        // The caller may be gone: the stop is on record.
        kill_daemon(&scene);
        let ended = stopping.wait();
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(own.wait().code, -9);
        scene.wait_phase(&id, "cleaned");
        scene.stop_daemon();
    }

    fn adopting_twice_returns_the_same_session(scene: Scene) {
        let own = own(&scene, &["sleep"]);
        let pid = own.pid().to_string();
        let several: Vec<_> = (0..4).map(|_| Running::start(scene.kennel(&["adopt", &pid]))).collect();
        let ids: Vec<_> = several.into_iter().map(|one| one.wait()).collect();
        assert!(ids.iter().all(|one| one.code == 0 && one.stdout == ids[0].stdout), "{ids:?}");
        kill_daemon(&scene);
        let first = scene.call_json(&["adopt", "--json", &pid]);
        let again = scene.call_json(&["adopt", "--json", &pid]);
        assert_eq!(first["token"], again["token"]);
        assert_eq!(first["session"]["id"], ids[0].stdout.trim_end());
        assert_eq!(scene.sessions().len(), 1);
        refused(&scene, &["adopt", "--name", "other", &pid], "is already session");
        end(own);
        scene.wait_phase(ids[0].stdout.trim_end(), "cleaned");
        scene.stop_daemon();
    }

    fn forgetting_it_leaves_the_process_running(scene: Scene) {
        let mut own = own(&scene, &["sleep"]);
        let id = adopt(&scene, &own, &["--name", "mine"]);
        assert_eq!(scene.call_ok(&["forget", "mine"]), "mine: no longer tracked; the process keeps running\n");
        let over = scene.session(&id);
        assert_eq!((&over["phase"], &over["reason"]["kind"]), (&"cleaned".into(), &"forgotten".into()));
        assert_eq!(over["exit"]["kind"], "unknown");
        assert!(scene.call_ok(&["stop", "mine"]).contains("already gone"));
        eventually("its token goes", || !scene.session_folder(&id).join("token").exists());
        let second = adopt(&scene, &own, &["--name", "mine"]);
        assert_ne!(second, id, "it is another session now");
        for flags in [&["rm"][..], &["rm", "--force"]] {
            let third = adopt(&scene, &own, &[]);
            scene.call_ok(&[flags, &[&third]].concat());
            assert!(!scene.sessions().iter().any(|it| it["id"] == third.as_str()));
            assert!(!own.has_ended(), "{flags:?}");
        }
        end(own);
        scene.stop_daemon();
    }

    fn commands_that_need_a_keeper_are_refused(scene: Scene) {
        let own = own(&scene, &["sleep"]);
        let id = adopt(&scene, &own, &["--name", "mine"]);
        refused(&scene, &["logs", "mine"], "is an adopted process");
        refused(&scene, &["send", "mine", "hello"], "is an adopted process");
        let attached = scene.call(&["attach", "mine"]);
        assert_eq!(attached.code, 206, "{attached:?}");
        assert!(attached.stderr.contains("is an adopted process"), "{attached:?}");
        let resumed = scene.call(&["resume", "-d", "mine"]);
        assert!(resumed.stderr.contains("which Kennel can't launch"), "{resumed:?}");
        scene.call_ok(&["signal", "mine", "STOP"]);
        let state = || scene.all_processes().into_iter().find(|it| it.pid == own.pid());
        eventually("it is suspended", || state().is_some_and(|it| it.state == 'T'));
        scene.call_ok(&["stop", "mine"]);
        assert_eq!(own.wait().code, -15, "it was continued and got TERM");
        assert_eq!(scene.session(&id)["reason"]["kind"], "stopped");
        scene.stop_daemon();
    }

    fn it_reports_with_its_own_token(scene: Scene) {
        let own = own(&scene, &["sleep"]);
        let given = scene.call_json(&["adopt", "--json", &own.pid().to_string()]);
        let id = given["session"]["id"].as_str().expect("an id").to_owned();
        let token = given["token"].as_str().expect("a token").to_owned();
        let claim = |token: &str| {
            let mut command = scene.kennel(&["report", "progress", "40"]);
            command.env("KENNEL_SESSION", &id).env("KENNEL_TOKEN", token);
            Running::start(command).wait()
        };
        assert_eq!(claim(&"0".repeat(32)).code, 1);
        assert_eq!(scene.session(&id)["progress"], Value::Null);
        assert_eq!(claim(&token).code, 0);
        assert_eq!(report(&scene, &id, &["busy"]).code, 0);
        let session = scene.session(&id);
        assert_eq!((&session["progress"], &session["activity"]), (&40.into(), &"busy".into()));
        assert!(!scene.call_ok(&["inspect", "--json", &id]).contains(&token), "a secret is shown");
        end(own);
        scene.wait_phase(&id, "cleaned");
        let late = claim(&token);
        assert_eq!(late.code, 1, "{late:?}");
        assert!(late.stderr.contains("too late for a report"), "{late:?}");
        scene.stop_daemon();
    }

    /// The variables for a shell; without a pid, the caller is adopted.
    fn a_shell_adopts_itself(scene: Scene) {
        let kennel = scene.path("kennel");
        let script = format!(
            "eval \"$({0} adopt --env --name shell $$)\"; {0} report busy; {0} adopt; echo ready; read x; exit 3",
            kennel.display()
        );
        let mut shell = scene.command(Path::new("/bin/sh"));
        shell.args(["-euc", &script]).stdin(Stdio::piped());
        shell.env("KENNEL_HOME", scene.kennel_home());
        let mut shell = Running::start(shell);
        shell.wait_ready();
        let session = scene.session("shell");
        assert_eq!((&session["pid"], &session["activity"]), (&shell.pid().into(), &"busy".into()));
        assert_eq!(scene.sessions().len(), 1, "its parent is the same shell");
        drop(shell.stdin());
        let ended = shell.wait();
        assert!(ended.stdout.contains(session["id"].as_str().expect("an id")), "{ended:?}");
        let over = scene.wait_phase("shell", "cleaned");
        let reported = &over["exit"]["kind"];
        assert!(reported == "code" || reported == "unknown", "{over:#}");
        scene.stop_daemon();
    }

    fn a_process_inside_a_session_is_refused(scene: Scene) {
        let kennel = scene.path("kennel");
        let script = format!(
            "exec 2>&1; {0} adopt; echo first $?; env -i {0} --home {1} adopt; echo second $?; exec {2} sleep",
            kennel.display(),
            scene.kennel_home().display(),
            scene.fake_agent()
        );
        let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", &script]);
        eventually("it has called adopt twice", || scene.output(&id).contains("\nready"));
        let output = scene.output(&id);
        assert!(output.contains("first 1") && output.contains("second 1"), "{output}");
        assert_eq!(output.matches(&format!("inside session {id}")).count(), 2, "{output}");
        // From outside too.
        let pid = scene.session(&id)["pid"].to_string();
        refused(&scene, &["adopt", &pid], &format!("already belongs to session {id}"));
        for own in [scene.daemon(), scene.yard(), scene.keeper()] {
            let pid = own.expect("it is there").to_string();
            refused(&scene, &["adopt", &pid], "belongs to Kennel itself");
        }
        assert_eq!(scene.session(&id)["phase"], "running");
        assert_eq!(scene.sessions().len(), 1);
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }

    fn a_missing_process_and_pid_1_are_refused(scene: Scene) {
        let mut gone = scene.command(Path::new("/bin/true"));
        gone.stdout(Stdio::piped());
        let gone = Running::start(gone);
        let pid = gone.pid().to_string();
        let _ended = gone.wait();
        refused(&scene, &["adopt", &pid], "does not exist");
        refused(&scene, &["adopt", "1"], "pid 1 is the machine's init process");
        assert_eq!(scene.call(&["adopt", "0"]).code, 201);
        assert_eq!(scene.sessions().len(), 0);
        scene.stop_daemon();
    }

    /// With a limit of one, and one session already live.
    fn it_does_not_count_against_limits(scene: Scene) {
        configure(&scene, "[daemon]\nmax_live = 1\n");
        let own = own(&scene, &["sleep"]);
        let id = adopt(&scene, &own, &[]);
        let launched = scene.launch_ready(&[], &["sleep"]);
        let more = self::own(&scene, &["sleep"]);
        let other = adopt(&scene, &more, &[]);
        scene.call_ok(&["stop", &launched]);
        end(own);
        end(more);
        scene.wait_phase(&id, "cleaned");
        scene.wait_phase(&other, "cleaned");
        scene.stop_daemon();
    }
}

/// Another user's process is refused, for root too.
#[test]
fn another_users_process_is_refused() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let Some(root) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let (ours, roots) = (own(&scene, &["sleep"]), own(&root, &["sleep"]));
    refused(&scene, &["adopt", &roots.pid().to_string()], "belongs to user 0, and this home");
    refused(&root, &["adopt", &ours.pid().to_string()], "this home to user 0");
    end(ours);
    end(roots);
    scene.stop_daemon();
    root.stop_daemon();
}

/// The daemon is killed at each step; the caller gets one session, which Kennel follows to its end.
#[test]
fn it_is_adopted_once_wherever_the_daemon_is_killed() {
    for point in about_adoption() {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        scene.call_ok(&["daemon", "start"]);
        let own = own(&scene, &["sleep"]);
        let pid = own.pid().to_string();
        let stops = ["daemon.adopted.end", "daemon.adopted.ended"].contains(&point);
        let id = stops.then(|| adopt(&scene, &own, &[]));
        faults.arm(point);
        let command = match &id {
            Some(id) => ["stop", id.as_str()],
            None => ["adopt", pid.as_str()],
        };
        let running = Running::start(scene.kennel(&command));
        let held = faults.wait_reached(point, Duration::from_secs(20));
        let held = held.unwrap_or_else(|| panic!("no process passes {point}"));
        signal(held, "KILL");
        faults.disarm(point);
        let ended = running.wait();
        assert_eq!(ended.code, 0, "{point}: {ended:?}");
        let sessions = scene.sessions();
        assert_eq!(sessions.len(), 1, "{point}: {sessions:#?}");
        if !stops {
            assert_eq!(sessions[0]["phase"], "running", "{point}: {sessions:#?}");
            own.signal("TERM");
        }
        assert_eq!(own.wait().code, -15, "{point}");
        let over = scene.wait_phase(sessions[0]["id"].as_str().expect("an id"), "cleaned");
        assert!(!scene.session_folder(over["id"].as_str().expect("an id")).join("token").exists());
        scene.stop_daemon();
    }
}

/// The daemon and the adopted process are gone, and another process has its pid. This runs in its
/// own pid namespace, where no other process takes pids.
const PID_IS_REUSED: &str = r#"
    sleep 300 &
    own=$!
    $KENNEL adopt --name x $own >/dev/null
    yard=$(cat $KENNEL_HOME/yard.lock)
    daemon=$($KENNEL daemon status --json | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p')
    kill -STOP $yard $daemon
    kill -KILL $yard $daemon $own
    wait $own
    echo $((own - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 301 &
    [ $! = $own ] || { echo another number: $!; exit; }
    $KENNEL ps -a --json
    $KENNEL stop x >&2
    $KENNEL rm --force x >&2
    $KENNEL daemon stop >&2
    grep -q sleep /proc/$own/comm && kill -0 $own && echo survived
"#;

/// I1
#[test]
fn another_process_with_its_pid_is_not_adopted() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    let ended = crate::identity::in_container(&scene, PID_IS_REUSED);
    if ended.stdout.contains("another number") {
        return skip("a reused pid", "can't create a process with a given pid here");
    }
    assert!(ended.stdout.contains("survived"), "{ended:?}\n{}", scene.logs());
    assert!(
        ended.stdout.contains("\"cleaned\"") && ended.stdout.contains("\"unknown\""),
        "{ended:?}"
    );
    eventually("the container is gone", || scene.all_processes().is_empty());
}

/// I5: an identity of another boot is void, whichever process has that pid now.
#[test]
fn after_a_reboot_it_is_gone() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let mut own = own(&scene, &["sleep"]);
    let id = adopt(&scene, &own, &[]);
    scene.call_ok(&["daemon", "stop"]);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let file = scene.kennel_home().join("boot");
    let text = fs::read_to_string(&file).expect("a record");
    assert!(text.contains(boot.trim()), "{text}");
    fs::write(&file, text.replace(boot.trim(), "00000000-1111-2222-3333-444444444444"))
        .expect("written");
    let over = scene.wait_phase(&id, "cleaned");
    assert_eq!(over["reason"]["kind"], "rebooted", "{over:#}");
    assert_eq!(over["exit"]["kind"], "unknown", "{over:#}");
    assert!(!own.has_ended(), "it no longer belongs to a session");
    let again = adopt(&scene, &own, &[]);
    assert_ne!(again, id);
    end(own);
    scene.wait_phase(&again, "cleaned");
    scene.stop_daemon();
}

/// A client without the `kennel` program can adopt a process.
#[test]
fn it_can_be_adopted_over_the_socket() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let curl = Command::new("curl").arg("--version").output();
    if !curl.is_ok_and(|output| output.status.success()) {
        return skip("an adoption by curl", "there is no curl");
    }
    scene.call_ok(&["daemon", "start"]);
    let own = own(&scene, &["sleep"]);
    let post = |body: String| {
        let mut command = scene.command(Path::new("curl"));
        command.args(["-sS", "-w", " %{http_code}", "http://kennel/v1/adopt", "-d", &body]);
        command.arg("--unix-socket").arg(scene.kennel_home().join("kennel.sock"));
        Running::start(command).wait().stdout
    };
    let made = post(format!("{{\"pid\": {}, \"name\": \"by-curl\"}}", own.pid()));
    assert!(made.ends_with(" 201") && made.contains("\"started_by\":\"terminal\""), "{made}");
    let wrong = post(format!("{{\"pid\": {}, \"identity\": \"nonsense\"}}", own.pid()));
    assert!(wrong.ends_with(" 422") && wrong.contains("invalid identity"), "{wrong}");
    end(own);
    scene.wait_phase("by-curl", "cleaned");
    scene.stop_daemon();
}

/// Until its parent reaps it, the kernel reports its status to no other process.
#[test]
fn its_status_is_known_although_its_parent_reaps_it_late() {
    if !kennel_sys::pidfd::has_info() {
        skip(
            "the status of a process that is reaped late",
            "the kernel reports it only to the parent",
        );
        return;
    }
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let mut command = scene.command(Path::new("/bin/sh"));
    command.args(["-c", "while [ ! -e go ]; do sleep 0.01; done; exit 7"]);
    let own = Running::start(command);
    let id = adopt(&scene, &own, &["--name", "mine"]);
    fs::write(scene.path("work/go"), "").expect("a file");
    let list = || scene.call_ok(&["ps"]);
    eventually("it has ended, and we have not reaped it", || list().contains("ended (not reaped)"));
    assert_eq!(scene.session(&id)["phase"], "running");
    assert_eq!(own.wait().code, 7);
    let over = scene.wait_phase(&id, "cleaned");
    assert_eq!(over["exit"], serde_json::json!({"kind": "code", "code": 7}), "{over:#}");
    scene.stop_daemon();
}
