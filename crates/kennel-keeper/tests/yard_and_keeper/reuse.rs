//! One launch after another with the same keeper.

use std::fs;
use std::time::{Duration, Instant};

use kennel_keeper::KeeperClient;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, LaunchOrder};
use kennel_pen::Status;
use kennel_types::PenKind;

use super::{Daemon, Launch, name_of};

fn order(daemon: &Daemon, number: u32, kind: PenKind) -> LaunchOrder {
    let mut order = daemon.order(&format!("s{number}"), &format!("echo {number}; exit {number}"));
    order.kind = kind;
    order
}

/// Runs the launch from `Go` until the keeper is free.
#[track_caller]
fn run_to_end(launch: &mut Launch, number: u32) {
    launch.run();
    let outcome = launch.gone();
    assert_eq!(outcome.status, Some(Status::Code(number.cast_signed())));
    assert_eq!(launch.output(), format!("{number}\n").into_bytes(), "only its own output");
    assert!(!launch.is_lock_free());
    launch.send(&KeeperRequest::Release);
    assert_eq!(launch.next_report(), KeeperReport::Free);
    assert!(launch.is_lock_free(), "it is not a keeper of a launch");
}

#[track_caller]
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn session_of(pid: i32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned()
}

pub(super) fn one_after_another(daemon: &mut Daemon) {
    let first = order(daemon, 1, PenKind::Subtree);
    let mut launch = daemon.fork(&first);
    run_to_end(&mut launch, 1);
    assert_eq!(name_of(launch.pid), "kennel-spare");
    assert_eq!(session_of(launch.pid), launch.pid.to_string(), "it has a session of its own");
    let mut before = 0;
    for number in 2..30 {
        let next = order(daemon, number, PenKind::Auto);
        daemon.give(&mut launch, &next);
        assert_eq!(name_of(launch.pid), "kennel-keeper");
        run_to_end(&mut launch, number);
        if number == 2 {
            before = descriptors(launch.pid);
        }
    }
    assert_eq!(descriptors(launch.pid), before, "it has closed everything");
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
}

/// A client that connects late to a launch does not reach the next one.
pub(super) fn a_late_client_does_not_reach_the_next_launch(daemon: &mut Daemon) {
    let first = order(daemon, 1, PenKind::Subtree);
    let mut launch = daemon.fork(&first);
    launch.run();
    launch.gone();
    // It is in the backlog, and possibly never accepted.
    let late = KeeperClient::connect(&launch.folder).unwrap();
    let folder = launch.folder.clone();
    launch.send(&KeeperRequest::Release);
    assert_eq!(launch.next_report(), KeeperReport::Free);
    let second = order(daemon, 2, PenKind::Subtree);
    daemon.give(&mut launch, &second);
    assert!(late.send(&KeeperRequest::Kill).is_err(), "the connection is closed");
    assert!(KeeperClient::connect(&folder).is_err(), "its socket is not in use any more");
    run_to_end(&mut launch, 2);
    assert!(late.receive().is_err());
}

pub(super) fn exits_with_its_daemon(daemon: &mut Daemon) {
    let first = order(daemon, 1, PenKind::Subtree);
    let mut launch = daemon.fork(&first);
    run_to_end(&mut launch, 1);
    // Late requests to the previous launch are ignored.
    for word in [KeeperRequest::Kill, KeeperRequest::Release, KeeperRequest::Open] {
        launch.send(&word);
    }
    let second = order(daemon, 2, PenKind::Subtree);
    daemon.give(&mut launch, &second);
    run_to_end(&mut launch, 2);
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
    until("it is gone", || !super::exists(launch.pid));
}

pub(super) fn the_init_of_a_namespace_is_not_used_again(daemon: &mut Daemon) {
    let order = order(daemon, 1, PenKind::Pidns);
    let mut launch = daemon.fork(&order);
    launch.send(&KeeperRequest::Go);
    if !matches!(launch.next_report(), KeeperReport::Born { .. }) {
        assert!(!rustix::process::geteuid().is_root(), "root can create a namespace");
        return;
    }
    launch.send(&KeeperRequest::Open);
    launch.gone();
    launch.send(&KeeperRequest::Release);
    // It exits by itself, not because the connection is closed.
    let client = launch.keeper.take();
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
    drop(client);
}
