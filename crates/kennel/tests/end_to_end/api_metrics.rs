//! Monitoring: Prometheus metrics, health, the doctor over HTTP, and resource usage.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kennel_testing::{
    Pen, Running, Scene, SmallDisk, Who, alive, eventually, is_root, signal, skip,
};
use serde_json::Value;

use crate::ask::AskScene;
use crate::reports::reporting;

/// How long any response may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Sends a request.
fn request(scene: &Scene, path: &str) -> UnixStream {
    let socket = scene.kennel_home().join("kennel.sock");
    let mut stream = UnixStream::connect(socket).expect("the daemon listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a bound");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: kennel\r\n\r\n").expect("sent");
    stream
}

/// Status, head and body.
fn get(scene: &Scene, path: &str) -> (u16, String, String) {
    let mut text = String::new();
    request(scene, path).read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), head.to_ascii_lowercase(), body.to_owned())
}

fn get_json(scene: &Scene, path: &str) -> (u16, Value) {
    let (status, _, body) = get(scene, path);
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}")))
}

/// A scene whose socket this process may use, because it is its owner.
fn own_scene(pen: Pen) -> Option<Scene> {
    if !is_root() {
        skip("a look at the daemon's figures", "the scene is another user's");
        return None;
    }
    let scene = Scene::new(Who::Root, pen)?;
    scene.call_ok(&["daemon", "start"]);
    Some(scene)
}

/// Metrics by name and labels, parsed as strictly as the format is specified.
struct Figures {
    samples: BTreeMap<String, f64>,
    /// The families, with their types.
    families: BTreeMap<String, String>,
}

impl Figures {
    fn scrape(scene: &Scene) -> Self {
        let (status, head, body) = get(scene, "/metrics");
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
        let figures = Self::parse(&body);
        figures.assert_histograms_are_sound();
        figures
    }

    fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line is whole");
        let mut families = BTreeMap::new();
        let (mut samples, mut helped) = (BTreeMap::new(), BTreeSet::new());
        // The family whose samples may follow now.
        let mut current: Option<(String, String)> = None;
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').expect("a text");
                assert!(is_name(name) && !words.trim().is_empty(), "{line}");
                assert!(helped.insert(name.to_owned()), "twice: {line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(helped.contains(name), "no help: {line}");
                let twice = families.insert(name.to_owned(), kind.to_owned());
                assert_eq!(twice, None, "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                current = Some((name.to_owned(), kind.to_owned()));
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a value");
                let name = series.split('{').next().expect("a name");
                let (family, kind) = current.as_ref().expect("a family");
                let suffix = name.strip_prefix(family.as_str());
                let suffix = suffix.unwrap_or_else(|| panic!("{line} in {family}"));
                match kind.as_str() {
                    "histogram" => {
                        assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}")
                    }
                    _ => assert_eq!(suffix, "", "{line}"),
                }
                assert_labels(series);
                let value = value.replace("+Inf", "inf").parse::<f64>().expect("a number");
                assert!(value >= 0.0, "{line}");
                assert_eq!(samples.insert(series.to_owned(), value), None, "twice: {line}");
            }
        }
        let names: BTreeSet<_> = families.keys().cloned().collect();
        assert_eq!(names, helped, "each has a help and a type");
        Self { samples, families }
    }

    fn assert_histograms_are_sound(&self) {
        for (name, _) in self.families.iter().filter(|(_, kind)| *kind == "histogram") {
            let bucket = format!("{name}_bucket{{le=\"");
            let bounds = self.samples.iter().filter_map(|(series, count)| {
                let bound = series.strip_prefix(&bucket)?.strip_suffix("\"}")?;
                Some((bound.replace("+Inf", "inf").parse::<f64>().expect("a bound"), *count))
            });
            let mut bounds: Vec<_> = bounds.collect();
            bounds.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(bounds.is_sorted_by_key(|(_, count)| *count), "{name}: {bounds:?}");
            let last = bounds.last().expect("buckets");
            assert_eq!(*last, (f64::INFINITY, self.get(&format!("{name}_count"))), "{name}");
            assert!(self.samples.contains_key(&format!("{name}_sum")), "{name}");
        }
    }

    #[track_caller]
    fn get(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("no {series}"))
    }
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_lowercase())
        && characters
            .all(|other| other.is_ascii_lowercase() || other.is_ascii_digit() || other == '_')
}

