//! Explores every interleaving of events around one session, around a parent and its child, and
//! around two launches of one session: stops, exits, crashes of keeper and daemon, restarts of the
//! machine, failed effects, repeated and reordered messages. A session may have to become ready,
//! wait in the queue, or wait for a worktree.
//!
//! The oracle (`oracle.rs`) checks the invariants in every state. It also checks that every state
//! leads to the desired one if no more faults occur. Cores that are broken on purpose
//! (`broken_cores.rs`) show that the oracle finds violations.
//!
//! ```text
//! core under test ◄── inbox ── register (rows: written, durable)        any order, some twice
//!       │                 ├─── keeper ── agent and its leftover process
//!       └── effects ──────┴──► yard, probes, cleanup, timer             any of them may fail
//! ```

mod action;
mod adopted;
mod broken_cores;
mod event;
mod keeper;
mod model;
mod oracle;
mod parent_and_child;
mod relaunches;
mod scene;
#[path = "../common/search.rs"]
mod search;
mod single;
mod summary;

use action::Setting;
use kennel_core::World;
use parent_and_child::ParentAndChild;
use relaunches::Relaunches;
use scene::{Budget, Scene, TestDaemon};
use single::{Real, SessionKind, SingleSession};

const WHOLE: Setting = Setting { yard: true, kernel_reports: true, orderly: false };
const OLD_KERNEL: Setting = Setting { yard: true, kernel_reports: false, orderly: false };
const NO_YARD: Setting = Setting { yard: false, kernel_reports: false, orderly: false };
const ORDERLY: Setting = Setting { orderly: true, ..WHOLE };

fn explore<D: TestDaemon>(daemon: &D, setting: Setting, start: Scene<D::Memory>)
where
    D::Memory: std::fmt::Debug,
{
    let budget = start.budget;
    match scene::explore(daemon, setting, start) {
        Ok(size) => println!("{setting:?} {budget:?}: {size:?}"),
        Err(violation) => panic!("{setting:?} {budget:?}: {violation}"),
    }
}

fn explore_one(setting: Setting, faults: u8, stops: u8) {
    explore_kind(setting, SessionKind::Plain, faults, stops);
}

fn explore_kind(setting: Setting, kind: SessionKind, faults: u8, stops: u8) {
    let daemon = SingleSession(Real);
    explore(&daemon, setting, single::start(&daemon, Budget::of(faults, stops), kind));
}

#[test]
fn a_session_that_two_clients_stop() {
    explore_one(WHOLE, 0, 2);
}

#[test]
fn a_session_that_is_stopped_during_a_fault() {
    explore_one(WHOLE, 1, 1);
    explore_one(OLD_KERNEL, 1, 1);
}

#[test]
fn a_session_with_two_faults() {
    explore_one(WHOLE, 2, 0);
    explore_one(OLD_KERNEL, 2, 0);
}

#[test]
fn a_session_without_a_yard() {
    explore_one(NO_YARD, 1, 0);
}

#[test]
fn a_session_that_must_become_ready() {
    for kind in [SessionKind::Port, SessionKind::Report] {
        explore_kind(ORDERLY, kind, 1, 1);
        explore_kind(ORDERLY, kind, 2, 0);
        explore_kind(WHOLE, kind, 0, 1);
    }
    explore_kind(WHOLE, SessionKind::Port, 1, 0);
}

#[test]
fn a_session_with_a_worktree() {
    explore_kind(WHOLE, SessionKind::Worktree, 0, 1);
    explore_kind(WHOLE, SessionKind::Worktree, 1, 0);
    explore_kind(ORDERLY, SessionKind::Worktree, 2, 1);
}

#[test]
fn a_queued_session() {
    explore_kind(WHOLE, SessionKind::Queued, 0, 1);
    explore_kind(WHOLE, SessionKind::Queued, 1, 0);
    explore_kind(ORDERLY, SessionKind::Queued, 2, 1);
    explore_kind(ORDERLY, SessionKind::QueuedWorktree, 1, 1);
}

/// Two clients resume the session, at any moment.
#[test]
fn a_session_that_is_launched_again() {
    explore_relaunches(0, 1);
    explore_relaunches(1, 0);
}

fn explore_relaunches(faults: u8, stops: u8) {
    let relaunches = Relaunches::new(relaunches::relaunch);
    let budget = Budget { faults, stops, resumes: 2 };
    explore(&relaunches, ORDERLY, relaunches.start(budget));
}

/// The restart policy launches the session again after a pause, unless a stop was requested.
#[test]
fn a_session_with_a_restart_policy() {
    explore_policy(0, 1, 3);
    explore_policy(1, 1, 2);
}

fn explore_policy(faults: u8, stops: u8, resumes: u8) {
    let relaunches = Relaunches::with_policy(relaunches::restart);
    explore(&relaunches, ORDERLY, relaunches.start(Budget { faults, stops, resumes }));
}

#[test]
#[ignore = "takes minutes"]
fn more_faults_for_sessions_that_wait() {
    for kind in [
        SessionKind::Port,
        SessionKind::Report,
        SessionKind::Worktree,
        SessionKind::Queued,
        SessionKind::QueuedWorktree,
    ] {
        explore_kind(WHOLE, kind, 1, 1);
        explore_kind(OLD_KERNEL, kind, 2, 0);
        explore_kind(NO_YARD, kind, 1, 1);
    }
    explore_relaunches(1, 1);
    explore_policy(1, 1, 3);
}

/// Visits millions of states, so run it optimized.
#[test]
#[ignore = "takes minutes"]
fn a_session_with_more_faults_and_stops() {
    explore_one(WHOLE, 2, 2);
    explore_one(OLD_KERNEL, 2, 1);
    explore_one(NO_YARD, 1, 2);
    explore_one(NO_YARD, 2, 1);
    explore_one(WHOLE, 3, 1);
}

fn explore_parent_and_child(faults: u8, stops: u8) {
    let parent_and_child = ParentAndChild::new(World::step);
    explore(&parent_and_child, ORDERLY, parent_and_child.start(Budget::of(faults, stops)));
}

#[test]
fn a_parent_and_its_child() {
    explore_parent_and_child(0, 1);
    explore_parent_and_child(1, 0);
}

#[test]
#[ignore = "takes minutes"]
fn a_parent_and_its_child_that_are_stopped_during_faults() {
    explore_parent_and_child(0, 2);
    explore_parent_and_child(1, 1);
}
