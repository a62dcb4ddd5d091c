//! Our own terminal: its settings, its size, and raw mode.

use std::io;

use kennel_keeper::protocol::terminal_settings;
use kennel_pen::Size;
use kennel_sys::terminal;
use kennel_types::{TerminalSize, api};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::guard::Guard;

/// Returns the settings of our own terminal, if standard input and output are both terminals.
pub(crate) fn own_terminal() -> Option<Termios> {
    let stdin = rustix::stdio::stdin();
    let both = isatty(stdin) && isatty(rustix::stdio::stdout());
    both.then(|| tcgetattr(stdin).ok()).flatten()
}

/// Our terminal in raw mode. Dropping this restores it.
pub(crate) struct RawTerminal {
    settings: Termios,
    guard: Option<Guard>,
}

impl RawTerminal {
    /// Switches to raw mode: every key goes to the agent, whose own terminal handles line editing,
    /// echo and special keys.
    pub(crate) fn new(settings: Termios) -> anyhow::Result<Self> {
        let raw = Self { settings, guard: Some(Guard::start()?) };
        raw.enter_raw_mode()?;
        Ok(raw)
    }

    pub(crate) fn restore(&self) {
        // A terminal that can't be restored is gone (hung up).
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.settings).ok();
    }

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

pub(crate) fn size() -> Option<Size> {
    let streams = [rustix::stdio::stdout(), rustix::stdio::stdin(), rustix::stdio::stderr()];
    streams.into_iter().find_map(|stream| terminal::size(stream).ok().flatten())
}

/// Returns a terminal of our size for an agent; of the default size if we have none.
pub(crate) fn like_ours() -> TerminalSize {
    let Size { rows, columns } = size().unwrap_or_default();
    TerminalSize { rows, columns }
}

pub(crate) fn settings() -> Option<api::TerminalSettings> {
    tcgetattr(rustix::stdio::stdin()).ok().as_ref().map(terminal_settings)
}
