//! Every interleaving of a small world around one session, around a parent and its child, and
//! around two launches of one session: cancels, exits, deaths of keeper and daemon, restarts of the
//! machine, failed effects, repeated and reordered messages. A session may have to become ready,
//! wait in line, or for a worktree.
//!
//! The oracle is what must always hold (`oracle.rs`), in every state; and from every state, if
//! nothing more goes wrong, all comes to rest as wanted. That the oracle bites is shown by cores
//! that are broken on purpose (`doubles.rs`).
//!
//! ```text
//! core under test ◄── inbox ── register (rows: written, durable)        any order, some twice
//!       │                 ├─── keeper ── agent, and what it leaves
//!       └── effects ──────┴──► yard, probes, clean-up, timer            any of them may fail
//! ```

mod action;
mod alone;
mod doubles;
mod event;
mod family;
mod gist;
mod keeper;
mod lineage;
mod oracle;
mod plot;
mod scene;
#[path = "../common/search.rs"]
mod search;
mod terminal;

use action::Setting;
use alone::{Alone, Asked, Real};
use family::Family;
use kennel_core::World;
use lineage::Lineage;
use scene::{Budget, Mind, Scene};

const WHOLE: Setting = Setting { yard: true, kernel_tells: true, orderly: false };
const OLD_KERNEL: Setting = Setting { yard: true, kernel_tells: false, orderly: false };
const NO_YARD: Setting = Setting { yard: false, kernel_tells: false, orderly: false };
const ORDERLY: Setting = Setting { orderly: true, ..WHOLE };

fn explore<D: Mind>(mind: &D, setting: Setting, start: Scene<D::Memory>)
where
    D::Memory: std::fmt::Debug,
{
    let budget = start.budget;
    match scene::explore(mind, setting, start) {
        Ok(size) => println!("{setting:?} {budget:?}: {size:?}"),
        Err(violation) => panic!("{setting:?} {budget:?}: {violation}"),
    }
}

fn explore_one(setting: Setting, trouble: u8, stops: u8) {
    explore_kind(setting, Asked::Plain, trouble, stops);
}

fn explore_kind(setting: Setting, asked: Asked, trouble: u8, stops: u8) {
    let mind = Alone(Real);
    explore(&mind, setting, alone::start(&mind, Budget::of(trouble, stops), asked));
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
    for asked in [Asked::Port, Asked::Report] {
        explore_kind(ORDERLY, asked, 1, 1);
        explore_kind(ORDERLY, asked, 2, 0);
        explore_kind(WHOLE, asked, 0, 1);
    }
    explore_kind(WHOLE, Asked::Port, 1, 0);
}

#[test]
fn a_session_with_a_worktree() {
    explore_kind(WHOLE, Asked::Worktree, 0, 1);
    explore_kind(WHOLE, Asked::Worktree, 1, 0);
    explore_kind(ORDERLY, Asked::Worktree, 2, 1);
}

#[test]
fn a_queued_session() {
    explore_kind(WHOLE, Asked::Queued, 0, 1);
    explore_kind(WHOLE, Asked::Queued, 1, 0);
    explore_kind(ORDERLY, Asked::Queued, 2, 1);
    explore_kind(ORDERLY, Asked::QueuedWorktree, 1, 1);
}

/// Two clients resume it, at any moment.
#[test]
fn a_session_that_is_launched_again() {
    explore_lineage(0, 1);
    explore_lineage(1, 0);
}

fn explore_lineage(trouble: u8, stops: u8) {
    let lineage = Lineage::new(lineage::relaunch);
    let budget = Budget { trouble, stops, resumes: 2 };
    explore(&lineage, ORDERLY, lineage.start(budget));
}

/// Its policy launches it again, after a pause, unless somebody wants the end.
#[test]
fn a_session_with_a_restart_policy() {
    explore_policy(0, 1, 3);
    explore_policy(1, 1, 2);
}

fn explore_policy(trouble: u8, stops: u8, resumes: u8) {
    let lineage = Lineage::with_policy(lineage::restart);
    explore(&lineage, ORDERLY, lineage.start(Budget { trouble, stops, resumes }));
}

#[test]
#[ignore = "takes minutes"]
fn more_faults_for_sessions_that_wait() {
    for asked in [Asked::Port, Asked::Report, Asked::Worktree, Asked::Queued, Asked::QueuedWorktree]
    {
        explore_kind(WHOLE, asked, 1, 1);
        explore_kind(OLD_KERNEL, asked, 2, 0);
        explore_kind(NO_YARD, asked, 1, 1);
    }
    explore_lineage(1, 1);
    explore_policy(1, 1, 3);
}

/// Millions of states: run it optimized.
#[test]
#[ignore = "takes minutes"]
fn a_session_with_more_faults_and_stops() {
    explore_one(WHOLE, 2, 2);
    explore_one(OLD_KERNEL, 2, 1);
    explore_one(NO_YARD, 1, 2);
    explore_one(NO_YARD, 2, 1);
    explore_one(WHOLE, 3, 1);
}

fn explore_family(trouble: u8, stops: u8) {
    let family = Family::new(World::step);
    explore(&family, ORDERLY, family.start(Budget::of(trouble, stops)));
}

#[test]
fn a_parent_and_its_child() {
    explore_family(0, 1);
    explore_family(1, 0);
}

#[test]
#[ignore = "takes minutes"]
fn a_parent_and_its_child_that_are_stopped_during_faults() {
    explore_family(0, 2);
    explore_family(1, 1);
}
