//! Limits on what a pen may use. `kennel-pen` tests where they are possible; this tests what
//! happens where they are not.

use super::*;

pub(super) fn refused_or_reported(daemon: &mut Daemon) {
    let order = daemon.order("a", "exit 3");
    let mut launch = daemon.fork(&LaunchOrder { memory: Some(1 << 30), cpu: Some(500), ..order });
    launch.send(&KeeperRequest::Go);
    let outcome = launch.gone();
    let Cause::Failed { code: 203, why } = &outcome.cause else { panic!("{outcome:?}") };
    assert!(why.contains("can't limit memory") && why.contains("--best-effort"), "{why}");
    assert_eq!(outcome.status, None, "nothing ran");
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);

    let order = daemon.order("b", "exit 3");
    let order = LaunchOrder { memory: Some(1 << 30), cpu: Some(500), best_effort: true, ..order };
    let mut launch = daemon.fork(&order);
    launch.send(&KeeperRequest::Go);
    for what in ["memory", "cpu"] {
        let report = launch.next_report();
        let KeeperReport::Trouble(text) = &report else { panic!("{report:?}") };
        assert!(text.contains(&format!("can't limit {what}")), "{text}");
    }
    assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
    launch.send(&KeeperRequest::Open);
    assert_eq!(launch.gone().status, Some(Status::Code(3)));
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}