fn assert_labels(series: &str) {
    let Some((name, labels)) = series.split_once('{') else { return assert!(is_name(series)) };
    let labels = labels.strip_suffix('}').expect("a closing brace");
    let (label, value) = labels.split_once("=\"").expect("a label");
    let value = value.strip_suffix('"').expect("a closing quote");
    assert!(is_name(name) && is_name(label), "{series}");
    assert!(!value.contains(['"', '\\', '\n']), "one label, and nothing in it to escape: {series}");
}

/// Checks what has changed between two scrapes.
#[track_caller]
fn assert_grown(before: &Figures, after: &Figures, by: &[(&str, f64)]) {
    for (series, by) in by {
        let (before, after) = (before.get(series), after.get(series));
        assert_eq!(after - before, *by, "{series}: {before} then {after}");
    }
}

fn figures_follow(scene: &Scene) {
    let before = Figures::scrape(scene);
    assert_eq!(before.get("kennel_sessions{phase=\"running\"}"), 0.0);
    let id = scene.launch_ready(&["--name", "x"], &["ignore-term", "1"]);
    let running = Figures::scrape(scene);
    assert_grown(
        &before,
        &running,
        &[
            ("kennel_sessions{phase=\"running\"}", 1.0),
            ("kennel_launches_total", 1.0),
            ("kennel_launch_duration_seconds_count", 1.0),
            ("kennel_stop_duration_seconds_count", 0.0),
            ("kennel_launches_reaped_total", 0.0),
            ("kennel_owed_cleanups{kind=\"runtime_files\"}", 0.0),
        ],
    );
    assert!(
        running.get("kennel_register_events_total") > before.get("kennel_register_events_total")
    );
    assert!(
        running.get("kennel_register_flushes_total") > before.get("kennel_register_flushes_total")
    );
    let commits = "kennel_register_commit_duration_seconds_count";
    assert!(running.get(commits) > before.get(commits));
    let token = fs::read_to_string(scene.session_folder(&id).join("token")).expect("its token");
    scene.call_ok(&["stop", &id, "--grace", "200ms"]);
    scene.wait_phase(&id, "cleaned");
    let stopped = Figures::scrape(scene);
    assert_grown(
        &running,
        &stopped,
        &[
            ("kennel_sessions{phase=\"running\"}", -1.0),
            ("kennel_sessions{phase=\"cleaned\"}", 1.0),
            ("kennel_launches_ended_total{reason=\"stopped\"}", 1.0),
            ("kennel_launches_ended_total{reason=\"exited\"}", 0.0),
            ("kennel_launches_reaped_total", 1.0),
            ("kennel_stop_duration_seconds_count", 1.0),
        ],
    );
    let took = stopped.get("kennel_stop_duration_seconds_sum")
        - running.get("kennel_stop_duration_seconds_sum");
    assert!((0.2..60.0).contains(&took), "it had a grace: {took}");
    late_report(scene, &id, &token, &stopped);
    exited(scene);
    stray(scene, &id);
}

fn late_report(scene: &Scene, id: &str, token: &str, before: &Figures) {
    let mut late = scene.kennel(&["report", "ready"]);
    late.env("KENNEL_SESSION", id).env("KENNEL_TOKEN", token);
    assert_eq!(Running::start(late).wait().code, 1);
    let live = scene.launch_ready(&["--ready", "report"], &["sleep"]);
    assert_eq!(Running::start(reporting(scene, &live, &["ready"])).wait().code, 0);
    let grown = [
        ("kennel_reports_refused_total{code=\"spent\"}", 1.0),
        ("kennel_reports_refused_total{code=\"foreign\"}", 0.0),
        ("kennel_reports_taken_total", 1.0),
    ];
    assert_grown(before, &Figures::scrape(scene), &grown);
    scene.call_ok(&["stop", &live]);
}

