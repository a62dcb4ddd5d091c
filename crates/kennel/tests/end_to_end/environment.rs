//! Which environment an agent gets, where its secrets appear, and which process the OOM killer
//! picks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal};
use serde_json::Value;

const SECRET: &str = "kennel-test-secret-8c1f27";

/// A shell that changes its environment and execs `kennel ARGS…`.
fn from_another_shell(scene: &Scene, script: &str) -> Running {
    let mut shell = scene.command(Path::new("/bin/sh"));
    shell.args(["-ec", script]).env("KENNEL", scene.path("kennel"));
    shell.env("KENNEL_HOME", scene.kennel_home()).env("AGENT", scene.fake_agent());
    Running::start(shell)
}

everywhere! {
    /// E1
    fn the_agent_gets_the_clients_environment_not_the_daemons(scene: Scene) {
        let first = "cd /; umask 000; ulimit -S -n 500; ulimit -S -c 0; \
                     WHOSE=daemon DAEMONS=1 exec $KENNEL daemon start";
        assert_eq!(from_another_shell(&scene, first).wait().code, 0);
        for detached in [false, true] {
            let run = if detached { "run -d --name x" } else { "run" };
            let script = format!(
                "umask 027; ulimit -n 300; ulimit -s 1000; WHOSE=client \
                 exec $KENNEL {run} --pen {} -- $AGENT report",
                scene.pen_name()
            );
            let ended = from_another_shell(&scene, &script).wait();
            assert_eq!(ended.code, 0, "{ended:?}");
            let text = if detached {
                scene.call_ok(&["wait", "x"]);
                scene.output("x")
            } else {
                ended.stdout
            };
            let report: Value = serde_json::from_str(&text).expect("a report");
            assert_eq!(report["env"]["WHOSE"], "client");
            assert!(report["env"]["DAEMONS"].is_null(), "{report:#}");
            assert_eq!(report["umask"], "0027");
            assert_eq!(report["cwd"], Value::from(scene.path("work").to_str()));
            assert_eq!(report["limits"]["RLIMIT_NOFILE"], serde_json::json!(["300", "300"]));
            assert_eq!(report["limits"]["RLIMIT_STACK"][0], "1024000");
            assert_eq!(report["sigmask_blocked"], "0000000000000000");
        }
        scene.stop_daemon();
    }

    /// E2
    fn a_secret_of_the_client_is_never_written_to_disk(scene: Scene) {
        let agent = scene.fake_agent();
        let launch = |name: &str, argv: &[&str]| {
            let mut run = scene.run_command(&["-d", "--name", name, "--linger", "10ms"], argv);
            run.env("API_KEY", SECRET);
            Running::start(run).wait()
        };
        // The first one also starts yard and daemon.
        assert_eq!(launch("lives", &[&agent, "env-i"]).code, 0);
        assert_eq!(launch("fails", &["/no/such/program"]).code, 204);
        assert_eq!(launch("crashes", &[&agent, "signal", "6"]).code, 0);
        assert_eq!(launch("killed", &[&agent, "sleep"]).code, 0);
        for pid in [scene.yard(), scene.daemon()].into_iter().flatten().chain(scene.keepers()) {
            assert!(!contains(Path::new(&format!("/proc/{pid}/environ"))), "{pid}");
            assert!(!contains(Path::new(&format!("/proc/{pid}/cmdline"))), "{pid}");
        }
        let agent = scene.session("lives")["pid"].as_i64().expect("a pid");
        let environ = Path::new("/proc").join(agent.to_string()).join("environ");
        assert!(contains(&environ), "the agent has it");
        for pid in scene.keepers().into_iter().skip(1) {
            signal(pid, "KILL");
        }
        signal(scene.daemon().expect("a daemon"), "KILL");
        for args in [
            &["inspect", "lives", "--json"][..],
            &["inspect", "crashes"],
            &["events", "--json"],
            &["ps", "-a", "--json"],
            &["daemon", "logs"],
            &["rescue", "--json"],
            &["strays", "--json"],
        ] {
            let ended = scene.call(args);
            assert!(!ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET), "{args:?}");
        }
        assert_eq!(files_with_secret(&scene.kennel_home()), Vec::<std::path::PathBuf>::new());
        let mode = fs::metadata(scene.kennel_home()).expect("a home").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        scene.call_ok(&["stop", "--all"]);
        scene.stop_daemon();
        assert_eq!(files_with_secret(&scene.kennel_home()), Vec::<std::path::PathBuf>::new());
    }

    /// E3: the kernel kills the agent before its keeper, and the keeper before the yard.
    fn when_memory_runs_out_the_agent_is_killed_first(scene: Scene) {
        scene.launch_ready(&[], &["sleep"]);
        let score = |pid: Option<i32>| -> i32 {
            let path = format!("/proc/{}/oom_score_adj", pid.expect("it runs"));
            fs::read_to_string(path).expect("a score").trim().parse().expect("a number")
        };
        let agent = || score(Some(scene.pid_of("agent")));
        let (keeper, yard) = (|| score(scene.keeper()), || score(scene.yard()));
        assert!(agent() > keeper(), "{} {}", agent(), keeper());
        assert!(keeper() > yard(), "{} {}", keeper(), yard());
        assert!(score(scene.daemon()) <= keeper(), "{}", score(scene.daemon()));
        scene.call_ok(&["stop", "--all"]);
        scene.stop_daemon();
    }
}

fn contains(file: &Path) -> bool {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
}

fn files_with_secret(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            found.extend(files_with_secret(&entry.path()));
        } else if kind.is_file() && contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// E1: a daemon with lower limits can't grant higher ones, but grants the highest possible.
#[test]
fn unavailable_limits_are_as_high_as_possible() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let start = from_another_shell(&scene, "ulimit -n 400; ulimit -c 0; exec $KENNEL daemon start");
    assert_eq!(start.wait().code, 0);
    let run = "ulimit -S -n 300; exec $KENNEL run --pen subtree -- $AGENT report";
    let ended = from_another_shell(&scene, run).wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    let report: Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!(report["limits"]["RLIMIT_NOFILE"], serde_json::json!(["300", "400"]));
    assert_eq!(report["limits"]["RLIMIT_CORE"], serde_json::json!(["0", "0"]));
    let events = scene.call_ok(&["events"]);
    assert!(events.contains("RLIMIT_NOFILE is 400, lower than requested"), "{events}");
    scene.stop_daemon();
}

/// Descriptors that a client closed or left open do not affect the agent.
#[test]
fn no_descriptor_of_kennels_reaches_the_agent() {
    let Some(scene) = Scene::new(Who::Root, Pen::Cgroup) else { return };
    let id = scene.launch(&["-i"], &["report"]);
    eventually("it has ended", || scene.session(&id)["phase"] == "cleaned");
    let report: Value = serde_json::from_str(&scene.output(&id)).expect("a report");
    let descriptors = report["fds"].as_object().expect("an object");
    let mut numbers: Vec<_> = descriptors.keys().map(String::as_str).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["0", "1", "2"], "{descriptors:#?}");
    scene.stop_daemon();
}
