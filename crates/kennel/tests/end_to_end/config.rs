//! `kennel.toml` applied to real sessions and a real daemon.

use std::fs;
use std::path::PathBuf;

use kennel_testing::{Ended, Pen, Running, Scene, Who, eventually, signal};
use serde_json::Value;

use crate::crash_case::Victims;

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// The default location of the file.
fn default_file(scene: &Scene) -> PathBuf {
    scene.path("home/.config/kennel/kennel.toml")
}

pub(crate) fn configure(scene: &Scene, text: &str) {
    let path = default_file(scene);
    fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
    fs::write(path, text).expect("written");
}

/// `kennel ARGS…` with these variables.
fn call_with(scene: &Scene, variables: &[(&str, &str)], args: &[&str]) -> Ended {
    let mut command = scene.kennel(args);
    command.envs(variables.iter().copied());
    Running::start(command).wait()
}

fn launch(scene: &Scene, variables: &[(&str, &str)], flags: &[&str]) -> Value {
    let agent = scene.fake_agent();
    let args = [&["run", "-d"], flags, &["--", &agent, "exit", "0"]].concat();
    let ended = call_with(scene, variables, &args);
    assert_eq!(ended.code, 0, "{ended:?}");
    scene.session(ended.stdout.trim_end())
}

fn seconds(time: &Value) -> u64 {
    time.as_u64().unwrap_or_else(|| panic!("{time} is no time")) / 1000
}

#[test]
fn settings_come_from_flag_environment_profile_and_file() {
    let Some(scene) = scene() else { return };
    configure(
        &scene,
        "[run]\ngrace = '21s'\nlinger = 22\nlease = 'off'\npen = 'subtree'\nstay = true\n\
         [profiles.fast]\ngrace = '31s'\nlinger = '32s'\n",
    );
    let plain = launch(&scene, &[], &[]);
    let spec = &plain["spec"];
    assert_eq!((seconds(&spec["grace_ms"]), seconds(&spec["linger_ms"])), (21, 22), "{spec:#}");
    assert!(spec["lease_ms"].is_null() && spec["outlives_parent"] == true, "{spec:#}");
    assert_eq!(plain["pen"], "subtree");
    let variables = [("KENNEL_RUN_GRACE", "41s"), ("KENNEL_RUN_STAY", "off")];
    let fast = launch(&scene, &variables, &["--profile", "fast", "--lease", "5m"]);
    let spec = &fast["spec"];
    assert_eq!((seconds(&spec["grace_ms"]), seconds(&spec["linger_ms"])), (41, 32), "{spec:#}");
    assert_eq!((seconds(&spec["lease_ms"]), &spec["outlives_parent"]), (300, &Value::Bool(false)));
    let flagged = launch(&scene, &variables, &["--grace", "51s", "--no-stay"]);
    assert_eq!(seconds(&flagged["spec"]["grace_ms"]), 51);
    scene.stop_daemon();
}

