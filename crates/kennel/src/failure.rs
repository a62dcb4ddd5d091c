//! One place where errors become messages and exit codes.

use kennel_pen::LaunchError;
use kennel_pen::holder::HeldError;
use rustix::event::{PollFd, PollFlags, Timespec};

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
    say(&format!("{:#}", failure.error));
    if let Some(hint) = failure.hint {
        write_if_possible(&format!("hint: {hint}\n"));
    }
    failure.code
}

/// Says something on standard error.
///
/// Never fails and never blocks: a reader that is gone, or does not read, must not keep us from our work.
pub(crate) fn say(text: &str) {
    write_if_possible(&format!("kennel: {text}\n"));
}

/// In pieces that a pipe with room takes at once.
fn write_if_possible(text: &str) {
    const PIECE: usize = 4096;
    let stderr = rustix::stdio::stderr();
    for piece in text.as_bytes().chunks(PIECE) {
        let mut room = [PollFd::new(&stderr, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = rustix::event::poll(&mut room, Some(&now)).is_ok_and(|ready| ready > 0);
        if !ready || rustix::io::write(stderr, piece).is_err() {
            return;
        }
    }
}

/// Help and version are no failures; all else is.
pub(crate) fn usage(error: &clap::Error) -> u8 {
    // If the stream is closed, nobody wanted to read it.
    error.print().ok();
    if error.use_stderr() { exit_code::USAGE } else { 0 }
}
