//! S1: whatever is killed at any point, each session is adopted, ended, or was never started.
//!
//! The walk visits every named point of keeper, yard and daemon. At each point it kills each of
//! them alone and each pair. Where the kind of the pen can make a difference, it does so in both
//! kinds: when a keeper is killed, whose tree must be ended without it, and at points that concern
//! a tree ([`is_about_a_tree`]). Elsewhere the kinds of pens take turns.
//!
//! `KENNEL_WALK=quick` walks only some points; `KENNEL_WALK=PART_OF_A_NAME` walks the points with
//! such a name, in both kinds of pens. A run that is limited to a slice of the suite
//! (`KENNEL_TEST_SLICE`) walks every point once: the victims, the pen and the user rotate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use kennel_testing::{Pen, Who, is_root, skip, test_slice};

use crate::crash_case::{Case, Victims, all_points};

/// A quick walk visits one of this many points.
const QUICK: usize = 6;

/// What is walked: every `step`th point is enough, and which ones depends on `offset`.
#[derive(Debug, Clone, Copy)]
struct Walk {
    victims: Victims,
    who: Who,
    pen: Pen,
    step: usize,
}

impl Walk {
    /// Returns a different offset for each set of victims.
    fn offset(self) -> usize {
        let Victims { daemon, keeper, yard } = self.victims;
        usize::from(daemon) + 2 * usize::from(keeper) + 4 * usize::from(yard)
    }

    /// The points that this walk visits.
    fn points(self) -> Vec<&'static str> {
        let selected = std::env::var("KENNEL_WALK").unwrap_or_default();
        match selected.as_str() {
            "" | "full" => match test_slice() {
                Some(slice) => self.in_slice(slice),
                None => self.every(self.step),
            },
            "quick" => self.every(self.step * QUICK),
            part => all_points().filter(|point| point.contains(part)).collect(),
        }
    }

    fn every(self, step: usize) -> Vec<&'static str> {
        let mine = all_points().enumerate().filter(|(index, point)| self.has(*index, point));
        mine.map(|(_, point)| point).skip(self.offset() % step).step_by(step).collect()
    }

    /// The points that a slice assigns to this walk: each point belongs to exactly one walk of a
    /// slice.
    fn in_slice(self, slice: usize) -> Vec<&'static str> {
        let turns = all_points().enumerate().filter(|(index, _)| {
            let (victims, pen) = (VICTIMS[(index + slice) % 6], PENS[(index + slice) / 6 % 2]);
            let is_other = !is_root() || (index + slice / 12).is_multiple_of(12);
            let who = if is_other { Who::Other } else { Who::Root };
            (victims, who, pen) == (self.victims, self.who, self.pen)
        });
        turns.map(|(_, point)| point).collect()
    }

    /// Whether a point is walked in this kind of pen.
    fn has(self, index: usize, point: &str) -> bool {
        let turn = if index.is_multiple_of(2) { Pen::Cgroup } else { Pen::Subtree };
        self.victims.keeper || is_about_a_tree(point) || turn == self.pen
    }
}

/// Whether a tree of processes is begun, held, ended or found again there.
fn is_about_a_tree(point: &str) -> bool {
    let parts =
        ["keeper.", "yard.", "daemon.adopt.", "daemon.end_pen.", "daemon.exit.", "daemon.stop."];
    parts.iter().any(|part| point.starts_with(part))
}

fn walk(victims: Victims, who: Who, pen: Pen, step: usize) {
    if !cfg!(feature = "faults") {
        return skip("the crash walk", "built without the feature `faults`");
    }
    let mut failed = Vec::new();
    for point in (Walk { victims, who, pen, step }).points() {
        let case = Case { point, victims, who, pen };
        let begun = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| case.run())).is_err() {
            failed.push(point);
        }
        println!("{point}: {:.2} s", begun.elapsed().as_secs_f64());
    }
    assert!(failed.is_empty(), "failed at {failed:#?}");
}

const PENS: [Pen; 2] = [Pen::Cgroup, Pen::Subtree];

macro_rules! walks {
    ($($name:ident: $($victim:ident)+;)+) => {
        const VICTIMS: [Victims; 6] = [$($name::VICTIMS),+];

    $(
        mod $name {
            use super::*;

            pub(super) const VICTIMS: Victims = {
                let mut victims = Victims { daemon: false, keeper: false, yard: false };
                $(victims.$victim = true;)+
                victims
            };

            #[test]
            fn in_cgroup_pens() {
                walk(VICTIMS, Who::Root, Pen::Cgroup, 1);
            }

            #[test]
            fn in_subtree_pens() {
                walk(VICTIMS, Who::Root, Pen::Subtree, 1);
            }

            #[test]
            fn as_another_user() {
                walk(VICTIMS, Who::Other, Pen::Cgroup, 12);
                walk(VICTIMS, Who::Other, Pen::Subtree, 12);
            }
        }
    )+};
}

walks! {
    the_daemon_is_killed: daemon;
    a_keeper_is_killed: keeper;
    the_yard_is_killed: yard;
    daemon_and_keeper_are_killed: daemon keeper;
    daemon_and_yard_are_killed: daemon yard;
    keeper_and_yard_are_killed: keeper yard;
}

#[test]
fn every_point_is_walked_with_every_victim_and_with_a_dead_keeper_in_both_pens() {
    for keeper in [false, true] {
        let victims = Victims { daemon: true, keeper, yard: false };
        let in_pen = |pen| Walk { victims, who: Who::Root, pen, step: 1 }.every(1);
        let (cgroup, subtree) = (in_pen(Pen::Cgroup), in_pen(Pen::Subtree));
        assert!(all_points().all(|point| cgroup.contains(&point) || subtree.contains(&point)));
        assert!(!keeper || all_points().eq(cgroup) && all_points().eq(subtree));
    }
}

#[test]
fn a_slice_walks_every_point_once_and_twelve_slices_have_all_victims_in_both_pens() {
    let ways = |slice| {
        let mut walked = Vec::new();
        for (victims, who, pen) in VICTIMS.iter().flat_map(|victims| {
            let whos = [Who::Root, Who::Other].into_iter();
            whos.flat_map(move |who| PENS.map(move |pen| (*victims, who, pen)))
        }) {
            let points = Walk { victims, who, pen, step: 1 }.in_slice(slice);
            walked.extend(points.into_iter().map(|point| (point, victims, pen)));
        }
        walked
    };
    let mut of_the_first_point = Vec::new();
    for slice in 0..12 {
        let walked = ways(slice);
        assert_eq!(walked.len(), all_points().count(), "slice {slice}");
        assert!(all_points().all(|point| walked.iter().any(|(walked, ..)| *walked == point)));
        let first = all_points().next();
        of_the_first_point.extend(walked.into_iter().filter(|(point, ..)| Some(*point) == first));
    }
    for (index, way) in of_the_first_point.iter().enumerate() {
        assert!(!of_the_first_point[..index].contains(way), "twice: {way:?}");
    }
}

#[test]
fn every_point_has_a_name_of_its_own() {
    let mut points: Vec<_> = all_points().collect();
    points.sort_unstable();
    points.dedup();
    assert_eq!(points.len(), all_points().count());
    assert!(points.len() > 50, "{points:?}");
}
