//! B4: the task of a launch is dropped at any point, and nothing leaks.

use std::time::Duration;

use kennel_pen::PenKind;
use kennel_pen::Status;
use kennel_pen::supervisor::SupervisorEvent;
use kennel_testing::eventually;
use tokio::time::timeout;

use crate::scene::TestHome;

#[tokio::test]
async fn a_session_runs_to_its_end() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let order = home.order(kind, home.agent(&["exit", "5"]));
        let gated = TestHome::program().launch_async(order).await.expect("launched");
        assert!(gated.identity().is_some());
        let (mut pen, _ends) = gated.open().await.expect("opened");
        assert_eq!(pen.wait_gone().await.expect("answered").status, Some(Status::Code(5)));
        drop(pen);
        home.assert_nothing_left();
    }
}

#[tokio::test]
async fn answers_and_events_do_not_interfere() {
    let home = TestHome::new();
    let order = home.order(PenKind::Subtree, home.agent(&["setsid", "2"]));
    let (mut pen, _ends) = TestHome::program()
        .launch_async(order)
        .await
        .expect("launched")
        .open()
        .await
        .expect("opened");
    eventually("all are up", || home.pids().len() == 3);
    assert_eq!(pen.processes().await.expect("listed").len(), 3);
    assert_eq!(pen.usage().await.expect("counted").processes, 3);
    pen.handle().stop(None).expect("sent");
    loop {
        if let SupervisorEvent::Gone(gone) = pen.next_event().await.expect("the supervisor lives") {
            break assert_eq!(gone.status.as_ref().and_then(Status::shell_code), Some(143));
        }
    }
    drop(pen);
    home.assert_nothing_left();
}

/// The future is dropped after 0, 200, 400, … microseconds, so in every phase of the launch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_launch_leaves_nothing_in_any_phase() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let (mut dropped, mut finished) = (0, 0);
        for step in 0..40 {
            let order = home.order(kind, home.agent(&["env-i"]));
            let session = async {
                let gated = TestHome::program().launch_async(order).await.expect("launched");
                let (mut pen, _ends) = gated.open().await.expect("opened");
                pen.wait_gone().await.expect("answered")
            };
            match timeout(Duration::from_micros(step * 200), session).await {
                Err(_elapsed) => dropped += 1,
                Ok(_gone) => finished += 1,
            }
        }
        assert_eq!((dropped, finished), (40, 0), "the agent sleeps, so none ends by itself");
        home.assert_nothing_left();
    }
}
