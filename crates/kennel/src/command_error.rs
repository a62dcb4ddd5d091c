//! One place where errors become messages and exit codes.

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::config::ConfigError;
use crate::exit_code;

/// A failure of Kennel's own, with its published code and maybe a remedy.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: u8,
    /// None if there is nothing to say.
    error: Option<anyhow::Error>,
    hint: Option<String>,
}

impl CommandError {
    pub(crate) fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: Some(error.into()), hint: None }
    }

    /// With a text for a reason.
    pub(crate) fn because(code: u8, text: impl Into<String>) -> Self {
        Self::new(code, anyhow::anyhow!(text.into()))
    }

    /// The session can't be set up.
    pub(crate) fn setup(error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit_code::SETUP, error)
    }

    /// Something in Kennel itself.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit_code::INTERNAL, error)
    }

    /// Whoever read our output has gone: there is nobody to tell, and nothing went wrong.
    pub(crate) fn nobody_reads() -> Self {
        Self { code: 0, error: None, hint: None }
    }

    /// All was said already.
    pub(crate) fn said(code: u8) -> Self {
        Self { code, error: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With another code.
    pub(crate) fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::new(exit_code::USAGE, error)
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::internal(error)
    }
}

/// Prints the failure with its causes; gives its exit code.
pub(crate) fn report(failure: CommandError) -> u8 {
    if let Some(error) = failure.error {
        say(&format!("{error:#}"));
    }
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

/// Says something about a session on standard error, in the same way; the text begins with its name.
pub(crate) fn note(text: &str) {
    write_if_possible(&format!("{text}\n"));
}

/// Brings a terminal on standard error to the beginning of a new line; a raw one needs more for that.
pub(crate) fn start_line(raw: bool) {
    if rustix::termios::isatty(rustix::stdio::stderr()) {
        write_if_possible(if raw { "\r\n" } else { "\n" });
    }
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
