//! Our own terminal: its settings and size, raw mode, and putting everything back.

use std::io;

use kennel_keeper::protocol::TerminalSettings;
use kennel_pen::Size;
use kennel_sys::terminal;
use kennel_types::{Terminal, api};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::guard::Guard;

/// Our own terminal: standard input and output are both one.
pub(crate) struct OwnTerminal {
    settings: Termios,
}

impl OwnTerminal {
    /// Our terminal, if we have one.
    pub(crate) fn find() -> Option<Self> {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        if !isatty(stdin) || !isatty(stdout) {
            return None;
        }
        Some(Self { settings: tcgetattr(stdin).ok()? })
    }

    /// Makes it raw: every key goes to the agent, which has a terminal of its own for line editing, echo and
    /// special keys.
    pub(crate) fn make_raw(self) -> io::Result<RawTerminal> {
        let guard = Guard::start()?;
        let raw = RawTerminal { settings: self.settings, guard: Some(guard) };
        raw.step_forward()?;
        Ok(raw)
    }
}

/// Our terminal while it is raw. It is put back when this is dropped.
pub(crate) struct RawTerminal {
    settings: Termios,
    guard: Option<Guard>,
}

impl RawTerminal {
    /// Leaves the terminal to the user's shell.
    pub(crate) fn step_back(&self) {
        // If it can't be restored it is gone (hung up), and there is nobody to tell.
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.settings).ok();
    }

    /// Takes it again.
    pub(crate) fn step_forward(&self) -> io::Result<()> {
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
        self.step_back();
    }
}

/// The size of the terminal that people look at, if there is one.
pub(crate) fn size() -> Option<Size> {
    let streams = [rustix::stdio::stdout(), rustix::stdio::stdin(), rustix::stdio::stderr()];
    streams.into_iter().find_map(|stream| terminal::size(stream).ok().flatten())
}

/// A terminal of our size for an agent; of the usual size if we have none.
pub(crate) fn like_ours() -> Terminal {
    let Size { rows, columns } = size().unwrap_or_default();
    Terminal { rows, columns }
}

/// The settings of the terminal that people type at, if there is one.
pub(crate) fn settings() -> Option<api::TerminalSettings> {
    let settings = TerminalSettings::from(&tcgetattr(rustix::stdio::stdin()).ok()?);
    Some(api::TerminalSettings { modes: settings.modes, characters: settings.characters })
}
