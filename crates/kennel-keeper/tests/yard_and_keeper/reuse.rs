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

/// From Go to the word that it is free.
#[track_caller]
fn see_through(launch: &mut Launch, number: u32) {
    launch.run();
    let outcome = launch.gone();
    assert_eq!(outcome.status, Some(Status::Code(number.cast_signed())));
    assert_eq!(launch.output(), format!("{number}\n").into_bytes(), "its own output, and no other");
    assert!(!launch.is_lock_free());
    launch.tell(&KeeperRequest::Release);
    assert_eq!(launch.says(), KeeperReport::Free);
    assert!(launch.is_lock_free(), "it is nobody's keeper");
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
    see_through(&mut launch, 1);
    assert_eq!(name_of(launch.pid), "kennel-spare");
    assert_eq!(session_of(launch.pid), launch.pid.to_string(), "it has a session of its own");
    let mut before = 0;
    for number in 2..30 {
        let next = order(daemon, number, PenKind::Auto);
        daemon.give(&mut launch, &next);
        assert_eq!(name_of(launch.pid), "kennel-keeper");
        see_through(&mut launch, number);
        if number == 2 {
            before = descriptors(launch.pid);
        }
    }
    assert_eq!(descriptors(launch.pid), before, "it has let go of everything");
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
}

/// Whoever comes late for a launch does not end up with another one.
pub(super) fn not_reached_by_the_former_way(daemon: &mut Daemon) {
    let first = order(daemon, 1, PenKind::Subtree);
    let mut launch = daemon.fork(&first);
    launch.run();
    launch.gone();
    // In the line before the door, and maybe never let in.
    let late = KeeperClient::connect(&launch.folder).unwrap();
    let folder = launch.folder.clone();
    launch.tell(&KeeperRequest::Release);
    assert_eq!(launch.says(), KeeperReport::Free);
    let second = order(daemon, 2, PenKind::Subtree);
    daemon.give(&mut launch, &second);
    assert!(late.send(&KeeperRequest::Kill).is_err(), "nobody hears it");
    assert!(KeeperClient::connect(&folder).is_err(), "its socket leads nowhere");
    see_through(&mut launch, 2);
    assert!(late.receive().is_err());
}

pub(super) fn goes_with_its_daemon(daemon: &mut Daemon) {
    let first = order(daemon, 1, PenKind::Subtree);
    let mut launch = daemon.fork(&first);
    see_through(&mut launch, 1);
    // Late words to the former launch are none to it.
    for word in [KeeperRequest::Kill, KeeperRequest::Release, KeeperRequest::Open] {
        launch.tell(&word);
    }
    let second = order(daemon, 2, PenKind::Subtree);
    daemon.give(&mut launch, &second);
    see_through(&mut launch, 2);
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
    until("it is gone", || !super::exists(launch.pid));
}

pub(super) fn the_init_of_a_namespace_is_not_used_again(daemon: &mut Daemon) {
    let order = order(daemon, 1, PenKind::Pidns);
    let mut launch = daemon.fork(&order);
    launch.tell(&KeeperRequest::Go);
    if !matches!(launch.says(), KeeperReport::Born { .. }) {
        assert!(!rustix::process::geteuid().is_root(), "root can make one");
        return;
    }
    launch.tell(&KeeperRequest::Open);
    launch.gone();
    launch.tell(&KeeperRequest::Release);
    // Not by the end of the connection: it goes by itself.
    let client = launch.keeper.take();
    assert_eq!(daemon.keeper_ended(&mut launch).0, "exited with code 0");
    drop(client);
}
