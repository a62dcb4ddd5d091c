//! `kennel-bench ask`: what it costs to have Kennel ask an agent.

mod parse;

use anyhow::Result;

use crate::machine;
use crate::target::{self, Target};

type Section = fn(&mut Run) -> Result<()>;

const SECTIONS: &[(&str, Section)] = &[("parse", parse::section)];

/// What was asked for.
pub(crate) struct Choice {
    quick: bool,
    /// All if empty.
    sections: Vec<String>,
}

impl Choice {
    /// Understands the command line; `None` if it can't.
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
}

/// One run.
pub(crate) struct Run {
    pub(crate) quick: bool,
    pub(crate) targets: Vec<Target>,
}

/// Runs what was asked for.
pub(crate) fn run(choice: &Choice) -> Result<()> {
    let mut run = Run { quick: choice.quick, targets: Vec::new() };
    machine::print_facts(choice.quick);
    for (name, section) in SECTIONS {
        if choice.sections.is_empty() || choice.sections.iter().any(|wanted| wanted == name) {
            section(&mut run)?;
        }
    }
    target::print(&run.targets);
    Ok(())
}
