//! Figures about this daemon, for those who watch many: counted as things happen, written when somebody asks.
//!
//! ```text
//! owner, sweep, register ──add──> Tally, Flow: atomics ──┐
//! owner, once a scrape ───────────> Gauges ──────────────┼──> page ──> Exposition: text for Prometheus
//! /proc/self ─────────────────────> OwnProcess ──────────┘
//! ```
//! To count is to add to an atomic. What can be seen at any time is not counted but looked at, so that it can't be
//! wrong. Counters begin at 0 with each daemon, as Prometheus expects it of a process. No label has more values than a
//! program's text names: neither sessions nor members nor folders.
//!
//! The writer is our own: a crate for it wants to own counters of ours that are looked at, and its types are as many lines.

mod counter;
mod exposition;
mod gauges;
mod histogram;
mod output;
mod own_process;
mod page;
mod reason;
mod tally;

pub(crate) use gauges::{Gauges, OWED_KINDS, PHASES, PLAN_STATES};
pub(crate) use output::note_output;
pub(crate) use own_process::OwnProcess;
pub(crate) use page::{Sources, page};
pub(crate) use tally::Tally;
