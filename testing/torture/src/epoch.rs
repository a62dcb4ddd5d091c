//! One epoch: a home, some clients, one tormentor, and the audit.

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

use crate::audit::{Audit, Baseline, SETTLES, baseline, pens};
use crate::bystanders::Bystanders;
use crate::client::Client;
use crate::draw::{Drawer, dice, in_a_hundred, weighted};
use crate::ledger::Ledger;
use crate::processes::witness_folder;
use crate::tally::Tally;
use crate::tormentor::Tormentor;

/// How large the disk is that can be filled: the register alone sets 5 MB aside.
const DISK: &str = "48m";

/// What an epoch is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) who: Who,
    pub(crate) pen: Pen,
    pub(crate) clients: u32,
    pub(crate) length: Duration,
    /// How often there is torment and an audit in the same home.
    pub(crate) rounds: u32,
    /// How many sessions may live at once.
    pub(crate) cap: usize,
    /// Whether the home is on a disk that can be filled.
    pub(crate) small_disk: bool,
}

impl Plan {
    /// Draws one.
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
            small_disk: in_a_hundred(rng, 50),
        };
        if !is_root() {
            plan = Self { who: Who::Other, pen: Pen::Subtree, small_disk: false, ..plan };
        }
        plan
    }
}

/// What came of an epoch.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Everything that was not as it must be.
    pub(crate) wrong: Vec<String>,
    pub(crate) tally: Tally,
    /// What clients were told that Kennel itself failed in.
    pub(crate) internal: Vec<String>,
}

/// Plays an epoch.
pub(crate) fn play(seed: u64, number: u32, plan: &Plan) -> anyhow::Result<Outcome> {
    let scene = Scene::new(plan.who, plan.pen).context("no such scene can be had here")?;
    let disk = plan.small_disk.then(|| SmallDisk::of_size(&scene, DISK));
    prepare(&scene, plan)?;
    let ledger = Ledger::default();
    let bystanders = Bystanders::gather(&scene)?;
    let faults = Faults::new(&scene);
    let stage = Stage {
        scene: &scene,
        disk: disk.as_ref(),
        ledger: &ledger,
        bystanders: &bystanders,
        faults: &faults,
    };
    // What the harness can't do it says by a panic.
    let played = catch_unwind(AssertUnwindSafe(|| stage.play(seed, number, plan)));
    let mut wrong = match played {
        Ok(wrong) => wrong?,
        Err(panic) => vec![format!("panicked: {}", said(&*panic))],
    };
    let mut seen = BTreeSet::new();
    wrong.retain(|what| seen.insert(what.clone()));
    if !wrong.is_empty() {
        // Told before anything is cleared away, which may fail as well.
        println!("\ntorture: WRONG in epoch {number}, seed {seed}");
        wrong.iter().for_each(|what| println!("- {what}"));
        println!("home and work folder are kept in {}", keep(&scene, seed, number)?.display());
    }
    let mut deeds = ledger.open();
    let asked = u64::try_from(deeds.asked.len()).unwrap_or(u64::MAX);
    deeds.tally.add_many("sessions asked for", asked);
    deeds.tally.add_many("bystanders", bystanders.count() as u64);
    Ok(Outcome { wrong, tally: deeds.tally.clone(), internal: deeds.internal.clone() })
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing").to_owned()
}

fn prepare(scene: &Scene, plan: &Plan) -> anyhow::Result<()> {
    let witness = witness_folder(scene);
    fs::create_dir(&witness)?;
    scene.give(&witness);
    let config = scene.path("home/.config/kennel");
    fs::create_dir_all(&config)?;
    let text = format!("daemon.min_free_disk = 0\ndaemon.max_live = {}\n", plan.cap);
    fs::write(config.join("kennel.toml"), text)?;
    let script = "git config --global user.name Somebody && git config --global user.email s@example.com && \
                  git config --global init.defaultBranch main && git init -q repo && cd repo && \
                  echo one > file && git add -A && git commit -qm first";
    let mut shell = scene.command(Path::new("/bin/sh"));
    shell.args(["-c", script]);
    let ended = Running::start(shell).wait();
    ensure!(ended.code == 0, "no repository: {ended:?}");
    Ok(())
}

/// Copies home and work folder out of a scene that goes.
fn keep(scene: &Scene, seed: u64, number: u32) -> anyhow::Result<PathBuf> {
    let to = std::env::temp_dir().join(format!("kennel-torture-{seed}-{number}"));
    fs::create_dir_all(&to)?;
    let mut copy = Command::new("cp");
    // Sockets can't be copied by all, and need not be.
    copy.arg("-a").args([scene.path("home"), scene.path("work")]).arg(&to);
    copy.status().context("cp is there")?;
    Ok(to)
}

/// All that is there for an epoch.
struct Stage<'a> {
    scene: &'a Scene,
    disk: Option<&'a SmallDisk<'a>>,
    ledger: &'a Ledger,
    bystanders: &'a Bystanders,
    faults: &'a Faults,
}

impl Stage<'_> {
    fn play(&self, seed: u64, number: u32, plan: &Plan) -> anyhow::Result<Vec<String>> {
        let baseline = self.warm_up();
        for round in 0..plan.rounds {
            // A round is drawn like an epoch of its own, far from the others.
            let begun = Instant::now();
            self.torment(seed, number + round * 100_000, plan);
            println!("  tormented for {:.1} s", begun.elapsed().as_secs_f64());
            let audit = Audit {
                scene: self.scene,
                ledger: self.ledger,
                bystanders: self.bystanders,
                cap: plan.cap,
                baseline: &baseline,
                patience: SETTLES,
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

    /// Has one session come and go, and looks at what is held then.
    fn warm_up(&self) -> Baseline {
        let warm = self.scene.launch(&["--name", "warm-up"], &["exit", "0"]);
        let _code = self.scene.call(&["wait", &warm]);
        let mut held = None;
        eventually("it is quiet before", || {
            held = baseline(self.scene, self.bystanders);
            held.is_some()
        });
        self.scene.call_ok(&["rm", &warm]);
        held.expect("just seen")
    }

    fn torment(&self, seed: u64, number: u32, plan: &Plan) {
        let until = Instant::now() + plan.length;
        let pens = pens(self.scene);
        thread::scope(|scope| {
            for client in 0..plan.clients {
                let prefix = format!("e{number}c{client}");
                let client_of =
                    Client { scene: self.scene, ledger: self.ledger, prefix, pens: &pens, until };
                let mut rng = dice(seed, number, Drawer::Client(client));
                scope.spawn(move || client_of.run(&mut rng));
            }
            let mut rng = dice(seed, number, Drawer::Tormentor);
            let tormentor = Tormentor {
                scene: self.scene,
                ledger: self.ledger,
                bystanders: self.bystanders,
                faults: self.faults,
                disk: self.disk,
            };
            tormentor.run(&mut rng, until);
        });
    }
}
