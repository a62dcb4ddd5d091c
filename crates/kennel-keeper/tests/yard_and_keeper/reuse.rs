//! One keeper after another in the same process.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_keeper::KeeperClient;
use kennel_keeper::protocol::{LaunchOrder, Report, Request};
use kennel_pen::Status;
use kennel_pen::holder::HeldKind;
use rustix::process::{Pid, Signal};

use super::{Daemon, Launch, exists, name_of};

const DID_ITS_WORK: &str = "did its work";

fn order(daemon: &Daemon, number: u32, kind: HeldKind) -> LaunchOrder {
    let mut order = daemon.order(&format!("s{number}"), &format!("echo {number}; exit {number}"));
    order.kind = kind;
    order
}

/// Runs it, up to the release; says who kept it and how that went on.
#[track_caller]
fn see_through(daemon: &mut Daemon, number: u32, kind: HeldKind) -> (Launch, String) {
    let order = order(daemon, number, kind);
    let mut launch = daemon.fork(&order);
    launch.run();
    let outcome = launch.gone();
    assert_eq!(outcome.status, Some(Status::Code(number.cast_signed())));
    assert_eq!(launch.output(), format!("{number}\n").into_bytes(), "its own output, and no other");
    launch.tell(&Request::Release);
    let (how, left) = daemon.keeper_ended(&launch);
    assert!(left.is_empty(), "{left:?}");
    (launch, how)
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
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
    let (first, how) = see_through(daemon, 1, HeldKind::Subtree);
    assert_eq!(how, DID_ITS_WORK);
    assert_eq!(session_of(first.pid), first.pid.to_string(), "it has a session of its own");
    let mut before = 0;
    for number in 2..30 {
        let (launch, how) = see_through(daemon, number, HeldKind::Auto);
        assert_eq!((launch.pid, how.as_str()), (first.pid, DID_ITS_WORK));
        until("it calls itself spare", || name_of(first.pid) == "kennel-spare");
        if number == 2 {
            before = descriptors(first.pid);
        }
    }
    assert_eq!(descriptors(first.pid), before, "it has let go of everything");
}

pub(super) fn several_at_once(daemon: &mut Daemon) {
    let (first, _) = see_through(daemon, 1, HeldKind::Subtree);
    let orders = [2, 3].map(|number| order(daemon, number, HeldKind::Subtree));
    let mut launches = orders.map(|order| daemon.fork(&order));
    assert_eq!(launches[0].pid, first.pid);
    assert_ne!(launches[1].pid, first.pid, "one launch, one keeper");
    for launch in &mut launches {
        launch.run();
        launch.gone();
    }
    for launch in &launches {
        launch.tell(&Request::Release);
        assert_eq!(daemon.keeper_ended(launch).0, DID_ITS_WORK);
    }
}

/// Whoever comes late for a session does not end up with another one.
pub(super) fn not_reached_by_the_former_way(daemon: &mut Daemon) {
    let order = order(daemon, 1, HeldKind::Subtree);
    let mut launch = daemon.fork(&order);
    launch.run();
    launch.gone();
    // In the line before the door, and never let in.
    let late = KeeperClient::connect(&launch.folder).unwrap();
    launch.tell(&Request::Release);
    daemon.keeper_ended(&launch);
    let (second, _) = see_through(daemon, 2, HeldKind::Subtree);
    assert_eq!(second.pid, launch.pid);
    until("it is told to go", || match late.receive() {
        Ok(Some((Report::Gone(outcome), _))) => {
            assert_eq!(outcome.status, Some(Status::Code(1)), "another one's");
            false
        }
        Ok(_) => false,
        Err(_) => true,
    });
    assert!(KeeperClient::connect(&launch.folder).is_err(), "its socket leads nowhere");
}

pub(super) fn a_killed_spare_is_not_missed(daemon: &mut Daemon) {
    let (first, _) = see_through(daemon, 1, HeldKind::Subtree);
    rustix::process::kill_process(Pid::from_raw(first.pid).unwrap(), Signal::KILL).unwrap();
    let (second, _) = see_through(daemon, 2, HeldKind::Subtree);
    assert_ne!(second.pid, first.pid);
    until("it is gone", || !exists(first.pid));
}

pub(super) fn the_init_of_a_namespace_is_not_used_again(daemon: &mut Daemon) {
    let order = order(daemon, 1, HeldKind::Namespace);
    let mut launch = daemon.fork(&order);
    launch.tell(&Request::Go);
    if !matches!(launch.says(), Report::Born { .. }) {
        assert!(!rustix::process::geteuid().is_root(), "root can make one");
        return;
    }
    launch.tell(&Request::Open);
    launch.gone();
    launch.tell(&Request::Release);
    assert_eq!(daemon.keeper_ended(&launch).0, "exited with code 0");
    assert!(!Path::new(&format!("/proc/{}", launch.pid)).exists());
}
