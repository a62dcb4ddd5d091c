//! The commands, as people and programs use them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use kennel_testing::{Pen, Running, Scene, Who, eventually, everywhere, signal, skip};
use serde_json::Value;

use crate::crash_case::Victims;

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// The field names are stable.
#[test]
fn the_json_of_a_session_has_the_stable_fields() {
    let Some(scene) = scene() else { return };
    let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
    let session = scene.session("x");
    let fields: BTreeSet<&str> =
        session.as_object().expect("an object").keys().map(String::as_str).collect();
    for field in [
        "id",
        "name",
        "phase",
        "wanted",
        "pid",
        "pen",
        "exit",
        "reason",
        "created_at",
        "started_at",
        "ended_at",
        "exit_code",
        "spec",
        "folder",
    ] {
        assert!(fields.contains(field), "{field} in {fields:?}");
    }
    assert_eq!(session["id"], Value::from(id.as_str()));
    assert_eq!(session["phase"], "running");
    assert_eq!(session["wanted"], "running");
    assert_eq!(session["pid"], scene.pid_of("agent"));
    assert_eq!(session["pen"], "subtree");
    assert!(session["exit"].is_null() && session["reason"].is_null());
    let created = session["created_at"].as_str().expect("a time");
    assert!(created.ends_with('Z') && created.contains('T'), "{created}");
    let inspect = || scene.call_json(&["inspect", "x", "--json"]);
    // Rows that are not synced are written a moment later.
    let complete = || inspect()["timeline"].as_array().is_some_and(|events| events.len() == 4);
    eventually("its history is written", complete);
    let inspected = inspect();
    assert_eq!(inspected["session"]["id"], session["id"]);
    assert_eq!(inspected["keeper_pid"], scene.keeper().expect("a keeper"));
    assert_eq!(inspected["members"][0]["pid"], scene.pid_of("agent"));
    assert_eq!(inspected["usage"]["processes"], 1);
    let kinds: Vec<_> = inspected["timeline"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| event["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["reserved", "launching", "starting", "running"]);
    let people = scene.call_ok(&["inspect", "x"]);
    assert!(people.contains(&id) && people.contains("subtree"), "{people}");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

/// Inside of its namespace, the agent has another pid.
#[test]
fn inspect_and_ps_show_the_same_pid_of_a_pid_namespace() {
    let Some(scene) = scene() else { return };
    let args = ["run", "-d", "--pen", "pidns", "--name", "x", "--", "sleep", "60"];
    let started = scene.call(&args);
    if started.code == 203 {
        return skip("a pid namespace", &started.stderr);
    }
    let line = format!("agent       pid {}\n", scene.session("x")["pid"]);
    let page = scene.call_ok(&["inspect", "x"]);
    assert!(page.contains(&line), "{line} is not in {page}");
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

#[test]
fn sessions_are_found_by_name_id_or_id_prefix() {
    let Some(scene) = scene() else { return };
    let one = scene.launch_ready(&["--name", "fix-login"], &["sleep"]);
    let two = scene.launch_ready(&[], &["sleep"]);
    let listed = scene.call_ok(&["ps"]);
    assert!(listed.contains("fix-login") && listed.contains(&two), "{listed}");
    assert_eq!(scene.call_ok(&["ps", "-q"]), format!("{one}\n{two}\n"));
    let common = one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count();
    let inspect = |reference: &str| scene.call(&["inspect", reference, "--json"]);
    for reference in ["fix-login", &one, &one[..=common]] {
        let shown: Value = serde_json::from_str(&inspect(reference).stdout).expect("JSON");
        assert_eq!(shown["session"]["id"], Value::from(one.as_str()), "{reference}");
    }
    if common > 0 {
        let ambiguous = inspect(&one[..common]);
        assert_eq!(ambiguous.code, 1);
        assert!(ambiguous.stderr.contains(&one) && ambiguous.stderr.contains(&two));
    }
    for slip in ["fix-logni", "fixlogin"] {
        let refused = inspect(slip);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("did you mean fix-login?"), "{refused:?}");
    }
    let refused = scene.run(&["-d", "--name", "fix-login"], &["sleep"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains("taken"), "{refused:?}");
    scene.call_ok(&["stop", &one[..=common]]);
    // A name is free again when its session is over; then it means the latest.
    let third = scene.launch_ready(&["--name", "fix-login"], &["sleep"]);
    assert_eq!(scene.call_json(&["inspect", "fix-login", "--json"])["session"]["id"], third[..]);
    scene.call_ok(&["stop", "--all"]);
    assert_eq!(scene.call_ok(&["ps", "-q"]), "");
    assert_eq!(scene.call_ok(&["ps", "-aq"]).lines().count(), 3);
    scene.stop_daemon();
}

#[test]
fn logs_can_be_filtered_by_lines_time_and_stream() {
    let Some(scene) = scene() else { return };
    let script = "echo one; echo bad >&2; echo two; read line; echo three; echo worse >&2; exit 3";
    let id = scene.launch_command(&["-i", "--name", "x"], &["/bin/sh", "-c", script]);
    eventually("it waits", || scene.output(&id).contains("two"));
    let mut follower = Running::start(scene.kennel(&["logs", "-f", "--stream", "out", "x"]));
    follower.wait_line("two");
    let moment = scene.call_ok(&["logs", "-t", "--tail", "1", "--stream", "out", "x"]);
    assert!(moment.ends_with("Z two\n"), "{moment}");
    scene.call_ok(&["send", "x", "--enter", ""]);
    assert_eq!(scene.call(&["wait", "x"]).code, 3);
    let followed = follower.wait();
    assert_eq!((followed.code, followed.stdout.as_str()), (0, "one\ntwo\nthree\n"));
    let logs = |args: &[&str]| scene.call(&[&["logs", "x"], args].concat());
    let all = logs(&[]);
    assert_eq!((all.stdout.as_str(), all.stderr.as_str()), ("one\ntwo\nthree\n", "bad\nworse\n"));
    assert_eq!(logs(&["--stream", "err"]).stdout, "");
    assert_eq!(logs(&["--stream", "err"]).stderr, "bad\nworse\n");
    assert_eq!(logs(&["--tail", "2", "--stream", "out"]).stdout, "two\nthree\n");
    assert_eq!(logs(&["-n", "0"]).stdout, "");
    assert_eq!(logs(&["--since", "1h"]).stdout, "one\ntwo\nthree\n");
    assert_eq!(logs(&["--since", "2000-01-01T00:00:00Z"]).stdout, "one\ntwo\nthree\n");
    assert_eq!(logs(&["--since", "2999-01-01T00:00:00Z"]).stdout, "");
    let json = logs(&["--json"]).stdout;
    let pieces: Vec<Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = |stream: &str| -> String {
        let of = pieces.iter().filter(|piece| piece["stream"] == stream);
        of.map(|piece| piece["data"].as_str().expect("text")).collect()
    };
    assert_eq!(
        (text("stdout").as_str(), text("stderr").as_str()),
        ("one\ntwo\nthree\n", "bad\nworse\n")
    );
    scene.stop_daemon();
}

#[test]
fn wait_returns_the_agents_exit_code() {
    let Some(scene) = scene() else { return };
    let cases: [(&[&str], i32, &str); 4] = [
        (&["exit", "0"], 0, "0"),
        (&["exit", "37"], 37, "37"),
        (&["signal", "6"], 134, "134"),
        (&["signal", "9"], 137, "137"),
    ];
    let mut ids = Vec::new();
    for (behaviour, code, printed) in cases {
        let id = scene.launch(&[], behaviour);
        let ended = scene.call(&["wait", &id]);
        assert_eq!((ended.code, ended.stdout.trim_end()), (code, printed), "{behaviour:?}");
        ids.push(id);
    }
    let both = scene.call(&["wait", &ids[1], &ids[0]]);
    assert_eq!((both.code, both.stdout.as_str()), (0, "37\n0\n"), "the last one's code");
    let json = scene.call(&["wait", "--json", &ids[1]]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json[0]["exit"]["code"], 37);
    assert_eq!(scene.call(&["wait", "nobody"]).code, 206);
    // A running session is waited for, also after a daemon crash.
    let id = scene.launch_ready(&[], &["sleep"]);
    let mut waiting = Running::start(scene.kennel(&["wait", &id]));
    signal(scene.daemon().expect("a daemon"), "KILL");
    scene.call_ok(&["ps"]);
    assert!(!waiting.has_ended());
    scene.call_ok(&["stop", &id]);
    assert_eq!(waiting.wait().code, 143);
    scene.stop_daemon();
}

#[test]
fn text_and_signals_reach_a_session() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["-i", "--name", "x"], &["echo"]);
    scene.call_ok(&["send", "x", "hello "]);
    scene.call_ok(&["send", "--enter", "x", "world"]);
    let mut piped = scene.kennel(&["send", "x", "-"]);
    piped.stdin(Stdio::piped());
    let mut piped = Running::start(piped);
    piped.stdin().expect("piped").write_all(b"from a pipe\n").expect("written");
    assert_eq!(piped.wait().code, 0);
    eventually("all input was echoed", || scene.output(&id) == "hello world\nfrom a pipe\n");
    scene.call_ok(&["send", "--eof", "x"]);
    assert_eq!(scene.call(&["wait", "x"]).code, 0, "it ended with its input");
    let late = scene.call(&["send", "x", "late"]);
    assert_eq!(late.code, 1, "{late:?}");
    let deaf = scene.launch_ready(&["--name", "deaf"], &["sleep"]);
    let refused = scene.call(&["send", "deaf", "hello"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    scene.call_ok(&["signal", "deaf", "USR1"]);
    assert_eq!(scene.call(&["wait", &deaf]).code, 128 + 10);
    let session = scene.session("deaf");
    assert_eq!(session["wanted"], "running", "a signal is not a stop request: {session:#}");
    assert_eq!(scene.call(&["signal", "deaf", "NONSENSE"]).code, 201);
    scene.stop_daemon();
}

#[test]
fn events_show_what_happened_and_the_caller() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let mut follow = scene.kennel(&["events", "-f", "--json"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(follow.stdout.take().expect("piped")).lines();
    let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
    signal(scene.daemon().expect("a daemon"), "KILL");
    scene.call_ok(&["stop", "x"]);
    let (mut kinds, mut last, mut by) = (Vec::new(), 0, None);
    while kinds.last().is_none_or(|kind| kind != "cleaned") {
        let line = lines.next().expect("it continues").expect("a line");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let number = event["seq"].as_u64().expect("a number");
        assert!(number > last, "{number} after {last}: no event is repeated");
        last = number;
        let kind = event["kind"].as_str().expect("a kind").to_owned();
        if kind == "wanted_stopped" {
            by = event["by"].as_str().map(ToOwned::to_owned);
        }
        if event["session"] == id[..] {
            kinds.push(kind);
        }
    }
    follow.kill().expect("our child");
    follow.wait().expect("our child");
    for kind in ["reserved", "running", "adopted", "wanted_stopped", "reaped", "cleaned"] {
        assert!(kinds.iter().any(|other| other == kind), "{kind} in {kinds:?}");
    }
    assert!(by.is_some_and(|by| by.contains("kennel stop")), "the event names the caller");
    let of_one = scene.call_ok(&["events", "--session", "x"]);
    assert!(of_one.lines().all(|line| line.contains(&id)), "{of_one}");
    let later = scene.call_ok(&["events", "--since", &last.to_string()]);
    assert!(!later.contains("reserved"), "{later}");
    scene.stop_daemon();
}

#[test]
fn ended_sessions_are_removed_and_live_ones_are_not() {
    let Some(scene) = scene() else { return };
    let live = scene.launch_ready(&["--name", "live"], &["sleep"]);
    let over: Vec<_> = (0..3).map(|_| scene.launch(&[], &["exit", "0"])).collect();
    for id in &over {
        scene.call_ok(&["wait", id]);
    }
    let refused = scene.call(&["rm", "live", &over[0]]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("has not ended"), "{refused:?}");
    assert_eq!(refused.stdout, format!("{}\n", over[0]), "a failure does not affect the others");
    assert!(!scene.session_folder(&over[0]).exists());
    assert_eq!(scene.call_ok(&["prune", "--older-than", "1h"]), "");
    let pruned = scene.call_ok(&["prune"]);
    assert_eq!(
        pruned.lines().collect::<BTreeSet<_>>(),
        over[1..].iter().map(|id| &id[..]).collect()
    );
    assert_eq!(scene.call_ok(&["ps", "-aq"]), format!("{live}\n"));
    assert_eq!(scene.call(&["forget", "live"]).code, 1, "it is not lost");
    scene.call_ok(&["rm", "--force", "live"]);
    scene.assert_nothing_left();
    assert_eq!(fs::read_dir(scene.kennel_home().join("sessions")).expect("a folder").count(), 0);
    scene.stop_daemon();
}

/// Both the daemon and the keeper record times.
#[test]
fn no_session_ends_before_its_start() {
    let Some(scene) = scene() else { return };
    for _ in 0..20 {
        scene.launch_command(&[], &["true"]);
    }
    for session in scene.sessions() {
        let session = scene.wait_phase(session["id"].as_str().expect("an id"), "cleaned");
        let time = |field: &str| session[field].as_str().expect("a time").to_owned();
        let times = ["created_at", "started_at", "ended_at"].map(time);
        assert!(times.is_sorted(), "{times:?}");
    }
    scene.stop_daemon();
}

#[test]
fn an_output_limit_that_is_too_small_is_refused() {
    let Some(scene) = scene() else { return };
    for limit in ["0", "1K", "127K"] {
        let refused = scene.run(&["-d", "--output-limit", limit], &["exit", "0"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (201, ""), "{refused:?}");
        assert!(refused.stderr.contains("128.0 KiB (131072 bytes)"), "{refused:?}");
    }
    scene.launch(&["--output-limit", "128K"], &["exit", "0"]);
    scene.stop_daemon();
}

#[test]
fn the_daemon_reports_its_status() {
    let Some(scene) = scene() else { return };
    let none = scene.call(&["daemon", "status", "--json"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert_eq!(scene.yard(), None, "a status request starts nothing");
    scene.call_ok(&["daemon", "start"]);
    let status = scene.call_json(&["daemon", "status", "--json"]);
    assert_eq!(status["pid"], scene.daemon().expect("a daemon"));
    assert_eq!(status["yard_pid"], scene.yard().expect("a yard"));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["home"], Value::from(scene.kennel_home().to_str()));
    let people = scene.call_ok(&["daemon", "status"]);
    assert!(people.contains("running, pid"), "{people}");
    assert!(scene.call_ok(&["daemon", "logs"]).contains("daemon_started"));
    let unit = scene.call_ok(&["daemon", "unit"]);
    assert!(unit.contains("Delegate=yes") && unit.contains("KillMode=process"), "{unit}");
    let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
    scene.call_ok(&["daemon", "restart"]);
    assert_ne!(scene.call_json(&["daemon", "status", "--json"])["pid"], status["pid"]);
    assert_eq!(scene.session(&id)["phase"], "running");
    let printed = scene.call_ok(&["daemon", "stop"]);
    assert!(printed.contains("x: stopped in") && printed.contains("143 (TERM)"), "{printed}");
    eventually("both have exited", || scene.all_processes().is_empty());
    scene.stop_daemon();
}

everywhere! {
    /// A stray, and a process that only looks like one.
    fn strays_are_found_and_ended(scene: Scene) {
        assert_eq!(scene.call_ok(&["strays"]), "no strays\n");
        let id = scene.launch(&["--name", "x"], &["exit", "0"]);
        scene.call_ok(&["wait", &id]);
        let home_id = fs::read_to_string(scene.kennel_home().join("id")).expect("an id");
        let home_id = home_id.lines().next().expect("an id");
        let mut stray = scene.command(std::path::Path::new(&scene.fake_agent()));
        stray.arg("sleep").env("KENNEL_HOME_ID", home_id).env("KENNEL_SESSION_ID", &id);
        let mut stray = Running::start(stray);
        stray.wait_ready();
        let found = scene.call_json(&["strays", "--json"]);
        assert_eq!(found["strays"][0]["pid"], stray.pid(), "{found:#}");
        assert_eq!(found["strays"][0]["session"], id[..], "{found:#}");
        assert_eq!(found["strays"][0]["mark"], "cookie", "{found:#}");
        let ended = scene.call_ok(&["strays", "--end"]);
        assert!(ended.contains(&format!("ended: {}", stray.pid())), "{ended}");
        assert_eq!(stray.wait().code, -9);
        assert_eq!(scene.call_ok(&["strays"]), "no strays\n");
        scene.stop_daemon();
    }

    /// Works without daemon and register.
    fn rescue_lists_and_ends_processes(scene: Scene) {
        let id = scene.launch_ready(&["--name", "x"], &["env-i"]);
        let over = scene.launch(&[], &["exit", "0"]);
        scene.call_ok(&["wait", &over]);
        // Kill both at once: a daemon that notices the end of its yard starts another one.
        Victims { daemon: true, keeper: false, yard: true }.kill(&scene, None);
        let register = scene.kennel_home().join("register.db");
        fs::rename(&register, scene.path("home/away")).expect("moved");
        let found = scene.call_json(&["rescue", "--json"]);
        let sessions = found["sessions"].as_array().expect("a list");
        let live = sessions.iter().find(|session| session["id"] == id[..]).expect("it is found");
        assert_eq!(live["agent_lives"], true, "{live:#}");
        let people = scene.call_ok(&["rescue"]);
        assert!(people.contains(&id) && people.contains("1 live session"), "{people}");
        assert_eq!((scene.yard(), scene.daemon()), (None, None), "nothing was started");
        let ended = scene.call(&["rescue", "--end"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        scene.assert_nothing_left();
        assert!(!register.exists(), "no register was made");
    }
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let Some(scene) = scene() else { return };
    for _ in 0..3 {
        let id = scene.launch(&[], &["exit", "0"]);
        scene.call_ok(&["wait", &id]);
    }
    let long = scene.launch(&["--name", "long"], &["flood", "2000000"]);
    scene.call_ok(&["wait", &long]);
    for args in [&["ps", "-a"][..], &["logs", "long"], &["events"], &["completions", "bash"]] {
        let mut command = scene.kennel(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut first = [0; 1];
        child.stdout.take().expect("piped").read_exact(&mut first).expect("a byte");
        let output = child.wait_with_output().expect("our child");
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
    }
    scene.stop_daemon();
}

#[test]
fn completions_are_valid_shell_code() {
    let Some(scene) = scene() else { return };
    let script = scene.path("work/completions");
    fs::write(&script, scene.call_ok(&["completions", "bash"])).expect("written");
    let mut bash = scene.command(std::path::Path::new("bash"));
    bash.args(["-c", "source ./completions && complete -p kennel"]);
    let ended = Running::start(bash).wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    for shell in ["zsh", "fish"] {
        assert!(scene.call_ok(&["completions", shell]).contains("rescue"));
    }
    assert_eq!(scene.yard(), None, "nothing was started for it");
}

/// Completes session names with a running daemon, and starts none.
#[test]
fn names_of_sessions_are_completed() {
    let Some(scene) = scene() else { return };
    let script = scene.path("work/completions");
    fs::write(&script, scene.call_ok(&["completions", "bash"])).expect("written");
    let kennel = scene.path("kennel").display().to_string();
    let complete = |words: &str| {
        let mut bash = scene.command(std::path::Path::new("bash"));
        // As bash calls it: with the program, the current word and the previous one.
        let words = words.trim_start_matches("kennel ");
        let script = format!(
            "source ./completions; COMP_WORDS=('{kennel}' {words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _kennel_or_session '{kennel}' \"${{COMP_WORDS[COMP_CWORD]}}\" \
             \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        bash.args(["-c", &script]);
        bash.env("KENNEL_HOME", scene.kennel_home());
        let ended = Running::start(bash).wait();
        assert_eq!(ended.code, 0, "{words}: {ended:?}");
        ended.stdout.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete("kennel stop ''"), [""], "no daemon, no sessions");
    assert_eq!(scene.yard(), None, "nothing was started for it");
    let live = scene.launch_ready(&["--name", "login-page"], &["sleep"]);
    let over = scene.launch(&["--name", "logged"], &["exit", "0"]);
    scene.wait_phase(&over, "cleaned");
    for words in ["stop log", "stop --grace 5s log", "stop other log", "--home x send log"] {
        assert_eq!(complete(&format!("kennel {words}")), ["login-page"], "{words}");
    }
    assert_eq!(complete("kennel stop ''"), ["login-page", live.as_str()]);
    for words in
        ["logs log", "logs -f log", "rm x log", "events --session log", "events --session = log"]
    {
        assert_eq!(complete(&format!("kennel {words}")), ["logged", "login-page"], "{words}");
    }
    assert_eq!(complete("kennel st"), ["stop", "strays"], "verbs as before");
    assert_eq!(complete("kennel stop --gr"), ["--grace"], "flags as before");
    for words in ["logs login-page log", "stop --grace log", "signal login-page log"] {
        let offered = complete(&format!("kennel {words}"));
        assert!(!offered.iter().any(|word| word == "login-page"), "{words}: {offered:?}");
    }
    scene.call_ok(&["stop", "login-page"]);
    scene.stop_daemon();
}

/// Colours are for terminals.
#[test]
fn tables_have_no_colors_in_a_pipe() {
    let Some(scene) = scene() else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    for args in [&["ps"][..], &["inspect", &id], &["events"]] {
        assert!(!scene.call_ok(args).contains('\u{1b}'), "{args:?}");
    }
    scene.call_ok(&["stop", "--all"]);
    scene.stop_daemon();
}

/// A mix-up would end the wrong session.
#[test]
fn a_name_that_could_be_an_id_is_refused() {
    let Some(scene) = scene() else { return };
    for name in ["0snaezkwnksg", "0snaezkwnksg_1", "0snaezkwnksg_12"] {
        let refused = scene.run(&["-d", "--name", name], &["sleep"]);
        assert_eq!(refused.code, 201, "{refused:?}");
        assert!(refused.stderr.contains("looks like a session id"), "{refused:?}");
    }
    let id = scene.launch_ready(&["--name", "fix"], &["sleep"]);
    let refused = scene.run(&["-d", "--name", &id[..5]], &["sleep"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    assert!(refused.stderr.contains(&format!("the id {id} begins with it")), "{refused:?}");
    let fine = scene.run(&["--name", "0snaezkwnks", "-d"], &["exit", "0"]);
    assert_eq!(fine.code, 0, "{fine:?}");
    scene.call_ok(&["stop", "fix"]);
    scene.stop_daemon();
}

#[test]
fn an_error_shows_the_name_that_was_typed() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&["--name", "fix"], &["exit", "0"]);
    scene.wait_phase("fix", "cleaned");
    for args in [&["send", "fix", "hello"][..], &["signal", "fix", "TERM"]] {
        let refused = scene.call(args);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains(&format!("session fix ({id}) is not running")),
            "{refused:?}"
        );
    }
    scene.stop_daemon();
}

/// The running daemon recreates deleted sockets; no client hangs and no session ends.
#[test]
fn a_daemon_whose_sockets_were_deleted_can_be_reached_again() {
    let Some(scene) = scene() else { return };
    let id = scene.launch_ready(&["--name", "x"], &["sleep"]);
    let daemon = scene.daemon().expect("a daemon");
    let waiting = Running::start(scene.kennel(&["wait", "x"]));
    for name in ["kennel.sock", "deposit.sock"] {
        let socket = scene.kennel_home().join(name);
        for away in [None, Some(scene.path("home/away"))] {
            match away {
                None => fs::remove_file(&socket).expect("it was there"),
                Some(away) => fs::rename(&socket, away).expect("it was there"),
            }
            assert_eq!(scene.session("x")["phase"], "running");
            eventually("it is recreated", || socket.exists());
            let run = scene.run(&[], &["exit", "3"]);
            assert_eq!(run.code, 3, "{run:?}");
        }
    }
    assert_eq!(scene.daemon(), Some(daemon), "it is still the same");
    scene.call_ok(&["stop", &id]);
    assert_eq!(waiting.wait().code, 143, "the waiting client is answered");
    scene.stop_daemon();
    assert!(!scene.kennel_home().join("kennel.sock").exists(), "none is left");
}