fn exited(scene: &Scene) {
    let before = Figures::scrape(scene);
    let id = scene.launch_command(&[], &["/bin/sh", "-c", "printf 0123456789"]);
    scene.wait_phase(&id, "cleaned");
    // It is examined after everything else.
    let printed = |figures: &Figures| figures.get("kennel_output_bytes_total");
    eventually("its output is counted", || printed(&Figures::scrape(scene)) > printed(&before));
    let grown = [
        ("kennel_launches_ended_total{reason=\"exited\"}", 1.0),
        ("kennel_output_bytes_total", 10.0),
        ("kennel_output_dropped_bytes_total", 0.0),
        ("kennel_output_unknown_total", 0.0),
        ("kennel_stop_duration_seconds_count", 0.0),
    ];
    assert_grown(&before, &Figures::scrape(scene), &grown);
}

fn stray(scene: &Scene, id: &str) {
    let before = Figures::scrape(scene);
    let home_id = fs::read_to_string(scene.kennel_home().join("id")).expect("an id");
    let mut stray = scene.command(Path::new(&scene.fake_agent()));
    stray.arg("sleep").env("KENNEL_HOME_ID", home_id.lines().next().expect("an id"));
    stray.env("KENNEL_SESSION_ID", id);
    let mut stray = Running::start(stray);
    stray.wait_ready();
    scene.call_ok(&["strays"]);
    assert_grown(&before, &Figures::scrape(scene), &[("kennel_strays_found_total", 0.0)]);
    scene.call_ok(&["strays", "--end"]);
    assert_eq!(stray.wait().code, -9);
    let grown = [("kennel_strays_found_total", 1.0), ("kennel_strays_ended_total", 1.0)];
    assert_grown(&before, &Figures::scrape(scene), &grown);
}

#[test]
fn metrics_follow_events_in_a_cgroup_pen() {
    let Some(scene) = own_scene(Pen::Cgroup) else { return };
    figures_follow(&scene);
    scene.stop_daemon();
}

#[test]
fn metrics_follow_events_in_a_subtree_pen() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    figures_follow(&scene);
    scene.stop_daemon();
}

#[test]
fn a_new_daemon_resets_counters_and_keeps_gauges() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    let before = Figures::scrape(&scene);
    signal(scene.daemon().expect("a daemon"), "KILL");
    scene.wait_phase(&id, "running"); // the client waits for the next daemon
    let after = Figures::scrape(&scene);
    let began = "kennel_daemon_start_time_seconds";
    assert!(after.get(began) > before.get(began));
    assert_eq!(after.get("kennel_launches_total"), 0.0);
    assert_eq!(
        after.get("kennel_launch_duration_seconds_count"),
        0.0,
        "it was not launched by this one"
    );
    assert_eq!(after.get("kennel_sessions{phase=\"running\"}"), 1.0);
    scene.call_ok(&["stop", &id]);
    let after = Figures::scrape(&scene);
    assert_eq!(after.get("kennel_launches_ended_total{reason=\"stopped\"}"), 1.0);
    assert_eq!(after.get("kennel_stop_duration_seconds_count"), 1.0);
    scene.stop_daemon();
}

#[test]
fn verdicts_and_retries_are_counted() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    let ask_scene = AskScene::in_scene(scene, &["ok one", "stale", "ok new"]);
    ask_scene.add("anna");
    let before = Figures::scrape(&ask_scene.scene);
    assert_eq!(before.get("kennel_members"), 1.0);
    assert_eq!(ask_scene.ask(&["anna", "hello"]).code, 0);
    assert_eq!(ask_scene.ask(&["anna", "and then?"]).code, 0);
    let grown = [
        ("kennel_prompts_judged_total{verdict=\"succeeded\"}", 2.0),
        ("kennel_prompts_judged_total{verdict=\"stale_conversation\"}", 1.0),
        ("kennel_prompt_retries_total", 1.0),
        ("kennel_restarts_total", 0.0),
        ("kennel_launches_total", 3.0),
    ];
    let after = Figures::scrape(&ask_scene.scene);
    assert_grown(&before, &after, &grown);
    let sessions: f64 = after
        .samples
        .iter()
        .filter(|(k, _)| k.starts_with("kennel_sessions{"))
        .map(|(_, n)| n)
        .sum();
    assert_eq!(sessions, 2.0, "three launches, two sessions");
    ask_scene.end();
}

