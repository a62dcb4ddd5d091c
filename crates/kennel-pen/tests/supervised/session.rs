//! A session through its handle: processes, usage, signals, limits, streams, statuses.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use kennel_pen::PenKind;
use kennel_pen::supervise::PenEvent;
use kennel_pen::supervisor::SupervisorEvent;
use kennel_pen::{Command, ResourceLimit, Status, StdStream, StdStreams};
use kennel_testing::eventually;
use rustix::process::Signal;

use crate::scene::{TestHome, soon};

#[test]
fn processes_usage_and_signals_concern_the_whole_tree() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let mut pen =
            home.launch(kind, &["setsid", "3"]).and_then(|g| g.open(soon())).expect("runs");
        eventually("all are up", || home.pids().len() == 4);
        let members = pen.processes(soon()).expect("listed");
        let mut pids = members.iter().map(|member| member.pid).collect::<Vec<_>>();
        pids.sort_unstable();
        let mut expected = home.pids();
        expected.sort_unstable();
        assert_eq!(pids, expected);
        let usage = pen.usage(soon()).expect("counted");
        assert_eq!(usage.processes, 4);
        assert!(usage.memory > 100_000, "{usage:?}");

        pen.signal(Signal::STOP).expect("sent");
        eventually("all are stopped", || {
            pen.processes(soon()).expect("listed").iter().all(|member| member.state == 'T')
        });
        pen.stop(None).expect("sent");
        let gone = pen.wait_gone(soon()).expect("answered").expect("gone");
        assert_eq!(
            gone.status.as_ref().and_then(Status::shell_code),
            Some(143),
            "TERM is followed by CONT"
        );
        home.assert_nothing_left();
    }
}

/// B8: the supervisor carries out a stop, even if the program that requested it exits.
#[test]
fn a_stop_is_carried_out_when_its_caller_is_gone() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let command = home.agent(&["ignore-term", "2"]);
        let mut order = home.order(kind, command);
        order.grace = Duration::from_secs(3600);
        let pen =
            TestHome::program().launch(order, soon()).and_then(|g| g.open(soon())).expect("runs");
        eventually("all are up", || home.pids().len() == 3);
        pen.stop(None).expect("sent");
        drop(pen);
        home.assert_nothing_left();
    }
}

#[test]
fn every_wait_has_a_deadline() {
    let home = TestHome::new();
    let mut pen =
        home.launch(PenKind::Subtree, &["sleep"]).and_then(|g| g.open(soon())).expect("runs");
    let start = Instant::now();
    let event =
        pen.next_event(Instant::now() + Duration::from_millis(50)).expect("the supervisor lives");
    assert_eq!(event, None);
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(pen.wait_gone(Instant::now()).expect("the supervisor lives"), None);
    drop(pen);
    home.assert_nothing_left();
}

#[test]
fn pipes_carry_what_was_written_and_printed() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let mut command = home.agent(&["echo"]);
        command.streams(StdStreams::Each {
            stdin: StdStream::Pipe,
            stdout: StdStream::Pipe,
            stderr: StdStream::Null,
        });
        let gated =
            TestHome::program().launch(home.order(kind, command), soon()).expect("launched");
        let (mut pen, ends) = gated.open_with_ends(soon()).expect("opened");
        let mut stdin = File::from(ends.stdin.expect("a pipe"));
        stdin.write_all(b"over the fence\n").expect("written");
        drop(stdin);
        let mut text = String::new();
        File::from(ends.stdout.expect("a pipe")).read_to_string(&mut text).expect("read");
        assert_eq!(text, "over the fence\n");
        let gone = pen.wait_gone(soon()).expect("answered").expect("gone");
        assert_eq!(gone.status, Some(Status::Code(0)));
        home.assert_nothing_left();
    }
}

#[test]
fn limits_and_umask_are_those_of_the_command() {
    let home = TestHome::new();
    let mut command = home.agent(&["report"]);
    // RLIMIT_NOFILE is 7, RLIMIT_CORE is 4.
    command.limit(ResourceLimit { resource: 7, soft: 77, hard: 99 }).limit(ResourceLimit {
        resource: 4,
        soft: 0,
        hard: 0,
    });
    command.umask(0o123);
    command.streams(StdStreams::Each {
        stdin: StdStream::Null,
        stdout: StdStream::Pipe,
        stderr: StdStream::Null,
    });
    let order = home.order(PenKind::Subtree, command);
    let gated = TestHome::program().launch(order, soon()).expect("launched");
    let (mut pen, ends) = gated.open_with_ends(soon()).expect("opened");
    let mut text = String::new();
    File::from(ends.stdout.expect("a pipe")).read_to_string(&mut text).expect("read");
    assert!(pen.wait_gone(soon()).expect("answered").is_some());
    assert!(
        text.contains(r#""RLIMIT_NOFILE":["77","99"]"#)
            || text.contains(r#""RLIMIT_NOFILE": ["77", "99"]"#),
        "{text}"
    );
    assert!(text.contains("123"), "{text}");
    home.assert_nothing_left();
}

#[test]
fn a_status_shows_whether_a_core_was_dumped() {
    let home = TestHome::new();
    for (limit, script) in
        [("0", "ulimit -c 0; kill -ABRT $$"), ("unlimited", "ulimit -c unlimited; kill -ABRT $$")]
    {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).folder(home.folder.path());
        let order = home.order(PenKind::Subtree, command);
        let mut pen =
            TestHome::program().launch(order, soon()).and_then(|g| g.open(soon())).expect("runs");
        let gone = pen.wait_gone(soon()).expect("answered").expect("gone");
        let Some(Status::Signal { signal: 6, core, oom: false }) = gone.status else {
            panic!("{:?}", gone.status)
        };
        let files = std::fs::read_dir(home.folder.path()).expect("listed").flatten();
        let dumped =
            files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("core"));
        assert!(core || !dumped, "limit {limit}: a core was dumped and not reported");
        assert!(!core || limit != "0", "no core was allowed, but one was reported");
    }
    home.assert_nothing_left();
}

#[test]
fn processes_left_behind_are_reported_before_they_are_ended() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let mut pen =
            home.launch(kind, &["setsid-exit", "2"]).and_then(|g| g.open(soon())).expect("runs");
        let mut left = Vec::new();
        loop {
            match pen.next_event(soon()).expect("the supervisor lives").expect("an event") {
                SupervisorEvent::Pen(PenEvent::LeftBehind(members)) => left = members,
                SupervisorEvent::Gone(gone) => {
                    break assert_eq!(gone.status, Some(Status::Code(0)));
                }
                _ => {}
            }
        }
        assert_eq!(left.len(), 2, "{left:?}");
        home.assert_nothing_left();
    }
}

#[test]
fn the_supervisor_of_an_idle_session_sleeps() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let pen = home.launch(kind, &["sleep"]).and_then(|g| g.open(soon())).expect("runs");
        eventually("it is up", || home.pids().len() == 1);
        let agent = home.pids()[0];
        let supervisor = kennel_testing::Process::look(agent).expect("the agent").parent;
        let switches = || -> u64 {
            let status = std::fs::read_to_string(format!("/proc/{supervisor}/status"))
                .expect("the supervisor");
            let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
            counts.map(|(_, count)| count.trim().parse::<u64>().expect("a count")).sum()
        };
        eventually("it is idle", || {
            let before = switches();
            std::thread::sleep(POLL_INTERVAL);
            switches() == before
        });
        drop(pen);
        home.assert_nothing_left();
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(300);
