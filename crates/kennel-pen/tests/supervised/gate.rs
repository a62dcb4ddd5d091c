//! A gated process has an identity, runs only on request, and leaves nothing when it is dropped.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Barrier};

use kennel_pen::Status;
use kennel_testing::{alive, eventually};

use crate::scene::{TestHome, soon};

fn descriptors(pid: i32) -> BTreeSet<String> {
    let entries =
        fs::read_dir(format!("/proc/{pid}/fd")).expect("the gated process is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the `pipe:[inode]` of its gate.
fn gate(pid: i32) -> String {
    fs::read_link(format!("/proc/{pid}/fd/3")).expect("a gate").to_string_lossy().into_owned()
}

/// A process at its gate has these descriptors and no others.
fn wait_at_gate(pid: i32) {
    let expected = ["0", "1", "2", "3"].map(String::from).into();
    eventually("it is at its gate", || descriptors(pid) == expected);
}

#[test]
fn a_gated_process_is_identified_holds_only_its_gate_and_has_not_run() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let gated = home.launch(kind, &["sleep"]).expect("launched");
        let identity = gated.identity().clone();
        assert!(identity.exists().expect("its state is known"));
        wait_at_gate(identity.pid);
        assert!(home.pids().is_empty(), "the program has not run");

        let mut pen = gated.open(soon()).expect("opened");
        eventually("the program runs", || home.pids() == [identity.pid]);
        pen.kill().expect("sent");
        let gone = pen.wait_gone(soon()).expect("answered").expect("gone");
        assert_eq!(gone.status, Some(Status::Signal { signal: 9, core: false, oom: false }));
        assert!(!identity.exists().expect("its state is known"));
        home.assert_nothing_left();
    }
}

#[test]
fn dropping_a_gated_process_leaves_nothing_and_runs_nothing() {
    for kind in TestHome::kinds() {
        let home = TestHome::new();
        let gated = home.launch(kind, &["sleep"]).expect("launched");
        let identity = gated.identity().clone();
        drop(gated);
        home.assert_nothing_left();
        assert!(!identity.exists().expect("its state is known"));
        assert!(home.pids().is_empty(), "the program never ran");
    }
}

/// Launches from many threads at once: none holds another's gate or socket, so each process exits
/// as soon as *its* handle is dropped, while all others keep waiting.
#[test]
fn many_launches_at_once_do_not_hold_each_others_gates_open() {
    const THREADS: usize = 12;
    for kind in TestHome::kinds() {
        let home = Arc::new(TestHome::new());
        let barrier = Arc::new(Barrier::new(THREADS));
        let threads = (0..THREADS)
            .map(|_| {
                let (home, barrier) = (home.clone(), barrier.clone());
                std::thread::spawn(move || {
                    barrier.wait();
                    home.launch(kind, &["sleep"]).expect("launched")
                })
            })
            .collect::<Vec<_>>();
        let mut gated =
            threads.into_iter().map(|t| t.join().expect("no panic")).collect::<Vec<_>>();
        let pids = gated.iter().map(|gated| gated.identity().pid).collect::<Vec<_>>();
        pids.iter().for_each(|pid| wait_at_gate(*pid));
        let gates = pids.iter().map(|pid| gate(*pid)).collect::<BTreeSet<_>>();
        assert_eq!(gates.len(), THREADS, "each has a gate of its own");
        while let Some(one) = gated.pop() {
            let identity = one.identity().clone();
            drop(one);
            eventually("it exits", || !identity.exists().expect("its state is known"));
            assert!(
                gated.iter().all(|other| alive(other.identity().pid)),
                "the others keep waiting"
            );
        }
        home.assert_nothing_left();
    }
}
