//! `kennel-bench session`: what a session costs, from the request to its removal. `kennel-bench
//! ask`: what a prompt costs. `kennel-bench api`: what clients cost that watch.
//!
//! Each section has its own homes, with yard and daemon of the `dist` build, and talks to the
//! daemon over its socket. A guard process removes everything, however the benchmark ends.

mod adoption;
mod api;
mod ask;
mod disk;
mod echo;
mod endurance;
mod flushes;
mod generate;
mod guard;
mod home;
mod listing;
mod output;
mod parallel;
mod peers;
mod process;
mod programs;
mod request;
mod rest;
mod serial;
mod turns;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kennel_pen::HomeId;
use kennel_sys::reap::Reaped;

use crate::target::{self, Target};
use crate::{machine, sweep};
use disk::SkipReason;
use guard::{CleanupGuard, CleanupItem};
use home::BenchHome;

type Section = fn(&mut BenchRun) -> Result<()>;

const SECTIONS: &[(&str, Section)] = &[
    ("serial", serial::section),
    ("parallel", parallel::section),
    ("rest", rest::section),
    ("adoption", adoption::section),
    ("output", output::section),
    ("echo", echo::section),
    ("sweep", endurance::section),
];

const ASK_SECTIONS: &[(&str, Section)] =
    &[("first-call", ask::first_call), ("parse", ask::parse), ("many", ask::many)];

const API_SECTIONS: &[(&str, Section)] = &[
    ("events", api::events),
    ("idle", api::idle),
    ("list", listing::section),
    ("create", programs::create),
    ("terminal", programs::terminal),
];

/// The benchmarks that use homes. They all run in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchKind {
    Session,
    Ask,
    Api,
}

impl BenchKind {
    fn sections(self) -> &'static [(&'static str, Section)] {
        match self {
            Self::Session => SECTIONS,
            Self::Ask => ASK_SECTIONS,
            Self::Api => API_SECTIONS,
        }
    }
}

/// The command line.
pub(crate) struct BenchOptions {
    bench: BenchKind,
    quick: bool,
    peers: bool,
    folder: Option<PathBuf>,
    /// All sections if empty.
    sections: Vec<String>,
}

impl BenchOptions {
    /// Parses the command line; `None` if it is wrong.
    pub(crate) fn parse(bench: BenchKind, words: &[String]) -> Option<Self> {
        let mut choice =
            Self { bench, quick: false, peers: false, folder: None, sections: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => choice.quick = true,
                "--peers" => choice.peers = true,
                "--dir" => choice.folder = Some(words.next()?.into()),
                name if bench.sections().iter().any(|(known, _)| *known == name) => {
                    choice.sections.push(word.clone());
                }
                _ => return None,
            }
        }
        Some(choice)
    }

    fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|name| name == section)
    }
}

/// A run of the benchmark.
pub(crate) struct BenchRun {
    pub(crate) quick: bool,
    pub(crate) peers: bool,
    pub(crate) targets: Vec<Target>,
    /// Everything that this run makes is in here.
    pub(crate) folder: PathBuf,
    /// A journaled disk, or why it is unavailable; created when it is first needed.
    journaled: Option<Result<PathBuf, SkipReason>>,
    pub(crate) guard: CleanupGuard,
    homes: Vec<HomeId>,
}

impl BenchRun {
    fn new(choice: &BenchOptions) -> Result<Self> {
        let mut guard = CleanupGuard::start()?;
        let base = match &choice.folder {
            Some(folder) => std::path::absolute(folder)?,
            None => own_folder()?,
        };
        let folder = base.join(format!("session-bench-{}", std::process::id()));
        guard.announce(CleanupItem::Folder, &folder)?;
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        disk::spread(&folder);
        Ok(Self {
            quick: choice.quick,
            peers: choice.peers,
            targets: Vec::new(),
            folder,
            journaled: None,
            guard,
            homes: Vec::new(),
        })
    }

    /// A new home on this disk.
    pub(crate) fn home(&mut self, name: &str) -> Result<BenchHome> {
        self.home_in(self.folder.clone(), name)
    }

    /// A new home on a journaled disk, if there is one.
    pub(crate) fn journaled_home(&mut self, name: &str) -> Result<Result<BenchHome, SkipReason>> {
        if self.journaled.is_none() {
            self.guard.announce(CleanupItem::Mount, &self.folder.join("mounted"))?;
        }
        let folder = self.folder.clone();
        let disk = self.journaled.get_or_insert_with(|| disk::mount_loop(&folder)).clone();
        match disk {
            Ok(disk) => self.home_in(disk, name).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    fn home_in(&mut self, base: PathBuf, name: &str) -> Result<BenchHome> {
        // The name determines the part of the disk: see [`disk::spread`].
        let folder = base.join(format!("{name}-{}", std::process::id()));
        self.guard.announce(CleanupItem::Home, &folder)?;
        let home = BenchHome::start(folder)?;
        self.homes.push(home.id.clone());
        Ok(home)
    }
}

/// Returns the folder of this program: cargo's target folder is on a disk, `/tmp` often is not.
fn own_folder() -> Result<PathBuf> {
    let me = std::env::current_exe().context("finding my own program")?;
    Ok(me.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Runs the sections, and cleans up even if one fails.
pub(crate) fn run(choice: &BenchOptions) -> Result<()> {
    // Orphans become children of this process.
    kennel_sys::reap::become_subreaper()?;
    let mut run = BenchRun::new(choice)?;
    machine::print_facts(choice.quick);
    println!("  {:<18}{}\n", "disk", disk::describe(&run.folder)?);
    let done = sections(&mut run, choice);
    let BenchRun { mut targets, guard, homes, folder, .. } = run;
    let cleared = guard.dismiss();
    // A process that has ended is not left behind.
    while let Reaped::One(..) = kennel_sys::reap::reap_any()? {}
    let mut swept = usize::from(folder.exists());
    for home in homes {
        swept += sweep::sweep(&home)?;
    }
    done?;
    cleared?;
    targets.push(Target::holds(
        "nothing was left behind",
        format!("{swept} to sweep up"),
        swept == 0,
    ));
    target::print(&targets);
    Ok(())
}

fn sections(run: &mut BenchRun, choice: &BenchOptions) -> Result<()> {
    for (name, section) in choice.bench.sections() {
        if choice.wants(name) {
            section(run).with_context(|| format!("section {name}"))?;
        }
    }
    Ok(())
}

/// Returns whether this is the first argument of a helper process of the benchmark.
pub(crate) fn has_role(word: &str) -> bool {
    [guard::ARGUMENT, generate::ARGUMENT, peers::RUNTIME_ARGUMENT].contains(&word)
}

/// Runs a helper process.
pub(crate) fn take_role(role: &str, rest: &[String]) -> Result<()> {
    match role {
        guard::ARGUMENT => guard::serve(),
        generate::ARGUMENT => generate::generate(rest),
        _ => peers::serve_as_runtime(rest),
    }
}