/// The documentation and the daemon list the same metrics.
#[test]
fn the_documentation_lists_every_metric() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = fs::read_to_string(path).expect("the page");
    let rows = page.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once('`')?;
        is_name(name).then_some(())?; // others are requests
        let kind = rest.split('|').nth(1)?.trim();
        Some((name.to_owned(), kind.to_owned()))
    });
    let listed: BTreeMap<_, _> = rows.collect();
    assert_eq!(listed, Figures::scrape(&scene).families);
    scene.stop_daemon();
}

#[test]
fn the_daemon_is_ready_while_the_register_accepts_writes() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    let (status, _, body) = get(&scene, "/healthz");
    assert_eq!((status, body.as_str()), (200, "ok\n"));
    let (status, ready) = get_json(&scene, "/readyz");
    assert_eq!((status, &ready["ready"]), (200, &true.into()), "{ready:#}");
    let names = ready["checks"].as_array().expect("checks").iter().map(|check| &check["name"]);
    let all = ["register", "owner", "adoption", "yard", "serving", "room"];
    assert_eq!(names.collect::<Vec<_>>(), all);
    // The register is moved away: what the daemon writes now would be lost.
    let (path, away) = (scene.kennel_home().join("register.db"), scene.path("away"));
    fs::rename(&path, &away).expect("taken away");
    let (status, ready) = get_json(&scene, "/readyz");
    assert_eq!((status, &ready["ready"]), (503, &false.into()), "{ready:#}");
    assert_eq!(ready["checks"][0]["passed"], false, "{ready:#}");
    assert!(ready["checks"][0]["why"].as_str().is_some_and(|why| !why.is_empty()), "{ready:#}");
    assert_eq!(ready["checks"][1]["passed"], true, "{ready:#}");
    assert_eq!(get(&scene, "/healthz").0, 200, "it still answers");
    fs::rename(&away, &path).expect("brought back");
    assert_eq!(get_json(&scene, "/readyz").1["ready"], true);
    scene.stop_daemon();
}

#[test]
fn the_daemon_is_not_ready_while_the_disk_is_too_full() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree).filter(|_| is_root()) else { return };
    let disk = SmallDisk::at_home(&scene);
    crate::config::configure(&scene, "daemon.min_free_disk = \"100K\"\n");
    scene.call_ok(&["daemon", "start"]);
    assert_eq!(get(&scene, "/readyz").0, 200);
    disk.fill();
    let failed = || {
        let (status, ready) = get_json(&scene, "/readyz");
        let checks = ready["checks"].as_array().expect("checks").clone();
        let failed = checks.iter().filter(|check| check["passed"] == false);
        (status, failed.map(|check| check["name"].clone()).collect::<Vec<_>>())
    };
    // A recent measurement is still valid.
    eventually("it is noticed", || failed() == (503, vec!["room".into()]));
    disk.free();
    eventually("it is ready again", || get(&scene, "/readyz").0 == 200);
    scene.stop_daemon();
}

/// The names of all fields, nested ones included.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.first().map(shape).into_iter().collect(),
        _ => Value::Null,
    }
}

/// The processes of a doctor run.
fn examining(scene: &Scene) -> Vec<i32> {
    let daemon = scene.daemon();
    let all = scene.processes().into_iter().filter(|process| process.state != 'Z');
    // A process that the doctor has just forked has the same command line.
    all.filter(|process| Some(process.parent) == daemon)
        .filter(|process| process.command.contains("doctor --json"))
        .map(|process| process.pid)
        .collect()
}

#[test]
fn the_doctor_over_http_reports_what_the_cli_reports() {
    let Some(scene) = own_scene(Pen::Cgroup) else { return };
    let (status, reported) = get_json(&scene, "/v1/doctor");
    assert_eq!(status, 200, "{reported:#}");
    let printed = Running::start(scene.kennel(&["doctor", "--json"])).wait();
    let printed: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(shape(&reported), shape(&printed));
    assert_eq!(reported["pen"], printed["pen"], "{reported:#}");
    scene.assert_nothing_left();
    scene.stop_daemon();
}

