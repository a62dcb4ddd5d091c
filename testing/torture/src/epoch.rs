//! One epoch: a home, several clients, a fault injector, and the audit.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fastrand::Rng;
use kennel_testing::{Faults, Pen, Running, Scene, SmallDisk, Who, eventually, is_root};

use crate::audit::{Audit, IdleResources, SETTLE_TIMEOUT, baseline, pens};
use crate::bystanders::Bystanders;
use crate::client::TortureClient;
use crate::counts::Counts;
use crate::injector::FaultInjector;
use crate::ledger::Ledger;
use crate::processes::witness_folder;
use crate::random::{RandomStream, chance, random_numbers, weighted};

/// The size of the disk that can be filled: the register alone reserves 5 MB.
const DISK: &str = "48m";

/// The parameters of an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EpochPlan {
    pub(crate) who: Who,
    pub(crate) pen: Pen,
    pub(crate) clients: u32,
    pub(crate) length: Duration,
    /// How many rounds of faults and audits there are in the same home.
    pub(crate) rounds: u32,
    /// The limit of live sessions.
    pub(crate) cap: usize,
    /// Whether the home is on a small disk, which can be filled.
    pub(crate) small_disk: bool,
}

impl EpochPlan {
    /// Draws a plan.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let (who, pen) = weighted(
            rng,
            &[
                (4, (Who::Root, Pen::Cgroup)),
                (3, (Who::Root, Pen::Subtree)),
                (2, (Who::Other, Pen::Cgroup)),
                (3, (Who::Other, Pen::Subtree)),
            ],
        );
        let mut plan = Self {
            who,
            pen,
            clients: rng.u32(2..6),
            length: Duration::from_millis(rng.u64(3000..9000)),
            rounds: weighted(rng, &[(7, 1), (3, 2)]),
            cap: rng.usize(6..16),
            small_disk: chance(rng, 50),
        };
        if !is_root() {
            plan = Self { who: Who::Other, pen: Pen::Subtree, small_disk: false, ..plan };
        }
        plan
    }
}

/// The result of an epoch.
#[derive(Debug)]
pub(crate) struct EpochOutcome {
    /// The findings.
    pub(crate) wrong: Vec<String>,
    pub(crate) counts: Counts,
    /// Internal errors that were reported to clients.
    pub(crate) internal: Vec<String>,
}

/// Runs an epoch.
pub(crate) fn run(seed: u64, number: u32, plan: &EpochPlan) -> anyhow::Result<EpochOutcome> {
    let scene =
        Scene::new(plan.who, plan.pen).context("this machine does not support the scene")?;
    let disk = plan.small_disk.then(|| SmallDisk::of_size(&scene, DISK));
    prepare(&scene, plan)?;
    let ledger = Ledger::default();
    let bystanders = Bystanders::start(&scene)?;
    let faults = Faults::new(&scene);
    let epoch = RunningEpoch {
        scene: &scene,
        disk: disk.as_ref(),
        ledger: &ledger,
        bystanders: &bystanders,
        faults: &faults,
    };
    // The harness panics if it fails.
    let outcome = catch_unwind(AssertUnwindSafe(|| epoch.run(seed, number, plan)));
    let mut wrong = match outcome {
        Ok(wrong) => wrong?,
        Err(panic) => vec![format!("panicked: {}", panic_message(&*panic))],
    };
    let mut seen = BTreeSet::new();
    wrong.retain(|what| seen.insert(what.clone()));
    if !wrong.is_empty() {
        // Printed before the cleanup, which may fail too.
        println!("\ntorture: FINDINGS in epoch {number}, seed {seed}");
        wrong.iter().for_each(|what| println!("- {what}"));
        println!("home and work folder are kept in {}", keep(&scene, seed, number)?.display());
    }
    let mut record = ledger.open();
    let requested = u64::try_from(record.requested.len()).unwrap_or(u64::MAX);
    record.counts.add_many("sessions requested", requested);
    record.counts.add_many("bystanders", bystanders.count() as u64);
    Ok(EpochOutcome { wrong, counts: record.counts.clone(), internal: record.internal.clone() })
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

fn prepare(scene: &Scene, plan: &EpochPlan) -> anyhow::Result<()> {
    let witness = witness_folder(scene);
    fs::create_dir(&witness)?;
    scene.give(&witness);
    let config = scene.path("home/.config/kennel");
    fs::create_dir_all(&config)?;
    let text = format!("daemon.min_free_disk = 0\ndaemon.max_live = {}\n", plan.cap);
    fs::write(config.join("kennel.toml"), text)?;
    let script = "git config --global user.name Test && git config --global user.email s@example.com && \
                  git config --global init.defaultBranch main && git init -q repo && cd repo && \
                  echo one > file && git add -A && git commit -qm first";
    let mut shell = scene.command(Path::new("/bin/sh"));
    shell.args(["-c", script]);
    let ended = Running::start(shell).wait();
    ensure!(ended.code == 0, "can't create the repository: {ended:?}");
    Ok(())
}

/// Copies the home and the work folder out of the scene, which is about to be removed.
fn keep(scene: &Scene, seed: u64, number: u32) -> anyhow::Result<PathBuf> {
    let to = std::env::temp_dir().join(format!("kennel-torture-{seed}-{number}"));
    fs::create_dir_all(&to)?;
    let mut copy = Command::new("cp");
    // Not every `cp` can copy sockets, and they are not needed.
    copy.arg("-a").args([scene.path("home"), scene.path("work")]).arg(&to);
    copy.status().context("can't run cp")?;
    Ok(to)
}

/// An epoch that runs.
struct RunningEpoch<'a> {
    scene: &'a Scene,
    disk: Option<&'a SmallDisk<'a>>,
    ledger: &'a Ledger,
    bystanders: &'a Bystanders,
    faults: &'a Faults,
}

