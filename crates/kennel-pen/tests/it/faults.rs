//! Whichever call of a launch fails: the error names it, and nothing is left.

use kennel_pen::holder::{HeldError, HeldKind};
use kennel_pen::{LaunchError, Size, StdStreams};
use kennel_sys::fault;
use rustix::io::Errno;

use crate::scene::{Place, soon};

/// The most calls that a launch may take; reaching this would mean that the trial never ends.
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

/// Fails the first call, then the second, and so on, until a launch succeeds because there is none left;
/// then the same for the calls of the new process.
fn walk(kind: HeldKind, in_holder: bool, terminal: bool) -> Vec<String> {
    let mut failed = walk_from(1, kind, in_holder, terminal);
    failed.extend(walk_from(fault::CHILD + 1, kind, in_holder, terminal));
    failed
}

fn walk_from(first: u32, kind: HeldKind, in_holder: bool, terminal: bool) -> Vec<String> {
    let mut failed = Vec::new();
    for nth in first..first + MOST {
        let place = Place::new();
        let mut command = place.agent(&["exit", "0"]);
        if terminal {
            command.streams(StdStreams::Terminal { size: Size::default(), stderr: None });
        }
        let mut order = place.order(kind, command);
        if in_holder {
            order = order.fault(nth, Errno::IO.raw_os_error());
        } else {
            fault::arm(nth, Errno::IO.raw_os_error());
        }
        let outcome = Place::program().launch(order, soon()).and_then(|gated| gated.open(soon()));
        let seen = fault::disarm();
        match outcome {
            Ok(mut held) => {
                assert_eq!(seen.failed, None, "a failure was swallowed");
                assert!(held.wait_gone(soon()).expect("answered").is_some());
                place.assert_nothing_left();
                return failed;
            }
            Err(error) => {
                let text = text(&error);
                assert!(text.contains("os error 5"), "call {nth}: {text}");
                if let Some(call) = seen.failed {
                    assert!(text.contains(call), "call {nth}, {call}: {text}");
                }
                assert!(!text.contains("a system call"), "the call is not named: {text}");
                assert!(!matches!(error, HeldError::Silent | HeldError::Garbled(_)), "{text}");
                place.assert_nothing_left();
                assert!(place.pids().is_empty(), "the program ran in spite of {text}");
                failed.push(text);
            }
        }
    }
    panic!("the launch takes more than {MOST} calls, or the trial never ends");
}

fn assert_covers(failed: &[String], calls: &[&str]) {
    for call in calls {
        assert!(
            failed.iter().any(|text| text.contains(call)),
            "{call} was never made to fail: {failed:#?}"
        );
    }
}

#[test]
fn every_call_of_the_holder_may_fail_in_a_subtree_pen() {
    let failed = walk(HeldKind::Subtree, true, false);
    let new_process = ["dup", "close_range", "setsid", "setrlimit", "chdir", "gate", "execute"];
    assert_covers(
        &failed,
        &["prctl", "signalfd", "pipe2", "mmap", "mprotect", "clone3", "pidfd identity"],
    );
    assert_covers(&failed, &new_process.map(|call| if call == "chdir" { "folder" } else { call }));
}

#[test]
fn every_call_of_the_holder_may_fail_in_a_cgroup_pen() {
    if !Place::kinds().contains(&HeldKind::Cgroup) {
        return;
    }
    let failed = walk(HeldKind::Cgroup, true, false);
    assert_covers(&failed, &["mkdir", "flock", "cgroup.kill", "cgroup.events", "clone3"]);
}

#[test]
fn every_call_of_the_caller_may_fail() {
    let failed = walk(HeldKind::Subtree, false, true);
    assert_covers(
        &failed,
        &["ptmx", "TIOCGPTPEER", "socketpair", "clone3", "execve", "memfd", "sendmsg"],
    );
}

/// A launch that fails says which kind of failure it is.
#[test]
fn a_failed_exec_in_the_new_process_is_told_as_such() {
    let place = Place::new();
    let order = place.order(HeldKind::Subtree, kennel_pen::Command::new("/no/such/program"));
    let error =
        Place::program().launch(order, soon()).and_then(|gated| gated.open(soon())).unwrap_err();
    let HeldError::Launch(LaunchError::Exec(error)) = error else { panic!("{error:?}") };
    assert_eq!(error.errno(), Errno::NOENT.raw_os_error());
    place.assert_nothing_left();
}
