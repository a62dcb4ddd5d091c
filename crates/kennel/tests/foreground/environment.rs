//! E1: the agent sees the client's environment, folder, umask and limits, and nothing of Kennel's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kennel_testing::{Running, Scene, eventually, everywhere};
use serde_json::Value;

/// Runs `prelude; exec kennel run … -- fake-agent report` and returns the report.
fn report(scene: &Scene, prelude: &str, flags: &[&str], environment: &[(&str, &str)]) -> Value {
    let agent = scene.fake_agent();
    let run = scene.run_command(flags, &[&agent, "report", "an argument", "", "*"]);
    let mut command = scene.command(Path::new("/bin/sh"));
    command.args(["-c", &format!("{prelude}; exec \"$@\""), "sh"]);
    // The part after the scene's own wrapper: `kennel run …`.
    let kennel = scene.path("kennel");
    let args = run.get_args().skip_while(|arg| *arg != kennel.as_os_str());
    command.args(args).env("KENNEL_HOME", scene.path("home/kennel"));
    command.envs(environment.iter().copied());
    let ended = Running::start(command).wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    scene.assert_nothing_left();
    serde_json::from_str(&ended.stdout).expect("a JSON report")
}

fn text<'a>(report: &'a Value, field: &str) -> &'a str {
    report[field].as_str().unwrap_or_else(|| panic!("{field} in {report}"))
}

everywhere! {
    fn the_agent_sees_what_the_client_sees(scene: Scene) {
        let report = report(
            &scene,
            "umask 027; ulimit -S -n 321; ulimit -c 0; trap '' USR1 PIPE",
            &[],
            &[("PLAIN", "value"), ("TRICKY", "a=b \"c\" $d\nsecond line"), ("EMPTY", "")],
        );
        assert_eq!(report["argv"].as_array().expect("argv")[2..], ["an argument", "", "*"]);
        assert_eq!(Path::new(text(&report, "cwd")), scene.path("work"));
        assert_eq!(text(&report, "umask").trim_start_matches('0'), "27");
        assert_eq!(report["limits"]["RLIMIT_NOFILE"][0], "321");
        assert_eq!(report["limits"]["RLIMIT_CORE"][0], "0");
        let env = &report["env"];
        assert_eq!(env["PLAIN"], "value");
        assert_eq!(env["TRICKY"], "a=b \"c\" $d\nsecond line");
        assert_eq!(env["EMPTY"], "");
        assert!(env.get("SCENE").is_none());
    }

    fn the_agent_gets_three_descriptors_its_own_session_and_default_signals(scene: Scene) {
        // The agent must inherit neither a descriptor that the shell left open nor an ignored
        // signal.
        let report = report(&scene, "exec 7</dev/zero; trap '' USR1 TERM", &[], &[]);
        let fds: BTreeMap<String, String> =
            serde_json::from_value(report["fds"].clone()).expect("a map of descriptors");
        assert_eq!(fds.keys().map(String::as_str).collect::<Vec<_>>(), ["0", "1", "2"], "{fds:?}");
        assert_eq!((report["sid"].as_i64(), report["pgid"].as_i64()), (report["pid"].as_i64(), report["pid"].as_i64()));
        let bits = |field| u64::from_str_radix(text(&report, field), 16).expect("a hex number");
        assert_eq!(bits("sigmask_blocked"), 0);
        // Rust's own runtime ignores PIPE (bit 12) before main.
        assert_eq!(bits("sig_ignored") & !(1 << 12), 0);
    }

    fn the_cookie_is_in_its_environment(scene: Scene) {
        let report = report(&scene, ":", &["--name", "fix-login"], &[]);
        let env = &report["env"];
        let id = fs::read_to_string(scene.path("home/kennel/id")).expect("the home's id");
        let id = id.lines().next().expect("a line");
        assert_eq!(env["KENNEL_HOME_ID"].as_str(), Some(id));
        let session = env["KENNEL_SESSION_ID"].as_str().expect("a session id");
        assert_eq!(session.len(), 12);
        assert_eq!(env["KENNEL_SESSION_NAME"], "fix-login");
        let cgroup = text(&report, "cgroup");
        let pen = format!("kennel-{id}-{session}");
        assert_eq!(cgroup.ends_with(&pen), scene.pen == kennel_testing::Pen::Cgroup, "{cgroup}");
    }

    fn the_flags_for_environment_and_folder_take_effect(scene: Scene) {
        let file = scene.path("variables");
        fs::write(&file, "# secrets\nFROM_FILE=1\nBOTH=file\n").expect("written");
        let file = file.to_str().expect("a plain path");
        let report = report(
            &scene,
            ":",
            &["--env-file", file, "--env", "BOTH=flag", "--env", "OURS", "--env", "NEW=x=y", "--cwd", "/tmp"],
            &[("OURS", "here")],
        );
        let env = &report["env"];
        assert_eq!(env["FROM_FILE"], "1");
        assert_eq!(env["BOTH"], "flag");
        assert_eq!(env["OURS"], "here");
        assert_eq!(env["NEW"], "x=y");
        assert_eq!(text(&report, "cwd"), "/tmp");
    }

    /// When memory runs out, the kernel kills the agent before its keeper.
    fn the_oom_killer_prefers_the_agent_over_its_keeper(scene: Scene) {
        let mut running = scene.start(&[], &["sleep"]);
        running.wait_ready();
        let score = |pid: i32| -> i32 {
            let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("a score");
            text.trim().parse().expect("a number")
        };
        let (agent, keeper) = (scene.pid_of("agent"), scene.keeper().expect("a keeper"));
        // The keeper restores its own score once the agent has left its memory by the exec.
        eventually("the agent is likelier", || score(agent) > score(keeper));
        running.signal("TERM");
        assert_eq!(running.wait().code, 143);
    }
}