#[test]
fn disconnecting_from_the_doctor_leaves_no_process() {
    let Some(scene) = own_scene(Pen::Cgroup) else { return };
    let asked = [request(&scene, "/v1/doctor"), request(&scene, "/v1/doctor")];
    eventually("the doctor is at work", || !examining(&scene).is_empty());
    assert_eq!(examining(&scene).len(), 1, "one for both");
    drop(asked);
    scene.assert_nothing_left_soon();
    let daemon = scene.daemon().expect("a daemon");
    let zombies =
        scene.all_processes().into_iter().filter(|p| p.state == 'Z' && p.parent == daemon);
    assert_eq!(zombies.collect::<Vec<_>>(), [], "it was reaped");
    scene.stop_daemon();
}

#[test]
fn a_killed_or_stopped_daemon_ends_its_doctor() {
    let Some(scene) = own_scene(Pen::Cgroup) else { return };
    let asked = request(&scene, "/v1/doctor");
    eventually("a pen is on trial", || scene.processes().len() > 1);
    let daemon = scene.daemon().expect("a daemon");
    signal(daemon, "KILL");
    eventually("the daemon is gone", || !alive(daemon));
    scene.assert_nothing_left_soon();
    drop(asked);
    scene.call_ok(&["daemon", "start"]);
    let asked = request(&scene, "/v1/doctor");
    eventually("a pen is on trial", || scene.processes().len() > 1);
    scene.call_ok(&["daemon", "stop"]);
    drop(asked);
    eventually("no process is left", || scene.processes().is_empty());
    eventually("the pen of the interrupted trial is removed", || scene.pens().is_empty());
    scene.stop_daemon();
}

#[test]
fn usage_is_reported_for_one_session_and_for_all() {
    let Some(scene) = own_scene(Pen::Subtree) else { return };
    assert_eq!(get_json(&scene, "/v1/usage"), (200, Value::Array(Vec::new())));
    let first = scene.launch_ready(&["--name", "x"], &["sleep"]);
    let second = scene.launch_ready(&[], &["sleep"]);
    let (status, one) = get_json(&scene, "/v1/sessions/x/usage");
    assert_eq!((status, &one["id"], &one["phase"]), (200, &first[..].into(), &"running".into()));
    assert_eq!(one["usage"]["processes"], 1, "{one:#}");
    assert!(one["usage"]["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 4096), "{one:#}");
    // A recent response is repeated.
    let ids = |all: &Value| {
        let all = all.as_array().expect("a list").clone();
        all.iter().map(|it| it["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    eventually("both are reported", || {
        ids(&get_json(&scene, "/v1/usage").1) == [&*first, &*second]
    });
    let (_, all) = get_json(&scene, "/v1/usage");
    assert_eq!(all[1]["usage"]["processes"], 1, "{all:#}");
    // From the first request on, usage is sampled.
    let history = |path: &str| get_json(&scene, path).1;
    assert!(history("/v1/usage?history=2")[0]["history"].is_array());
    eventually("three samples", || {
        let samples = history("/v1/sessions/x/usage/history")["samples"].clone();
        let samples = samples.as_array().cloned().unwrap_or_default();
        samples.len() >= 3 && samples.iter().all(|sample| sample["processes"] == 1)
    });
    let samples = history("/v1/sessions/x/usage/history")["samples"].clone();
    assert!(samples[0]["cpu_percent"].is_null() && samples[1]["cpu_percent"].is_number());
    assert!(samples[0]["at_ms"].as_u64() < samples[1]["at_ms"].as_u64(), "{samples:#}");
    let last = history("/v1/usage?history=2");
    assert_eq!(last[0]["history"].as_array().map(Vec::len), Some(2), "{last:#}");
    assert!(history("/v1/usage")[0].get("history").is_none());
    assert_eq!(get_json(&scene, "/v1/usage?histories=2").0, 422);
    assert_eq!(get_json(&scene, "/v1/sessions/unknown/usage/history").0, 404);
    let (status, unknown) = get_json(&scene, "/v1/sessions/unknown/usage");
    assert_eq!((status, &unknown["code"]), (404, &"not_found".into()), "{unknown:#}");
    scene.call_ok(&["stop", "x"]);
    let (status, over) = get_json(&scene, &format!("/v1/sessions/{first}/usage"));
    assert_eq!((status, &over["usage"]), (200, &Value::Null), "{over:#}");
    scene.stop_daemon();
}
