//! What is wrong with a plan, for those who wrote it.

use std::fmt;

/// Everything that is wrong with a plan, in the order in which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub(super) Vec<PlanProblem>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProblem {
    /// Its line and its column, from 1 on; none if the plan does not come from a text.
    pub at: Option<(usize, usize)>,
    /// What.
    pub text: String,
}

impl PlanError {
    /// One by one.
    #[must_use]
    pub fn problems(&self) -> &[PlanProblem] {
        &self.0
    }

    /// A line each, for a file of this name: `FILE:LINE:COLUMN: what`.
    #[must_use]
    pub fn in_file(&self, file: &str) -> String {
        let lines = self.0.iter().map(|problem| match problem.at {
            Some(_) => format!("{file}:{problem}"),
            None => format!("{file}: {problem}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// With everything that is wrong, if anything is.
    pub(super) fn none_of(problems: Vec<PlanProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

/// What of a plan something is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spot {
    Plan,
    Input(String),
    /// By its number.
    Stage(usize),
    /// By its stage's number, and its own.
    Agent(usize, usize),
}

/// Something that is wrong with a plan, wherever it comes from.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) spot: Spot,
    /// Of which key; nothing for the whole.
    pub(super) key: &'static str,
    /// What was written in a prompt, if that is what is wrong.
    pub(super) written: Option<String>,
    pub(super) text: String,
}
