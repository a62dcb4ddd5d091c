//! S1: whoever is killed wherever, each session is adopted, or ended, or never started.
//!
//! Every named point of keeper, yard and daemon is walked, and at each every one of them and every pair is
//! killed. `KENNEL_WALK=quick` walks some points only; `KENNEL_WALK=PART_OF_A_NAME` those with such a name.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use kennel_testing::{Pen, Who, skip};

use crate::walk::{Case, Victims, all_points};

/// Of so many points one, in a quick walk.
const QUICK: usize = 6;

/// The points to walk, of which every `step`th is enough; which ones depends on `offset`.
fn points(step: usize, offset: usize) -> Vec<&'static str> {
    let wish = std::env::var("KENNEL_WALK").unwrap_or_default();
    let every = |step: usize| all_points().skip(offset % step).step_by(step).collect();
    match wish.as_str() {
        "" | "full" => every(step),
        "quick" => every(step * QUICK),
        part => all_points().filter(|point| point.contains(part)).collect(),
    }
}

fn walk(victims: Victims, who: Who, pen: Pen, step: usize) {
    if !cfg!(feature = "faults") {
        return skip("the crash walk", "built without the feature `faults`");
    }
    let offset = usize::from(victims.daemon) + 2 * usize::from(victims.keeper);
    let offset = offset + 4 * usize::from(victims.yard);
    let mut failed = Vec::new();
    for point in points(step, offset) {
        let case = Case { point, victims, who, pen };
        let begun = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| case.run())).is_err() {
            failed.push(point);
        }
        println!("{point}: {:.2} s", begun.elapsed().as_secs_f64());
    }
    assert!(failed.is_empty(), "failed at {failed:#?}");
}

macro_rules! walks {
    ($($name:ident: $($victim:ident)+;)+) => {$(
        mod $name {
            use super::*;

            const VICTIMS: Victims = {
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
fn every_point_has_a_name_of_its_own() {
    let mut points: Vec<_> = all_points().collect();
    points.sort_unstable();
    points.dedup();
    assert_eq!(points.len(), all_points().count());
    assert!(points.len() > 50, "{points:?}");
}