#[test]
fn a_session_detached_by_the_file_runs_in_the_background() {
    let Some(scene) = scene() else { return };
    configure(&scene, "run.detach = true");
    let agent = scene.fake_agent();
    let ended = scene.call(&["run", "--name", "x", "--", &agent, "exit", "3"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(scene.call(&["wait", "x"]).code, 3);
    let ended = scene.call(&["run", "--no-detach", "--", &agent, "exit", "3"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    scene.stop_daemon();
}

#[test]
fn an_agent_that_runs_kennel_has_the_same_configuration() {
    let Some(scene) = scene() else { return };
    let file = scene.path("work/other.toml");
    fs::write(&file, "profiles.deep.grace = '33s'").expect("written");
    let variables = [("KENNEL_CONFIG", file.to_str().expect("plain")), ("KENNEL_PROFILE", "deep")];
    let kennel = scene.path("kennel");
    let kennel = kennel.to_str().expect("plain");
    let args = ["run", "--", kennel, "config", "show", "--json"];
    let ended = call_with(&scene, &variables, &args);
    assert_eq!(ended.code, 0, "{ended:?}");
    let inside: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let outside = call_with(&scene, &variables, &args[3..]);
    assert_eq!(inside, serde_json::from_str::<Value>(&outside.stdout).expect("JSON"));
    let settings = inside["settings"].as_array().expect("a list");
    let grace = settings.iter().find(|one| one["key"] == "run.grace").expect("it is shown");
    assert_eq!(grace["value"], "33s");
    assert_eq!(grace["from"]["kind"], "profile");
    assert_eq!((&grace["from"]["profile"], &grace["from"]["line"]), (&"deep".into(), &1.into()));
    scene.stop_daemon();
}

#[test]
fn a_wrong_file_starts_nothing() {
    let Some(scene) = scene() else { return };
    configure(&scene, "\n[run]\ngrcae = '1s'\n");
    let agent = scene.fake_agent();
    for args in [
        &["run", "--", &agent, "exit", "0"][..],
        &["prune"],
        &["daemon", "start"],
        &["daemon", "run"],
        &["config", "show"],
        &["config", "check"],
    ] {
        let ended = scene.call(args);
        assert_eq!(ended.code, 201, "{args:?}: {ended:?}");
        let expected = format!(
            "kennel: {}:3:1: unknown key `grcae` in [run]; did you mean `grace`?\n",
            default_file(&scene).display()
        );
        assert_eq!(ended.stderr, expected, "{args:?}");
        assert_eq!((scene.yard(), scene.daemon()), (None, None), "{args:?}");
    }
    assert_eq!(scene.pids(), [], "no agent ran");
    let path = scene.call_ok(&["config", "path"]);
    assert_eq!(path, format!("{}\n", default_file(&scene).display()));
    let doctor = scene.call(&["doctor", "--json"]);
    let found: Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    let findings = found["findings"].as_array().expect("a list");
    let config = findings.iter().find(|one| one["id"] == "config").expect("it is reported");
    assert_eq!(config["state"], "bad");
    assert!(config["found"].as_str().is_some_and(|text| text.contains("grcae")), "{config}");
}

/// A mistake in the file does not prevent a stop, even if daemon and yard must be restarted.
#[test]
fn a_session_can_be_stopped_with_a_wrong_file() {
    let Some(scene) = scene() else { return };
    scene.launch_ready(&["--name", "one"], &["sleep"]);
    scene.launch_ready(&["--name", "two"], &["sleep"]);
    configure(&scene, "nonsense");
    let stopped = scene.call(&["stop", "one"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.stderr.contains("kennel.toml:1:9: "), "{stopped:?}");
    // Kill both at once: a daemon that notices the end of its yard starts another one.
    Victims { daemon: true, keeper: false, yard: true }.kill(&scene, None);
    eventually("both are gone", || (scene.yard(), scene.daemon()) == (None, None));
    let stopped = scene.call(&["stop", "two"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.stdout.contains("two: stopped"), "{stopped:?}");
    // An explicitly named file must be valid.
    let named = default_file(&scene);
    let refused = scene.call(&["--config", named.to_str().expect("plain"), "stop", "--all"]);
    assert_eq!(refused.code, 201, "{refused:?}");
    scene.stop_daemon();
}

/// How many sessions are on record.
fn on_record(scene: &Scene) -> usize {
    scene.sessions().len()
}

fn run_some(scene: &Scene, number: usize) {
    for _ in 0..number {
        let id = scene.launch(&[], &["exit", "0"]);
        scene.call_ok(&["wait", &id]);
        scene.wait_phase(&id, "cleaned");
    }
}

fn crash_daemon(scene: &Scene) {
    let before = scene.daemon().expect("a daemon");
    signal(before, "KILL");
    eventually("another daemon is there", || scene.daemon().is_some_and(|pid| pid != before));
}

#[test]
fn the_daemons_settings_survive_a_crash_and_a_restart_reloads_them() {
    let Some(scene) = scene() else { return };
    configure(&scene, "daemon.ended_kept = 2");
    run_some(&scene, 4);
    fs::remove_file(default_file(&scene)).expect("it was there");
    crash_daemon(&scene);
    eventually("two are kept", || on_record(&scene) == 2);
    run_some(&scene, 1);
    // The yard ends too: the daemon starts another, which starts a daemon.
    let (yard, daemon) = (scene.yard().expect("a yard"), scene.daemon().expect("a daemon"));
    signal(yard, "KILL");
    eventually("another yard is there", || scene.yard().is_some_and(|pid| pid != yard));
    // A client that connects too early would start a daemon itself, without settings.
    eventually("and its daemon", || scene.daemon().is_some_and(|pid| pid != daemon));
    eventually("two are kept", || on_record(&scene) == 2);
    // The default keeps many.
    scene.call_ok(&["daemon", "restart"]);
    assert!(!scene.kennel_home().join("daemon.settings").exists());
    run_some(&scene, 1);
    crash_daemon(&scene);
    assert_eq!(on_record(&scene), 3);
    let restarted = call_with(&scene, &[("KENNEL_DAEMON_ENDED_KEPT", "1")], &["daemon", "restart"]);
    assert_eq!(restarted.code, 0, "{restarted:?}");
    eventually("one is kept", || on_record(&scene) == 1);
    scene.stop_daemon();
}

/// A restart with an invalid file leaves the daemon unchanged.
#[test]
fn a_daemon_is_not_restarted_with_a_wrong_file() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let before = scene.daemon();
    configure(&scene, "daemon.ended_kept = 'many'");
    let refused = scene.call(&["daemon", "restart"]);
    assert_eq!(refused.code, 201, "{refused:?}");
    assert!(refused.stderr.contains("kennel.toml:1:21: invalid number \"many\""), "{refused:?}");
    assert_eq!(scene.daemon(), before);
    assert!(!scene.kennel_home().join("daemon.settings").exists());
    scene.stop_daemon();
}

/// Settings that another version left, or half of them, must not prevent a daemon from starting.
#[test]
fn invalid_stored_settings_are_reported_and_ignored() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    for text in ["{\"ended_kept\": ", "{\"from_the_future\": \"1\"}"] {
        fs::write(scene.kennel_home().join("daemon.settings"), text).expect("written");
        crash_daemon(&scene);
        run_some(&scene, 1);
    }
    let logs = scene.logs();
    assert!(logs.contains("ignoring settings in the home: can't read them"), "{logs}");
    assert!(logs.contains("from_the_future: unknown setting"), "{logs}");
    scene.stop_daemon();
}

#[test]
fn settings_are_shown_with_their_origin() {
    let Some(scene) = scene() else { return };
    configure(&scene, "profile = 'ci'\n[run]\nlinger = '3s'\n[profiles.ci]\ngrace = '1s'\n");
    let variables = [("KENNEL_RUN_PEN", "subtree"), ("KENNEL_STOP_GRACE", "4s")];
    let ended = call_with(&scene, &variables, &["config", "show"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let shown = ended.stdout.replace(default_file(&scene).to_str().expect("plain"), "FILE");
    let (head, table) = shown.split_once("\n\n").expect("a head and a table");
    assert_eq!(head, "file     FILE\nprofile  ci (FILE:1)");
    // The longest key determines the column width.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (built_in, set): (Vec<_>, Vec<_>) =
        table.lines().map(words).partition(|line| line.ends_with(" default"));
    assert_eq!(
        set,
        [
            "KEY VALUE FROM",
            "run.grace 1s profile ci in FILE:5",
            "run.linger 3s FILE:3",
            "run.pen subtree env KENNEL_RUN_PEN",
            "stop.grace 4s env KENNEL_STOP_GRACE",
        ]
    );
    for line in [
        "run.detach false default",
        "run.tty - default",
        "run.lease 15m default",
        "prune.older_than - default",
        "daemon.ended_kept 1000 default",
    ] {
        assert!(built_in.iter().any(|other| other == line), "{line} in {built_in:#?}");
    }
    let checked = scene.call_ok(&["config", "check"]);
    assert_eq!(checked, format!("{}: valid\n", default_file(&scene).display()));
    fs::remove_file(default_file(&scene)).expect("it was there");
    let without = scene.call_ok(&["config", "show"]);
    assert!(
        without.starts_with(&format!(
            "file     {} (does not exist)\n",
            default_file(&scene).display()
        ))
    );
    assert_eq!(scene.yard(), None, "nothing was started for it");
}

/// A file may be a pipe, which can be read only once; the daemon started for the run gets its
/// settings.
#[test]
fn a_file_that_can_be_read_only_once_is_enough() {
    let Some(scene) = scene() else { return };
    let text = "run.grace = '17s'\ndaemon.ended_kept = 3\n";
    let script =
        r#"printf %s "$TEXT" | "$KENNEL" --config /dev/stdin run -d -i -- "$AGENT" exit 0"#;
    let mut shell = scene.command(std::path::Path::new("/bin/sh"));
    shell.args(["-c", script]).env("TEXT", text).env("KENNEL", scene.path("kennel"));
    shell.env("AGENT", scene.fake_agent()).env("KENNEL_HOME", scene.kennel_home());
    let ended = Running::start(shell).wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(seconds(&scene.session(ended.stdout.trim_end())["spec"]["grace_ms"]), 17);
    let handed = fs::read_to_string(scene.kennel_home().join("daemon.settings")).expect("left");
    assert!(handed.contains("\"ended_kept\": \"3\""), "{handed}");
    scene.stop_daemon();
}

/// A limit may come from the environment of the client that started the daemon.
#[test]
fn the_settings_in_force_are_shown() {
    let Some(scene) = scene() else { return };
    configure(&scene, "[daemon]\nkey_retention = '2h'\nmax_live_by_name = { 'ci-*' = 3 }\n");
    let started = call_with(&scene, &[("KENNEL_DAEMON_MAX_LIVE", "5")], &["daemon", "start"]);
    assert_eq!(started.code, 0, "{started:?}");
    // Later settings do not change the running daemon.
    configure(&scene, "[daemon]\nkey_retention = '3h'\n");
    let settings = &scene.call_json(&["daemon", "status", "--json"])["settings"];
    assert_eq!(settings["max_live"], 5, "{settings:#}");
    assert_eq!(settings["max_launching"], Value::Null, "{settings:#}");
    assert_eq!(settings["max_live_by_name"], serde_json::json!({"ci-*": 3}), "{settings:#}");
    assert_eq!(settings["key_retention_ms"], 7_200_000, "{settings:#}");
    assert_eq!(settings["ended_kept"], 1000, "{settings:#}");
    let text = scene.call_ok(&["daemon", "status"]);
    for line in ["max_live          5", "max_live_by_name  ci-* = 3", "key_retention     2h"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    scene.stop_daemon();
}
