//! The crash walk: a scenario runs up to a named point of daemon, keeper or yard, some of them are
//! killed there, and the result is audited from outside.

mod audit;
mod case;
mod part;
mod scenario;
mod victims;

pub(crate) use case::Case;
pub(crate) use part::{Noted, Part};
pub(crate) use scenario::Scenario;
pub(crate) use victims::Victims;

/// Every named point of keeper, yard and daemon that a session with a single immediate launch
/// passes.
pub(crate) fn all_points() -> impl Iterator<Item = &'static str> {
    points().filter(|point| {
        let of_its_own = is_about_adoption(point) || is_about_prompts(point);
        !is_about_launches(point) && !of_its_own && !is_about_plans(point)
    })
}

/// Points that only relaunched or queued sessions pass.
pub(crate) fn about_launches() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_launches(point))
}

/// Points that only adopted sessions pass.
pub(crate) fn about_adoption() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_adoption(point))
}

/// Points that only prompts or members pass.
pub(crate) fn about_prompts() -> impl Iterator<Item = &'static str> {
    points().filter(|point| is_about_prompts(point))
}

/// Points that only plans pass: `plans` kills the daemon there.
fn is_about_plans(point: &str) -> bool {
    point.starts_with("daemon.plan.")
}

fn is_about_prompts(point: &str) -> bool {
    point.starts_with("daemon.judge.") || point.starts_with("daemon.member.")
}

fn is_about_adoption(point: &str) -> bool {
    point.starts_with("daemon.adopted.")
}

fn points() -> impl Iterator<Item = &'static str> {
    let keeper = kennel_keeper::KEEPER_POINTS.iter().chain(kennel_keeper::yard::POINTS);
    keeper.copied().chain(kennel_daemon::fault_points())
}

fn is_about_launches(point: &str) -> bool {
    ["daemon.relaunch.", "daemon.queue.", "yard.kept"].iter().any(|part| point.starts_with(part))
}
