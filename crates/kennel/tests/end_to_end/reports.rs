//! Reports of agents: accepted only from the current launch.

use std::fs;
use std::process::Command;
use std::time::Duration;

use kennel_testing::{
    Ended, Pen, Running, Scene, Who, alive, eventually, everywhere, signal, skip,
};
use serde_json::Value;

use crate::launch_and_cancel::{assert_cleaned, scene_with_points};

/// `kennel report ARGS…` as a process of this session calls it, with the token from its folder.
pub(crate) fn reporting(scene: &Scene, session: &str, args: &[&str]) -> Command {
    let id = scene.session(session)["id"].as_str().expect("an id").to_owned();
    let file = scene.session_folder(&id).join("token");
    let mut command = scene.kennel(&[&["report"], args].concat());
    command.env("KENNEL_SESSION", id).env("KENNEL_TOKEN_FILE", file);
    command
}

fn report(scene: &Scene, session: &str, args: &[&str]) -> Ended {
    Running::start(reporting(scene, session, args)).wait()
}

/// The token of a live session.
fn token(scene: &Scene, id: &str) -> String {
    fs::read_to_string(scene.session_folder(id).join("token")).expect("its token")
}

/// `kennel report` with this session and token, from outside.
fn claiming(scene: &Scene, session: &str, token: &str, args: &[&str]) -> Command {
    let mut command = scene.kennel(&[&["report"], args].concat());
    command.env("KENNEL_SESSION", session).env("KENNEL_TOKEN", token);
    command
}

fn claim(scene: &Scene, session: &str, token: &str, args: &[&str]) -> Ended {
    Running::start(claiming(scene, session, token, args)).wait()
}

/// A session's view without the fields that reports do not affect.
fn seen(scene: &Scene, id: &str) -> Value {
    let session = scene.session(id);
    let parts = ["phase", "wanted", "ready", "activity", "title", "progress", "pid", "reason"];
    Value::from_iter(parts.map(|part| (part, session[part].clone())))
}

fn events(scene: &Scene, kind: &str) -> Vec<Value> {
    let text = scene.call_ok(&["events", "--json"]);
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.filter(|event| event["kind"] == kind).collect()
}

/// A shell in a session that sends these reports in order and keeps running.
fn script(scene: &Scene, reports: &[&str]) -> String {
    let kennel = scene.path("kennel");
    let calls = reports.iter().map(|report| format!("{} report {report}", kennel.display()));
    format!(
        "{} && echo reported && exec {} sleep",
        calls.collect::<Vec<_>>().join(" && "),
        scene.fake_agent()
    )
}

