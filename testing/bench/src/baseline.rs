//! Compares the resources of a process before and after thousands of launches: they should not
//! grow.

use std::fs;

use anyhow::{Context as _, Result};
use kennel_pen::{HomeId, HostSupport, PenKind};

use crate::job::WorkerJob;
use crate::launch::with_kennel;
use crate::pen::PenBench;
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};
use crate::{machine, sweep};

/// Launches before the first snapshot, to fill caches.
const WARM_UP: usize = 500;
/// How much the anonymous memory may grow and still count as flat: one step by which the allocator
/// extends its heap, so that a leak of thirteen bytes in each of 10,000 launches shows. (The rest
/// of the resident memory is the program's file, which the kernel maps page by page when code runs
/// for the first time.)
const SLACK_KILOBYTES: u64 = 128;

/// Section D.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    let launches = if run.quick { "1000" } else { "10000" };
    println!("D. before and after {launches} launches of /bin/true in one process");
    println!(
        "  {:<14}{:>18}{:>18}{:>18}{:>18}{:>18}",
        "", "descriptors", "RSS (kB)", "anonymous (kB)", "pens", "children"
    );
    for pen in ["cgroup", "subtree"] {
        let contender = Contender::new(pen, &["baseline", pen, launches]);
        let rounds = Rounds { warm_up: 0, turns: 1, batch: 1 };
        let measured = interleave(&run.home, &[contender], rounds)?;
        let values = measured[0].figures.iter().map(|samples| samples.median());
        let (before, after) = ProcessSnapshot::pair(&values.collect::<Vec<_>>())?;
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

/// The counted resources.
struct ProcessSnapshot {
    descriptors: u64,
    resident: u64,
    anonymous: u64,
    pens: u64,
    children: u64,
}

impl ProcessSnapshot {
    fn take(home: &HomeId) -> Result<Self> {
        Ok(Self {
            descriptors: fs::read_dir("/proc/self/fd")?.count() as u64,
            resident: kilobytes("Rss:")?,
            anonymous: kilobytes("Anonymous:")?,
            pens: sweep::pens_of(home)?.len() as u64,
            children: machine::children()?.len() as u64,
        })
    }

    fn values(&self) -> [u64; 5] {
        [self.descriptors, self.resident, self.anonymous, self.pens, self.children]
    }

    fn from_values(values: &[u64]) -> Option<Self> {
        let &[descriptors, resident, anonymous, pens, children] = values else {
            return None;
        };
        Some(Self { descriptors, resident, anonymous, pens, children })
    }

    fn pair(values: &[u64]) -> Result<(Self, Self)> {
        let (before, after) = values.split_at(values.len() / 2);
        let pair = Self::from_values(before).zip(Self::from_values(after));
        pair.context("a worker returned unexpected figures")
    }

    fn is_flat(&self, after: &Self) -> bool {
        after.descriptors == self.descriptors
            && after.anonymous <= self.anonymous + SLACK_KILOBYTES
            && (after.pens, after.children) == (0, 0)
    }

    fn against(&self, after: &Self) -> String {
        let pairs = self.values().into_iter().zip(after.values());
        pairs.map(|(before, after)| format!("{:>18}", format!("{before} -> {after}"))).collect()
    }
}

/// Reads the precise count: the fast ones lag behind by up to some hundred kilobytes.
fn kilobytes(field: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("no {field} in smaps_rollup"))
}

/// Returns the job; its figures are the values of two snapshots.
pub(crate) fn job(home: &HomeId, kind: PenKind, launches: usize) -> Result<WorkerJob> {
    let (support, home) = (HostSupport::survey(home), home.clone());
    Ok(Box::new(move || {
        let launch = |times: usize| -> Result<()> {
            (0..times).try_for_each(|_| with_kennel(&support, &home, kind))
        };
        launch(WARM_UP)?;
        ProcessSnapshot::take(&home)?; // the first snapshot itself allocates memory
        let before = ProcessSnapshot::take(&home)?;
        launch(launches)?;
        let after = ProcessSnapshot::take(&home)?;
        Ok([before.values(), after.values()].concat())
    }))
}
