//! One point, one set of victims.

use std::path::PathBuf;
use std::time::Duration;

use kennel_testing::{Ended, Faults, Pen, Process, Running, Scene, Who, eventually};

use super::audit::Audit;
use super::part::Part;
use super::scenario::Scenario;
use super::victims::{Victims, keepers};
use crate::journal::Journal;
use crate::worktrees::Repo;

/// How long a scenario may take to reach its point.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A point, the victims that are killed there, and where the sessions run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) point: &'static str,
    pub(crate) victims: Victims,
    pub(crate) who: Who,
    pub(crate) pen: Pen,
}

impl Case {
    /// Runs the scenario, kills, and audits. On a failure it panics with the logs.
    pub(crate) fn run(self) {
        let Some(scene) = Scene::new(self.who, self.pen) else { return };
        let reported =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.run_in(&scene)));
        if let Err(panic) = reported {
            eprintln!("*** {self:?}\n{}", scene.logs());
            std::panic::resume_unwind(panic);
        }
    }

    fn run_in(self, scene: &Scene) {
        let faults = Faults::new(scene);
        let scenario = Scenario::passing(self.point);
        let bystander = Part::new("bystander", false);
        let repo = scenario.has_worktree().then(|| Repo::new(scene));
        let subject = Part::new("subject", scenario.ends_by_itself())
            .in_worktree_of(repo.as_ref())
            .with(scenario.flags());
        let bystander_id = bystander.launch(scene);
        let bystander_keeper = *keepers(scene).first().expect("the bystander's keeper");
        let mut results = scenario.prepare(scene, &faults, &subject);
        faults.arm(self.point);
        results.extend(scenario.begin(scene, &subject, bystander_keeper));
        let Some(there) = faults.wait_reached(self.point, TIMEOUT) else {
            panic!("{scenario:?} does not pass {}", self.point);
        };

        let keeper = self.keeper(scene, there, bystander_keeper);
        let folder = other_folder(scene, &bystander_id);
        let before = [Some(scene.session_folder(&bystander_id)), folder.clone()]
            .map(|folder| folder.map(|folder| Journal::read(&folder)).unwrap_or_default());
        if scenario == Scenario::KeeperDeath && self.pen == Pen::Subtree {
            // If the yard is dead too, processes that it had not ended can't be observed.
            let yard = scene.yard();
            let is_orphan =
                |p: &Process| Some(p.parent) == yard && !p.command.starts_with("kennel-");
            eventually("the yard has ended the orphans", || {
                !scene.all_processes().iter().any(|p| p.state != 'Z' && is_orphan(p))
            });
        }
        let killed = self.victims.kill(scene, keeper);
        scenario.release(&faults);
        faults.disarm(self.point);

        // The first command restarts what is dead.
        let _sessions = scene.sessions();
        let results: Vec<Ended> = results.into_iter().map(Running::wait).collect();
        let audit = Audit {
            scene,
            scenario,
            point: self.point,
            victims: self.victims,
            bystander,
            subject,
            bystander_harmed: killed.keeper == Some(bystander_keeper),
            subject_harmed: scenario == Scenario::KeeperDeath
                || killed.keeper.is_some_and(|pid| pid != bystander_keeper),
            yard_killed: killed.yard.is_some(),
            repo: repo.as_ref(),
            before,
            results,
        };
        audit.run();
    }

    /// The keeper to be killed: that of the subject, else the bystander's.
    fn keeper(self, scene: &Scene, there: i32, bystander: i32) -> Option<i32> {
        if self.point.starts_with("keeper.") {
            return Some(there);
        }
        keepers(scene).into_iter().find(|pid| *pid != bystander).or(Some(bystander))
    }
}

/// The folder of the subject, which only the test knows at this moment.
fn other_folder(scene: &Scene, bystander: &str) -> Option<PathBuf> {
    let folders = std::fs::read_dir(scene.kennel_home().join("sessions")).ok()?;
    let mut folders = folders.flatten().filter(|folder| folder.file_name() != bystander);
    folders.next().map(|folder| folder.path())
}
