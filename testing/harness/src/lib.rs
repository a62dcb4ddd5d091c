//! The test harness: hermetic scenes with programs, users and delegated cgroups, observed from
//! outside.
//!
//! A [`Scene`] is hermetic. It has its own temp folder, with links to the programs under test, and
//! its own cgroup, in which all of its processes start, whichever pen Kennel uses. So a test can
//! check from outside that nothing is left: no process in that cgroup, none that runs a program of
//! that folder, and no pen.

mod agents;
mod calls;
mod condition;
mod delegated;
mod faults;
mod http;
mod look;
mod running;
mod scene;
mod skip;
mod slice;
mod small_disk;

pub use agents::installed_agent;
pub use condition::{DEADLINE, eventually, look_until, soon};
pub use delegated::{cgroups_named, may_make_cgroups};
pub use faults::Faults;
pub use http::{HttpClient, HttpResponse};
pub use look::{Process, alive, cgroup_mount, is_free, is_root, processes_below};
pub use running::{Ended, Running, Screen, signal};
pub use scene::{Pen, Scene, Who};
pub use skip::skip;
pub use slice::{AgentUse, includes_agent, runs_here, test_slice};
pub use small_disk::SmallDisk;

/// Makes four tests of one scenario: both kinds of pen, as root and as another user.
///
/// If the run is limited to a slice ([`test_slice`]), the scenario runs as root in a cgroup, and in
/// one environment that depends on the slice.
///
/// ```ignore
/// everywhere! {
///     /// What it tests.
///     fn name(scene: Scene) { /* steps and assertions */ }
/// }
/// ```
#[macro_export]
macro_rules! everywhere {
    ($($(#[$meta:meta])* fn $name:ident($scene:ident: Scene) $body:block)+) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn scenario($scene: $crate::Scene) $body

            $crate::everywhere!(@one scenario as_root_in_a_cgroup_pen, Root, Cgroup);
            $crate::everywhere!(@one scenario as_root_in_a_subtree_pen, Root, Subtree);
            $crate::everywhere!(@one scenario as_another_user_in_a_cgroup_pen, Other, Cgroup);
            $crate::everywhere!(@one scenario as_another_user_in_a_subtree_pen, Other, Subtree);
        }
    )+};
    (@one $scenario:ident $name:ident, $who:ident, $pen:ident) => {
        #[test]
        fn $name() {
            let (who, pen) = ($crate::Who::$who, $crate::Pen::$pen);
            if !$crate::runs_here(module_path!(), who, pen) {
                return;
            }
            if let Some(scene) = $crate::Scene::new(who, pen) {
                $scenario(scene);
            }
        }
    };
}
