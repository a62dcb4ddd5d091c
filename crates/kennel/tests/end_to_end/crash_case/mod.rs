//! The crash walk: a story is told up to a named point of daemon, keeper or yard, some of them are killed
//! there, and what comes of it is looked at from outside.

mod audit;
mod case;
mod part;
mod story;
mod victims;

pub(crate) use case::Case;
pub(crate) use part::{Noted, Part};
pub(crate) use story::Story;
pub(crate) use victims::Victims;

/// Every named point of keeper, yard and daemon that a session passes which is launched at once and once.
pub(crate) fn all_points() -> impl Iterator<Item = &'static str> {
    points().filter(|point| {
        let of_its_own = is_about_terminals(point) || is_about_prompts(point);
        !is_about_launches(point) && !of_its_own && !is_about_plans(point)
    })
}

/// The others: only sessions pass them that are launched again, or wait for their turn.
pub(crate) fn about_launches() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_launches(point))
}

/// Those that only a session passes which a user started.
pub(crate) fn about_terminals() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_terminals(point))
}

/// Those that only prompts pass, or members.
pub(crate) fn about_prompts() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_prompts(point))
}

/// Those that only plans pass: `plans` kills the daemon there.
fn is_about_plans(point: &str) -> bool {
    point.starts_with("daemon.plan.")
}

fn is_about_prompts(point: &str) -> bool {
    point.starts_with("daemon.judge.") || point.starts_with("daemon.member.")
}

fn is_about_terminals(point: &str) -> bool {
    point.starts_with("daemon.terminal.")
}

fn points() -> impl Iterator<Item = &'static str> {
    let keeper = kennel_keeper::KEEPER_POINTS.iter();
    let points = keeper.chain(kennel_keeper::yard::POINTS).chain(kennel_daemon::POINTS);
    points.copied()
}

fn is_about_launches(point: &str) -> bool {
    ["daemon.again.", "daemon.line.", "yard.kept"].iter().any(|part| point.starts_with(part))
}