impl RunningEpoch<'_> {
    fn run(&self, seed: u64, number: u32, plan: &EpochPlan) -> anyhow::Result<Vec<String>> {
        let baseline = self.warm_up();
        for round in 0..plan.rounds {
            // A round is drawn like an epoch with a distant number.
            let begun = Instant::now();
            self.inject_faults(seed, number + round * 100_000, plan);
            println!("  injected faults for {:.1} s", begun.elapsed().as_secs_f64());
            let audit = Audit {
                scene: self.scene,
                ledger: self.ledger,
                bystanders: self.bystanders,
                cap: plan.cap,
                baseline: &baseline,
                timeout: SETTLE_TIMEOUT,
            };
            let begun = Instant::now();
            let wrong = audit.run();
            println!("  audited in {:.1} s", begun.elapsed().as_secs_f64());
            if !wrong.is_empty() {
                return Ok(wrong);
            }
        }
        Ok(Vec::new())
    }

    /// Runs one session to its end, then returns the resources that Kennel uses when it is idle.
    fn warm_up(&self) -> IdleResources {
        let warm = self.scene.launch(&["--name", "warm-up"], &["exit", "0"]);
        let _code = self.scene.call(&["wait", &warm]);
        let mut held = None;
        eventually("Kennel is idle", || {
            held = baseline(self.scene, self.bystanders);
            held.is_some()
        });
        self.scene.call_ok(&["rm", &warm]);
        held.expect("just seen")
    }

    fn inject_faults(&self, seed: u64, number: u32, plan: &EpochPlan) {
        let until = Instant::now() + plan.length;
        let pens = pens(self.scene);
        thread::scope(|scope| {
            for client in 0..plan.clients {
                let prefix = format!("e{number}c{client}");
                let client_of = TortureClient {
                    scene: self.scene,
                    ledger: self.ledger,
                    prefix,
                    pens: &pens,
                    until,
                };
                let mut rng = random_numbers(seed, number, RandomStream::Client(client));
                scope.spawn(move || client_of.run(&mut rng));
            }
            let mut rng = random_numbers(seed, number, RandomStream::Faults);
            let injector = FaultInjector {
                scene: self.scene,
                ledger: self.ledger,
                bystanders: self.bystanders,
                faults: self.faults,
                disk: self.disk,
            };
            injector.run(&mut rng, until);
        });
    }
}
