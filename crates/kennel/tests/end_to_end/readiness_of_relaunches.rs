//! Readiness of queued sessions, relaunched sessions and sessions with a worktree.

use std::collections::HashSet;
use std::fs;

use kennel_testing::{Pen, Running, Scene, Who, eventually};

use crate::config::configure;
use crate::worktrees::Repo;

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// A position in the queue is enough for `--queue -d`, but not with `--wait-ready`.
#[test]
fn waiting_for_readiness_includes_the_queue() {
    let Some(scene) = scene() else { return };
    configure(&scene, "daemon.max_live = 1\n");
    scene.launch_command(&["--name", "first"], &["/bin/sleep", "100"]);
    let flags = ["-d", "--queue", "--wait-ready", "--ready", "line:^up$", "--name", "x"];
    let agent = ["/bin/sh", "-c", "echo up; sleep 100"];
    let errors = scene.path("errors");
    let mut waiting = Running::start_with_errors_in(scene.run_command(&flags, &agent), &errors);
    eventually("it is queued", || {
        scene.sessions().iter().any(|it| it["name"] == "x" && it["queue_position"] == 1)
    });
    // The client checks the queue now and then; by the time of its message, an answer would have
    // arrived.
    eventually("its position was printed", || {
        fs::read_to_string(&errors).is_ok_and(|printed| printed.contains("queued (position 1)"))
    });
    assert!(!waiting.has_ended(), "the client returned while the session was queued");
    scene.call_ok(&["stop", "first"]);
    let ended = waiting.wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(scene.session("x")["ready"], "ready");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

/// A session that is cancelled in the queue or not relaunched never becomes ready.
#[test]
fn waiting_for_readiness_fails_when_it_cannot_come() {
    let Some(scene) = scene() else { return };
    configure(&scene, "daemon.max_live = 1\n");
    scene.launch_command(&["--name", "first"], &["/bin/sleep", "100"]);
    let flags = ["-d", "--queue", "--wait-ready", "--ready", "line:^up$", "--name", "x"];
    let waiting = Running::start(scene.run_command(&flags, &["/bin/sleep", "100"]));
    eventually("it is queued", || {
        scene.sessions().iter().any(|it| it["name"] == "x" && it["queue_position"] == 1)
    });
    scene.call_ok(&["stop", "x"]);
    let ended = waiting.wait();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("never ran"), "{ended:?}");
    scene.call_ok(&["stop", "first"]);
    let restart = ["--restart", "on-failure:1", "-d", "--wait-ready", "--ready", "report"];
    let ended = Running::start(scene.run_command(&restart, &["/bin/sh", "-c", "exit 3"])).wait();
    assert_eq!(ended.code, 3, "{ended:?}");
    let launches = scene.sessions().iter().filter(|it| it["exit"]["code"] == 3).count();
    assert_eq!(launches, 2, "the client is answered after the last launch");
    scene.stop_daemon();
}

/// The client waits during the pause. Each launch has its own token in its environment and file.
#[test]
fn a_relaunched_session_becomes_ready_with_another_token() {
    let Some(scene) = scene() else { return };
    let script = "echo $KENNEL_SESSION $KENNEL_TOKEN $(cat $KENNEL_TOKEN_FILE) >> reported; \
        [ -e failed ] || { : > failed; exit 3; }; echo up; [ -e go ] || sleep 100";
    let flags = ["-d", "--restart", "on-failure", "--wait-ready", "--ready", "line:^up$"];
    let ended = Running::start(scene.run_command(&flags, &["/bin/sh", "-c", script])).wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    let second = ended.stdout.trim_end();
    let id = second.strip_suffix("_2").expect("the second launch");
    assert_eq!(scene.session(second)["ready"], "ready");
    scene.call_ok(&["stop", second]);
    fs::write(scene.path("work/go"), "").expect("a file");
    let resumed = scene.call(&["resume", "-d", id]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let third = format!("{id}_3");
    eventually("it is cleaned up", || scene.session(&third)["phase"] == "cleaned");
    let reported = fs::read_to_string(scene.path("work/reported")).expect("the environments");
    let reported: Vec<Vec<&str>> = reported.lines().map(|line| line.split(' ').collect()).collect();
    let sessions: Vec<_> = reported.iter().map(|words| words[0]).collect();
    assert_eq!(sessions, [id, second, third.as_str()]);
    assert!(reported.iter().all(|words| words.len() == 3 && words[1] == words[2]), "{reported:?}");
    let tokens: HashSet<_> = reported.iter().map(|words| words[1]).collect();
    assert_eq!(tokens.len(), 3, "each launch has its own token");
    scene.stop_daemon();
}

/// A relative path starts at the agent's folder.
#[test]
fn a_socket_in_a_worktree_makes_it_ready() {
    let Some(scene) = scene() else { return };
    let repo = Repo::new(&scene);
    let flags = ["-d", "--worktree", "--wait-ready", "--ready", "socket:ignored", "--name", "x"];
    let go = scene.path("work/go");
    fs::write(&go, "").expect("a file");
    let script = format!("exec {} listen-socket ignored {}", scene.fake_agent(), go.display());
    for folder in [repo.path.clone(), repo.path.join("sub")] {
        let ended = repo.start_in(&folder, &flags, &script).wait();
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(scene.session("x")["ready"], "ready");
        scene.call_ok(&["stop", "x"]);
    }
    scene.stop_daemon();
}

/// With the check of the first run, and the same exit codes as `run`.
#[test]
fn a_resume_waits_for_readiness_too() {
    let Some(scene) = scene() else { return };
    let script = "[ ! -e end ] || exit $(cat end); [ ! -e up ] || echo up; exec sleep 100";
    let flags =
        ["--ready", "line:^up$", "--ready-timeout", "1s", "--grace", "100ms", "--name", "x"];
    let end = |code: &str| fs::write(scene.path("work/end"), code).expect("a file");
    end("0");
    let id = scene.launch_command(&flags, &["/bin/sh", "-c", script]);
    scene.wait_phase(&id, "cleaned");
    let resume = |flags: &[&str]| scene.call(&[&["resume"], flags, &["x"]].concat());
    let foreground = resume(&["--wait-ready"]);
    assert_eq!(foreground.code, 201, "{foreground:?}");
    assert!(foreground.stderr.contains("add -d"), "{foreground:?}");
    assert_eq!(scene.sessions().len(), 1, "nothing was launched");
    for (code, reported) in [("3", 3), ("0", 208)] {
        end(code);
        let ended = resume(&["-d", "--wait-ready"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (reported, ""), "{ended:?}");
        assert!(ended.stderr.contains("before it was ready"), "{ended:?}");
    }
    fs::remove_file(scene.path("work/end")).expect("it is there");
    let slow = resume(&["-d", "--wait-ready"]);
    scene.assert_nothing_left();
    assert_eq!((slow.code, slow.stdout.as_str()), (208, ""), "{slow:?}");
    assert!(slow.stderr.contains("was not ready within 1s"), "{slow:?}");
    fs::write(scene.path("work/up"), "").expect("a file");
    let up = resume(&["-d", "--wait-ready"]);
    assert_eq!((up.code, up.stdout.trim_end()), (0, format!("{id}_5").as_str()), "{up:?}");
    assert_eq!(scene.session("x")["ready"], "ready");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}
