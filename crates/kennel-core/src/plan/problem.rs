//! The errors of a plan, for its author.

use std::fmt;

/// All errors of a plan, in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub(super) Vec<PlanProblem>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProblem {
    /// The line and column, from 1. `None` if the plan does not come from a text.
    pub at: Option<(usize, usize)>,
    pub text: String,
}

impl PlanError {
    #[must_use]
    pub fn problems(&self) -> &[PlanProblem] {
        &self.0
    }

    /// Returns one line for each error, for a file of this name: `FILE:LINE:COLUMN: error`.
    #[must_use]
    pub fn in_file(&self, file: &str) -> String {
        let lines = self.0.iter().map(|problem| match problem.at {
            Some(_) => format!("{file}:{problem}"),
            None => format!("{file}: {problem}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

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
        let lines: Vec<_> = self.0.iter().map(PlanProblem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for PlanError {}

/// The part of a plan that an error is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlanPart {
    Plan,
    Stage(usize),
    /// The numbers of the stage and of the agent in it.
    Agent(usize, usize),
}

/// An error of a plan whose position is not known yet.
#[derive(Debug)]
pub(super) struct Complaint {
    pub(super) part: PlanPart,
    /// Empty for the whole part.
    pub(super) key: &'static str,
    /// The text inside the value that is wrong, if only a part of a prompt is.
    pub(super) written: Option<String>,
    pub(super) text: String,
}