everywhere! {
    fn an_agent_reports_with_its_environment(scene: Scene) {
        let script = script(&scene, &["ready", "busy", "title 'the login page'", "progress 40"]);
        let flags = ["--ready", "report", "--wait-ready", "--name", "x"];
        let id = scene.launch_command(&flags, &["/bin/sh", "-c", &script]);
        assert_eq!(scene.session(&id)["ready"], "ready");
        eventually("all reports are sent", || scene.output(&id).contains("reported"));
        let session = scene.session(&id);
        assert_eq!(session["activity"], "busy", "{session:#}");
        assert_eq!(session["title"], "the login page", "{session:#}");
        assert_eq!(session["progress"], 40, "{session:#}");
        let list = scene.call_ok(&["ps"]);
        assert!(list.contains("running (ready)") && list.contains("busy, 40 %"), "{list}");
        let page = scene.call_ok(&["inspect", &id]);
        for part in ["ready       yes", "busy, 40 %, the login page", "report, within 2m", "ready  "] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert_eq!(report(&scene, &id, &["idle"]).code, 0);
        assert_eq!(scene.session(&id)["activity"], "idle");
        scene.call_ok(&["stop", &id]);
        assert_cleaned(&scene, &id);
        scene.stop_daemon();
    }

    /// R1: as the daemon and the kernel see it.
    fn a_late_report_is_refused_and_revives_nothing(scene: Scene) {
        let id = scene.launch_ready(&["--ready", "report", "--ready-timeout", "1s", "--grace", "100ms"], &["ignore-term", "1"]);
        let secret = token(&scene, &id);
        let over = scene.wait_phase(&id, "cleaned");
        assert_eq!(over["reason"]["kind"], "not_ready", "{over:#}");
        assert_eq!(over["ready"], "missed", "{over:#}");
        scene.assert_nothing_left();
        let before = seen(&scene, &id);
        let late = claim(&scene, &id, &secret, &["ready"]);
        assert_eq!(late.code, 1, "{late:?}");
        assert!(late.stderr.contains("too late for a report"), "{late:?}");
        assert_eq!(seen(&scene, &id), before);
        let refused = events(&scene, "report_refused");
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0]["session"], Value::from(id.as_str()));
        assert_cleaned(&scene, &id);
        scene.stop_daemon();
    }

    /// R5
    fn a_report_without_the_right_token_changes_nothing(scene: Scene) {
        let spent = scene.launch_command(&[], &["/bin/sh", "-c", "printf %s \"$KENNEL_TOKEN\""]);
        scene.wait_phase(&spent, "cleaned");
        let spent_token = scene.output(&spent);
        let other = scene.launch_ready(&["--ready", "report"], &["sleep"]);
        let healthy = scene.launch_ready(&["--ready", "report"], &["sleep"]);
        let before = [seen(&scene, &healthy), seen(&scene, &other)];
        for (token, why) in [
            (token(&scene, &other), "belongs to another session"),
            (spent_token, "too late for a report"),
            ("0".repeat(32), "belongs to no launch"),
            ("nonsense".to_owned(), "belongs to no launch"),
        ] {
            let refused = claim(&scene, &healthy, &token, &["ready"]);
            assert_eq!(refused.code, 1, "{refused:?}");
            assert!(refused.stderr.contains(why), "{why}: {refused:?}");
            assert!(!refused.stderr.contains(&token), "a secret is printed: {refused:?}");
        }
        let mut bare = scene.kennel(&["report", "busy"]);
        bare.env("KENNEL_SESSION", &healthy);
        let refused = Running::start(bare).wait();
        assert_eq!(refused.code, 202, "{refused:?}");
        assert!(refused.stderr.contains("KENNEL_TOKEN"), "{refused:?}");
        let outside = scene.call(&["report", "busy"]);
        assert_eq!(outside.code, 201, "{outside:?}");
        assert!(outside.stderr.contains("not inside a session"), "{outside:?}");
        let unknown = claim(&scene, "0000nosuch", &token(&scene, &other), &["busy"]);
        assert!(unknown.stderr.contains("there is no session"), "{unknown:?}");
        assert_eq!([seen(&scene, &healthy), seen(&scene, &other)], before);
        assert_eq!(events(&scene, "report_refused").len(), 5);
        scene.call_ok(&["stop", "--all"]);
        scene.stop_daemon();
    }

    /// R5: by a tool in the session itself.
    fn a_tool_in_a_healthy_session_may_report_nonsense(scene: Scene) {
        let kennel = scene.path("kennel");
        let script = format!(
            "KENNEL_TOKEN={} {} report busy; echo refused: $?; exec {} sleep",
            "0".repeat(32),
            kennel.display(),
            scene.fake_agent()
        );
        let id = scene.launch_command(&[], &["/bin/sh", "-c", &script]);
        eventually("it continues", || scene.output(&id).contains("ready"));
        assert!(scene.output(&id).contains("refused: 1"), "{}", scene.output(&id));
        let refused = events(&scene, "report_refused");
        let cause = refused[0]["cause"].as_str().expect("a cause");
        assert!(cause.contains(&format!("of session {id}")), "the event names the session: {cause}");
        let session = scene.session(&id);
        assert_eq!((&session["phase"], &session["activity"]), (&"running".into(), &Value::Null));
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }

    /// R6: after a crash and a planned restart.
    fn a_report_during_a_restart_of_the_daemon_is_not_lost(scene: Scene) {
        let id = scene.launch_ready(&["--ready", "report"], &["sleep"]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        let waiting = Running::start(reporting_without_daemon(&scene, &id));
        assert!(scene.daemon().is_none(), "a report starts no daemon");
        scene.call_ok(&["daemon", "start"]);
        let reported = waiting.wait();
        assert_eq!(reported.code, 0, "{reported:?}");
        assert_eq!(scene.session(&id)["ready"], "ready");
        for n in 0..3 {
            signal(scene.daemon().expect("a daemon"), "KILL");
            let reported = Running::start(reporting_progress(&scene, &id, n)).wait();
            assert_eq!(reported.code, 0, "{reported:?}");
            signal(scene.daemon().expect("a daemon"), "KILL");
            assert_eq!(scene.session(&id)["progress"], n, "what was answered was on record");
        }
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }

    /// A process of an ended launch that sends a report is ended.
    fn a_caller_whose_own_launch_is_over_is_ended(scene: Scene) {
        let spent = scene.launch_command(&[], &["/bin/sh", "-c", "printf %s \"$KENNEL_TOKEN\""]);
        scene.wait_phase(&spent, "cleaned");
        let secret = scene.output(&spent);
        let home = home_id(&scene);
        // As if another daemon on the machine had started it for the agent.
        let marked = |mut command: Command, session: &str| {
            command.env("KENNEL_HOME_ID", &home).env("KENNEL_SESSION_ID", session);
            command
        };
        let healthy = scene.launch_ready(&[], &["sleep"]);
        let mut left = scene.command(&scene.path("fake-agent"));
        left.args(["sleep"]);
        let mut left = Running::start(marked(left, &spent));
        left.wait_ready();
        let mut bystander = scene.command(&scene.path("fake-agent"));
        bystander.args(["sleep"]);
        let mut bystander = Running::start(marked(bystander, &healthy));
        bystander.wait_ready();
        let refused = Running::start(marked(claiming(&scene, &spent, &secret, &["ready"]), &spent)).wait();
        assert_eq!(refused.code, 1, "it reads why: {refused:?}");
        assert!(refused.stderr.contains("too late for a report"), "{refused:?}");
        eventually("what is left of the launch is ended", || left.has_ended());
        eventually("the end is on record", || !events(&scene, "stray_ended").is_empty());
        assert!(alive(bystander.pid()), "it does not belong to that launch");
        assert_eq!(scene.session(&healthy)["phase"], "running");
        bystander.signal("KILL");
        let _ended = bystander.wait();
        scene.call_ok(&["stop", &healthy]);
        scene.stop_daemon();
    }
}

