//! One place where errors become messages and exit codes.

use kennel_pen::LaunchError;
use kennel_pen::holder::HeldError;

use crate::exit_code;

/// A failure of Kennel's own, with its published code and maybe a remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    error: anyhow::Error,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: error.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(exit_code::INTERNAL, error)
    }
}

impl From<HeldError> for Failure {
    fn from(error: HeldError) -> Self {
        let code = match &error {
            HeldError::Launch(LaunchError::Exec(_)) => exit_code::EXEC,
            HeldError::Launch(LaunchError::Nul { .. } | LaunchError::VariableName { .. }) => {
                exit_code::USAGE
            }
            HeldError::Pen(_) => exit_code::PEN,
            _ => exit_code::INTERNAL,
        };
        let hint = match &error {
            HeldError::Pen(_) => Some("`kennel doctor` says what is possible here".to_owned()),
            _ => None,
        };
        Self { code, error: error.into(), hint }
    }
}

/// Prints the failure with its causes; gives its exit code.
pub(crate) fn report(failure: Failure) -> u8 {
    eprintln!("kennel: {:#}", failure.error);
    if let Some(hint) = failure.hint {
        eprintln!("hint: {hint}");
    }
    failure.code
}

/// Help and version are no failures; all else is.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    // If the stream is closed, nobody wanted to read it.
    error.print().ok();
    if error.use_stderr() { exit_code::USAGE } else { 0 }
}
