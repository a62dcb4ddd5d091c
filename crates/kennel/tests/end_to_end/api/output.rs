//! Output over the API: any part, in any format, to the end, over crashes, at the reader's own
//! pace.

use std::fs;
use std::io::Read;
use std::time::Duration;

use kennel_testing::{Pen, Running, Scene, Who, eventually};

use super::client::{Answer, Returning, crash_daemon, descriptors, ticks};

const MEGABYTE: usize = 1 << 20;

fn scene() -> Option<Scene> {
    Scene::new(Who::Root, Pen::Cgroup)
}

/// A daemon that disconnects clients that do not read for two seconds.
fn impatient_scene() -> Option<Scene> {
    let scene = scene()?;
    let mut start = scene.kennel(&["daemon", "start"]);
    start.env("KENNEL_DAEMON_WRITE_TIMEOUT", "2s");
    assert_eq!(Running::start(start).wait().code, 0);
    Some(scene)
}

fn path(reference: &str, query: &str) -> String {
    format!("/v1/sessions/{reference}/output{query}")
}

#[test]
fn any_part_of_the_output_is_available_in_any_format() {
    let Some(scene) = scene() else { return };
    let script = r"printf 'one\ntwo\n'; sleep 0.3; printf 'bad\n' >&2; sleep 0.3; printf '\377\n'";
    let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", script]);
    scene.wait_phase("x", "cleaned");
    let raw = |query: &str| {
        let answer = Answer::get(&scene, &path("x", query), &[]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["content-type"], "application/octet-stream");
        assert_eq!(answer.headers["kennel-launch"], id);
        let mut bytes = Vec::new();
        let mut answer = answer;
        answer.read_to_end(&mut bytes).expect("bytes");
        bytes
    };
    assert_eq!(raw("?format=raw"), b"one\ntwo\nbad\n\xff\n");
    assert_eq!(raw("?format=raw&from=2&to=6"), b"e\ntw");
    assert_eq!(raw("?format=raw&stream=stderr"), b"bad\n");
    assert_eq!(raw("?format=raw&stream=stdout&tail=2"), b"two\n\xff\n");
    assert_eq!(raw("?format=raw&tail=2&follow=true"), b"bad\n\xff\n");
    let records = Answer::get(&scene, &path("x", ""), &[]).records();
    let reported: Vec<_> = records
        .iter()
        .map(|r| {
            (r["offset"].as_u64().expect("a number"), r["stream"].as_str(), &r["text"], &r["hex"])
        })
        .collect();
    let none = &serde_json::Value::Null;
    assert_eq!(
        reported,
        [
            (0, Some("stdout"), &"one\ntwo\n".into(), none),
            (8, Some("stderr"), &"bad\n".into(), none),
            (12, Some("stdout"), none, &"ff0a".into()),
        ]
    );
    for (target, status) in [
        (path("x", "?from=9&to=3"), 422),
        (path("x", "?format=xml"), 422),
        (path("x", "?stream=tty"), 422),
        (path("nobody", ""), 404),
    ] {
        assert_eq!(Answer::get(&scene, &target, &[]).status, status, "{target}");
    }
    let foreign = [("Last-Event-ID", "nonsense")];
    assert_eq!(Answer::get(&scene, &path("x", ""), &foreign).status, 422);
    scene.stop_daemon();
}

#[test]
fn a_follower_gets_the_end_and_then_204() {
    let Some(scene) = scene() else { return };
    let script = "echo up; while [ ! -e go ]; do sleep 0.01; done; echo down; exit 3";
    let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", script]);
    let follower = Answer::get(&scene, &path("x", "?follow=true"), &[]);
    let mut events = Answer::get(&scene, &path("x", "?follow=true&format=sse"), &[]).events();
    assert_eq!(events.next().expect("an event").json()["text"], "up\n");
    fs::write(scene.path("work/go"), "").expect("a file");
    let records = follower.records();
    let texts: Vec<_> = records.iter().filter_map(|r| r["text"].as_str()).collect();
    assert_eq!(texts.concat(), "up\ndown\n");
    let end = records.last().expect("an end");
    assert_eq!(
        (&end["type"], &end["exit_code"], &end["launch"]),
        (&"end".into(), &3.into(), &id.clone().into())
    );
    let rest: Vec<_> = events.collect();
    let last = rest.last().expect("an end");
    assert_eq!((last.event.as_str(), last.id.as_str()), ("end", format!("{id}:end").as_str()));
    let again = Answer::get(
        &scene,
        &path("x", "?follow=true&format=sse"),
        &[("Last-Event-ID", last.id.as_str())],
    );
    assert_eq!(again.status, 204);
    // A late client gets everything and the same end.
    let late = Answer::get(&scene, &path("x", "?follow=true"), &[]).records();
    assert_eq!(late.last(), Some(end));
    scene.stop_daemon();
}

#[test]
fn a_follower_resumes_with_the_next_daemon() {
    for pen in [Pen::Cgroup, Pen::Subtree] {
        let Some(scene) = Scene::new(Who::Root, pen) else { continue };
        let script = "i=0; while [ $i -lt 300 ]; do echo $i ü; i=$((i+1)); sleep 0.01; done";
        scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", script]);
        let mut follower = Returning::new(&scene, path("x", "?follow=true"));
        let (mut text, mut seen, mut expected) = (String::new(), 0, 0);
        loop {
            let event = follower.next();
            if event.event == "end" {
                break;
            }
            let record = event.json();
            assert_eq!(event.event, "output", "{event:?}");
            assert_eq!(record["offset"], expected, "without loss or repetition");
            let piece = record["text"].as_str().expect("text");
            expected += piece.len();
            text += piece;
            seen += 1;
            if seen % 100 == 60 {
                crash_daemon(&scene);
            }
        }
        let whole: String = (0..300).map(|number| format!("{number} ü\n")).collect();
        assert_eq!(text, whole);
        scene.stop_daemon();
    }
}

