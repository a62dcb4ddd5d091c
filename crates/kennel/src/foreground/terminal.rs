//! Our own terminal: its settings, its size, and raw mode.

use std::io;

use kennel_keeper::protocol::terminal_settings;
use kennel_pen::Size;
use kennel_sys::terminal;
use kennel_types::{TerminalSize, api};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::guard::Guard;

/// Our own terminal, if standard input and output are both terminals.
pub(crate) struct OwnTerminal {
    settings: Termios,
}

impl OwnTerminal {
    /// Returns our terminal.
    pub(crate) fn find() -> Option<Self> {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        if !isatty(stdin) || !isatty(stdout) {
            return None;
        }
        Some(Self { settings: tcgetattr(stdin).ok()? })
    }

    /// Switches to raw mode: every key goes to the agent, whose own terminal handles line editing,
    /// echo and special keys.
    pub(crate) fn make_raw(self) -> io::Result<RawTerminal> {
        let guard = Guard::start()?;
        let raw = RawTerminal { settings: self.settings, guard: Some(guard) };
        raw.enter_raw_mode()?;
        Ok(raw)
    }
}

/// Our terminal in raw mode. Dropping this restores it.
pub(crate) struct RawTerminal {
    settings: Termios,
    guard: Option<Guard>,
}

impl RawTerminal {
    /// Restores the terminal's settings.
    pub(crate) fn restore(&self) {
        // A terminal that can't be restored is gone (hung up).
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.settings).ok();
    }

    /// Enters raw mode.
    pub(crate) fn enter_raw_mode(&self) -> io::Result<()> {
        let mut raw = self.settings.clone();
        raw.make_raw();
        Ok(tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        self.restore();
    }
}

/// Returns the size of the user's terminal.
pub(crate) fn size() -> Option<Size> {
    let streams = [rustix::stdio::stdout(), rustix::stdio::stdin(), rustix::stdio::stderr()];
    streams.into_iter().find_map(|stream| terminal::size(stream).ok().flatten())
}

/// Returns a terminal of our size for an agent; of the default size if we have none.
pub(crate) fn like_ours() -> TerminalSize {
    let Size { rows, columns } = size().unwrap_or_default();
    TerminalSize { rows, columns }
}

/// Returns the settings of the user's terminal.
pub(crate) fn settings() -> Option<api::TerminalSettings> {
    tcgetattr(rustix::stdio::stdin()).ok().as_ref().map(terminal_settings)
}
