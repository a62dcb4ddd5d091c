//! Whichever call of a launch fails, the error names it, and nothing is left.

use kennel_pen::PenKind;
use kennel_pen::supervisor::SupervisorError;
use kennel_pen::{LaunchError, Size, StdStreams};
use kennel_sys::fault;
use rustix::io::Errno;

use crate::scene::{TestHome, soon};

/// The maximum number of calls of a launch, so that the walk ends.
const MOST: u32 = 200;

fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Fails the first call, then the second, and so on, until a launch succeeds because there are no
/// more. Then it does the same for the calls of the new process.
fn walk(kind: PenKind, in_supervisor: bool, terminal: bool) -> Vec<String> {
    let mut failed = walk_from(1, kind, in_supervisor, terminal);
    failed.extend(walk_from(fault::CHILD + 1, kind, in_supervisor, terminal));
    failed
}

fn walk_from(first: u32, kind: PenKind, in_supervisor: bool, terminal: bool) -> Vec<String> {
    let mut failed = Vec::new();
    for nth in first..first + MOST {
        let home = TestHome::new();
        let mut command = home.agent(&["exit", "0"]);
        if terminal {
            command.streams(StdStreams::Terminal { size: Size::default(), stderr: None });
        }
        let mut order = home.order(kind, command);
        if in_supervisor {
            order.fault = Some((nth, Errno::IO.raw_os_error()));
        } else {
            fault::arm(nth, Errno::IO.raw_os_error());
        }
        let outcome =
            TestHome::program().launch(order, soon()).and_then(|gated| gated.open(soon()));
        let seen = fault::disarm();
        match outcome {
            Ok(mut pen) => {
                assert_eq!(seen.failed, None, "a failure was swallowed");
                assert!(pen.wait_gone(soon()).expect("answered").is_some());
                home.assert_nothing_left();
                return failed;
            }
            Err(error) => {
                let text = text(&error);
                assert!(text.contains("os error 5"), "call {nth}: {text}");
                if let Some(call) = seen.failed {
                    assert!(text.contains(call), "call {nth}, {call}: {text}");
                }
                assert!(!text.contains("a system call"), "the call is not named: {text}");
                assert!(
                    !matches!(error, SupervisorError::Silent | SupervisorError::Malformed(_)),
                    "{text}"
                );
                home.assert_nothing_left();
                assert!(home.pids().is_empty(), "the program ran in spite of {text}");
                failed.push(text);
            }
        }
    }
    panic!("the launch makes more than {MOST} calls");
}

fn assert_covers(failed: &[String], calls: &[&str]) {
    for call in calls {
        assert!(failed.iter().any(|text| text.contains(call)), "{call} never failed: {failed:#?}");
    }
}

#[test]
fn every_call_of_the_supervisor_may_fail_in_a_subtree_pen() {
    let failed = walk(PenKind::Subtree, true, false);
    let new_process = ["dup", "close_range", "setsid", "setrlimit", "chdir", "gate", "execute"];
    assert_covers(
        &failed,
        &["prctl", "signalfd", "pipe2", "mmap", "mprotect", "clone3", "pidfd identity"],
    );
    assert_covers(&failed, &new_process.map(|call| if call == "chdir" { "folder" } else { call }));
}

#[test]
fn every_call_of_the_supervisor_may_fail_in_a_cgroup_pen() {
    if !TestHome::kinds().contains(&PenKind::Cgroup) {
        return;
    }
    let failed = walk(PenKind::Cgroup, true, false);
    assert_covers(&failed, &["mkdir", "flock", "cgroup.kill", "cgroup.events", "clone3"]);
}

#[test]
fn every_call_of_the_caller_may_fail() {
    let failed = walk(PenKind::Subtree, false, true);
    assert_covers(
        &failed,
        &["ptmx", "TIOCGPTPEER", "socketpair", "clone3", "execve", "memfd", "sendmsg"],
    );
}

#[test]
fn a_failed_exec_in_the_new_process_is_reported_as_such() {
    let home = TestHome::new();
    let order = home.order(PenKind::Subtree, kennel_pen::Command::new("/no/such/program"));
    let error =
        TestHome::program().launch(order, soon()).and_then(|gated| gated.open(soon())).unwrap_err();
    let SupervisorError::Launch(LaunchError::Exec(error)) = error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "/no/such/program: not found");
    home.assert_nothing_left();
}