/// Each launch has its own output: a reader of the previous one is not moved into the next.
#[test]
fn a_reader_of_an_earlier_launch_stays_with_it() {
    let Some(scene) = scene() else { return };
    let script = "echo a long line of the first or of the second launch; exit 1";
    let id = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", script]);
    scene.wait_phase("x", "cleaned");
    let first = Answer::get(&scene, &path("x", "?format=sse"), &[]).events().next();
    let first = first.expect("an event");
    scene.call_ok(&["resume", "-d", "x"]);
    eventually("it was launched again", || scene.session("x")["attempt"] == 2);
    scene.wait_phase("x", "cleaned");
    let headers = [("Last-Event-ID", first.id.as_str())];
    let rest: Vec<_> =
        Answer::get(&scene, &path("x", "?follow=true&format=sse"), &headers).events().collect();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0].json()["launch"], id);
    let newest: Vec<_> = Answer::get(&scene, &path("x", "?format=sse"), &[]).events().collect();
    assert!(newest[0].id.starts_with(&format!("{id}_2:")), "{newest:?}");
    scene.stop_daemon();
}

#[test]
fn dropped_output_is_reported_as_a_gap() {
    let Some(scene) = scene() else { return };
    const FLOOD: usize = 6 * MEGABYTE;
    scene.launch(&["--output-limit", "1M", "--name", "x"], &["flood", &FLOOD.to_string()]);
    scene.wait_phase("x", "cleaned");
    let records = Answer::get(&scene, &path("x", "?follow=true"), &[]).records();
    assert_eq!((&records[0]["type"], &records[0]["why"]), (&"gap".into(), &"dropped".into()));
    let mut expected = 0;
    for record in &records[..records.len() - 1] {
        assert_eq!(record["offset"], expected);
        expected += match record["lost"].as_u64() {
            Some(lost) => usize::try_from(lost).expect("it fits"),
            None => record["text"].as_str().expect("text").len(),
        };
    }
    assert_eq!(expected, FLOOD);
    let answer = Answer::get(&scene, &path("x", "?format=raw"), &[]);
    let from: usize = answer.headers["kennel-output-from"].parse().expect("a number");
    assert_eq!(from + answer.text().len(), FLOOD);
    scene.stop_daemon();
}

#[test]
fn a_client_that_does_not_read_is_disconnected_and_no_other_waits() {
    let Some(scene) = impatient_scene() else { return };
    const FLOOD: usize = 8 * MEGABYTE;
    let script = format!(
        "while [ ! -e go ]; do sleep 0.01; done; {} flood {FLOOD}; while [ ! -e end ]; do sleep 0.01; done",
        scene.fake_agent()
    );
    scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", &script]);
    let before = descriptors(&scene);
    let mut stuck: Vec<_> = ["raw", "ndjson", "sse"]
        .iter()
        .map(|form| Answer::get(&scene, &path("x", &format!("?follow=true&format={form}")), &[]))
        .collect();
    let mut reading = Answer::get(&scene, &path("x", "?follow=true&format=raw"), &[]);
    fs::write(scene.path("work/go"), "").expect("a file");
    let mut flood = vec![0; FLOOD];
    reading.read_exact(&mut flood).expect("all of it");
    // One remains, with its connection, a file and the connection to the keeper.
    eventually("the others are cut off", || descriptors(&scene) <= before + 3);
    fs::write(scene.path("work/end"), "").expect("a file");
    reading.read_to_end(&mut flood).expect("the end");
    assert!(reading.whole && flood.len() == FLOOD, "{} bytes", flood.len());
    for answer in &mut stuck {
        let read = std::io::copy(answer, &mut std::io::sink());
        assert!(!answer.whole && !matches!(read, Ok(all) if all >= FLOOD as u64), "{read:?}");
    }
    eventually("nothing is left", || descriptors(&scene) <= before);
    scene.stop_daemon();
}

#[test]
fn many_idle_output_followers_are_cheap() {
    let Some(scene) = scene() else { return };
    scene.launch_ready(&["--name", "x"], &["sleep"]);
    let before = descriptors(&scene);
    let followers: Vec<_> = (0..200)
        .map(|_| Answer::get(&scene, &path("x", "?follow=true&format=sse&tail=0"), &[]))
        .collect();
    // Each has a connection and a file; all share one connection to the keeper.
    assert!(descriptors(&scene) <= before + 2 * 200 + 4, "{before}, {}", descriptors(&scene));
    let used = ticks(&scene);
    let watched = Duration::from_secs(3);
    std::thread::sleep(watched); // this measures time
    let used = ticks(&scene) - used;
    println!("200 idle followers: {used} ticks of 10 ms in {} s", watched.as_secs());
    assert!(used <= 15, "{used} ticks");
    drop(followers);
    eventually("nothing is left", || descriptors(&scene) <= before);
    scene.stop_daemon();
}
