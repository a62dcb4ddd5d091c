//! Metrics of this daemon, counted as things happen and encoded on request.
//!
//! ```text
//! owner, sweep, register ──count──> DaemonMetrics ──┐
//! owner, once per scrape ─────────> Gauges ─────────┼──> page: text for Prometheus
//! /proc/self, once per scrape ────────────────────────┘
//! ```
//! A value that can be read at any time is read and not counted, so that it can't be wrong.
//! Counters start at 0 with each daemon, as Prometheus expects. Labels have only values that the
//! program's source names: no sessions, members or folders.

mod counters;
mod page;

pub(crate) use counters::{DaemonMetrics, count_output};
pub(crate) use page::{Gauges, OWED_KINDS, PHASES, PLAN_STATES, page};
