//! What a process that has launched thousands of times has more than before: nothing, it should be.

use std::fs;

use anyhow::{Context as _, Result};
use kennel_pen::{Ground, HomeId, Kind};

use crate::job::Job;
use crate::launch::with_kennel;
use crate::pen::Run;
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};
use crate::{machine, sweep};

/// Launches before the first look: until then caches fill up.
const WARM_UP: usize = 500;
/// What the resident memory may grow by and still be flat: the allocator moves its edge by pages.
const SLACK_KILOBYTES: u64 = 64;

/// Section D.
pub(crate) fn section(run: &mut Run) -> Result<()> {
    let launches = if run.quick { "1000" } else { "10000" };
    println!("D. before and after {launches} launches of /bin/true in one process");
    println!("  {:<14}{:>20}{:>20}{:>20}{:>20}", "", "descriptors", "RSS (kB)", "pens", "children");
    for pen in ["cgroup", "subtree"] {
        let contender = Contender::new(pen, &["baseline", pen, launches]);
        let rounds = Rounds { warm_up: 0, turns: 1, batch: 1 };
        let measured = interleave(&run.home, &[contender], rounds)?;
        let values = measured[0].figures.iter().map(|samples| samples.median());
        let (before, after) = Snapshot::pair(&values.collect::<Vec<_>>())?;
        println!("  {:<14}{}", format!("{pen} pen"), before.against(&after));
        let flat = before.is_flat(&after);
        run.targets.push(Target::holds(
            format!("baseline: flat after {launches} launches, {pen} pen"),
            if flat { "flat" } else { "NOT flat" },
            flat,
        ));
    }
    println!();
    Ok(())
}

/// What is counted.
struct Snapshot {
    descriptors: u64,
    kilobytes: u64,
    pens: u64,
    children: u64,
}

impl Snapshot {
    fn take(home: &HomeId) -> Result<Self> {
        Ok(Self {
            descriptors: fs::read_dir("/proc/self/fd")?.count() as u64,
            kilobytes: resident_kilobytes()?,
            pens: sweep::pens_of(home)?.len() as u64,
            children: machine::children()?.len() as u64,
        })
    }

    fn values(&self) -> [u64; 4] {
        [self.descriptors, self.kilobytes, self.pens, self.children]
    }

    fn pair(values: &[u64]) -> Result<(Self, Self)> {
        let from = |values: &[u64]| match *values {
            [descriptors, kilobytes, pens, children] => {
                Some(Self { descriptors, kilobytes, pens, children })
            }
            _ => None,
        };
        let halves = values.split_at_checked(4);
        halves
            .and_then(|(before, after)| Some((from(before)?, from(after)?)))
            .context("a worker gave other figures")
    }

    fn is_flat(&self, after: &Self) -> bool {
        after.descriptors == self.descriptors
            && after.kilobytes <= self.kilobytes + SLACK_KILOBYTES
            && (after.pens, after.children) == (0, 0)
    }

    fn against(&self, after: &Self) -> String {
        let pairs = self.values().into_iter().zip(after.values());
        pairs.map(|(before, after)| format!("{:>20}", format!("{before} -> {after}"))).collect()
    }
}

/// From the precise count: the quick ones lag behind by up to some hundred kilobytes.
fn resident_kilobytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.parse().ok()).context("no Rss in smaps_rollup")
}

/// The figures are two snapshots, one value after the other.
pub(crate) fn job(home: &HomeId, kind: Kind, launches: usize) -> Result<Job> {
    let (ground, home) = (Ground::survey(), home.clone());
    Ok(Box::new(move || {
        let launch = |times: usize| -> Result<()> {
            (0..times).try_for_each(|_| with_kennel(&ground, &home, kind))
        };
        launch(WARM_UP)?;
        let before = Snapshot::take(&home)?;
        launch(launches)?;
        let after = Snapshot::take(&home)?;
        Ok([before.values(), after.values()].concat())
    }))
}
