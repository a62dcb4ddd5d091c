//! The output format of one agent.

use kennel_types::VerdictKind;

use crate::attempt_end::AttemptEnd;
use crate::parse_state::{ParseState, Recorder, ReportedOutcome};

/// This version of Kennel doesn't know such a line: it is kept as evidence, and otherwise ignored.
#[derive(Debug)]
pub(crate) struct UnknownLine;

impl From<serde_json::Error> for UnknownLine {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// An error text by which an agent reports that it can't start, with the verdict that it means.
pub(crate) type StartFailure = (&'static str, VerdictKind);

/// Parses the output of one agent.
pub(crate) trait OutputFormat: Send {
    /// Parses a line of standard output.
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine>;

    /// Parses a line of standard error.
    fn parse_error_line(&mut self, _line: &str, _recorder: &mut Recorder<'_>) {}

    fn start_failures(&self) -> &'static [StartFailure] {
        &[]
    }

    /// Returns an outcome that replaces the one the agent reported.
    fn override_outcome(
        &self,
        _state: &ParseState,
        _output: &KeptOutput<'_>,
        _end: &AttemptEnd,
    ) -> Option<OutcomeOverride> {
        None
    }

    /// Returns whether the agent reports every tool that it runs.
    fn reports_tools(&self) -> bool {
        true
    }
}

/// An outcome that replaces the one the agent reported.
pub(crate) struct OutcomeOverride {
    pub(crate) outcome: ReportedOutcome,
    /// Whether the agent failed to start.
    pub(crate) failed_start: bool,
}

/// The parts of the output that are kept as evidence.
pub(crate) struct KeptOutput<'a> {
    /// Lines of standard output that the format doesn't know.
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
}