/// Like [`reporting`], but without a query for the session, which would start a daemon.
fn reporting_without_daemon(scene: &Scene, id: &str) -> Command {
    claiming(scene, id, &token(scene, id), &["ready"])
}

fn reporting_progress(scene: &Scene, id: &str, percent: u8) -> Command {
    claiming(scene, id, &token(scene, id), &["progress", &percent.to_string()])
}

fn home_id(scene: &Scene) -> String {
    let view = scene.call_json(&["daemon", "status", "--json"]);
    let find = |value: &Value| value["home_id"].as_str().map(ToOwned::to_owned);
    find(&view).or_else(|| find(&view["daemon"])).unwrap_or_else(|| panic!("no id in {view:#}"))
}

/// R6: the daemon is killed at each step of a report.
#[test]
fn a_report_survives_a_daemon_crash() {
    for point in ["daemon.report.received", "daemon.report.judged", "daemon.report.written"] {
        let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
        let id = scene.launch_ready(&["--ready", "report"], &["sleep"]);
        faults.arm(point);
        let reporting = Running::start(reporting_without_daemon(&scene, &id));
        let held = faults.wait_reached(point, Duration::from_secs(20)).expect("the report is held");
        signal(held, "KILL");
        faults.disarm(point);
        let reported = reporting.wait();
        assert_eq!(reported.code, 0, "{point}: {reported:?}");
        assert_eq!(scene.session(&id)["ready"], "ready", "{point}");
        scene.call_ok(&["stop", &id]);
        scene.stop_daemon();
    }
}

/// The socket is enough, for hooks in any language.
#[test]
fn a_report_over_the_socket_needs_no_kennel_program() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let curl = Command::new("curl").arg("--version").output();
    if !curl.is_ok_and(|output| output.status.success()) {
        return skip("a report by curl", "there is no curl");
    }
    let script = r#"
        curl -sS -o answer -w '%{http_code}' --unix-socket "$KENNEL_SOCKET" http://kennel/v1/report \
            -d "{\"session\":\"$KENNEL_SESSION\",\"token\":\"$(cat "$KENNEL_TOKEN_FILE")\",\"report\":\"title\",\"title\":\"by curl\"}"
        curl -sS -w '%{http_code}' --unix-socket "$KENNEL_SOCKET" http://kennel/v1/report \
            -d "{\"session\":\"$KENNEL_SESSION\",\"token\":null,\"report\":\"busy\"}"
        sleep 1000"#;
    let id = scene.launch_command(&[], &["/bin/sh", "-c", script]);
    eventually("both are answered", || scene.output(&id).contains("403"));
    let output = scene.output(&id);
    assert!(output.starts_with("204") && output.contains("\"no_token\""), "{output}");
    let session = scene.session(&id);
    assert_eq!((&session["title"], &session["activity"]), (&"by curl".into(), &Value::Null));
    scene.call_ok(&["stop", &id]);
    scene.stop_daemon();
}
