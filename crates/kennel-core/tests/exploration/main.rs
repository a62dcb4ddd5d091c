//! Every interleaving of a small world around one session, and around a parent and its child: cancels, exits,
//! deaths of keeper and daemon, restarts of the machine, failed effects, repeated and reordered messages.
//!
//! The oracle is what must always hold (`oracle.rs`). That it bites is shown by cores that are broken on purpose.

mod action;
mod alone;
mod event;
mod gist;
mod keeper;
mod oracle;
mod plot;
mod scene;
mod search;

use action::Setting;
use alone::{Alone, Real, start};
use scene::Budget;
use search::explore;

fn run(setting: Setting, budget: Budget) {
    let mind = Alone(Real);
    let began = std::time::Instant::now();
    match explore(&mind, setting, start(&mind, budget)) {
        Ok(seen) => println!("{setting:?} {budget:?} {seen:?} {:?}", began.elapsed()),
        Err(violation) => panic!("{violation}"),
    }
}

#[test]
fn one_session() {
    for (yard, kernel_tells) in [(true, true), (true, false), (false, false)] {
        let setting = Setting { yard, kernel_tells };
        for (trouble, stops) in
            if yard { [(0, 2), (1, 1), (2, 0)] } else { [(1, 0), (0, 1), (1, 1)] }
        {
            run(setting, Budget { trouble, stops });
        }
    }
}
