//! `kennel-bench pen`: the sections one after the other, then the targets.

use anyhow::Result;
use kennel_pen::HomeId;

use crate::target::{self, Target};
use crate::{baseline, big_caller, bombs, ending, hop, launch, machine, sweep};

type PenSection = fn(&mut PenBench) -> Result<()>;

const SECTIONS: &[(&str, PenSection)] = &[
    ("launch", launch::section),
    ("big", big_caller::section),
    ("end", ending::section),
    ("hop", hop::section),
    ("baseline", baseline::section),
    ("bombs", bombs::section),
];

/// The command line.
pub(crate) struct PenBenchOptions {
    quick: bool,
    /// All sections if empty.
    sections: Vec<String>,
}

impl PenBenchOptions {
    /// Parses the command line; `None` if it is wrong.
    pub(crate) fn parse(words: &[String]) -> Option<Self> {
        let mut choice = Self { quick: false, sections: Vec::new() };
        for word in words {
            match word.as_str() {
                "--quick" => choice.quick = true,
                name if SECTIONS.iter().any(|(known, _)| *known == name) => {
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
pub(crate) struct PenBench {
    pub(crate) quick: bool,
    /// The home id that marks everything that this run creates.
    pub(crate) home: HomeId,
    pub(crate) targets: Vec<Target>,
}

/// Runs the sections, and cleans up even if one fails.
pub(crate) fn run(choice: &PenBenchOptions) -> Result<()> {
    let mut run = PenBench { quick: choice.quick, home: HomeId::random()?, targets: Vec::new() };
    kennel_sys::reap::become_subreaper()?;
    machine::print_facts(choice.quick);
    let done = sections(&mut run, choice);
    let swept = sweep::sweep(&run.home);
    done?;
    let swept = swept?;
    run.targets.push(Target::holds(
        "nothing was left behind",
        format!("{swept} to sweep up"),
        swept == 0,
    ));
    target::print(&run.targets);
    Ok(())
}

fn sections(run: &mut PenBench, choice: &PenBenchOptions) -> Result<()> {
    for (name, section) in SECTIONS {
        if choice.wants(name) {
            section(run)?;
        }
    }
    Ok(())
}
