//! What goes to standard output.

use std::io::{self, Write};

use rustix::termios::isatty;
use serde::Serialize;

use crate::command_error::CommandError;

/// Prints text. If nobody reads it any more, that is a quiet end.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    bytes(text.as_bytes())
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(unprintable)
}

/// Prints a value for programs, on as many lines as it takes.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(CommandError::internal)?;
    print(&format!("{text}\n"))
}

/// Prints a value for programs on a line of its own.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(value).map_err(CommandError::internal)?;
    print(&format!("{text}\n"))
}

pub(crate) fn unprintable(error: io::Error) -> CommandError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => CommandError::nobody_reads(),
        _ => CommandError::internal(anyhow::Error::from(error).context("can't print")),
    }
}

/// Whether colours are welcome on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorMode {
    Color,
    Plain,
}

impl ColorMode {
    /// Only on a terminal, and not if the user has none of it.
    pub(crate) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if isatty(rustix::stdio::stdout()) && !unwanted && !dumb {
            Self::Color
        } else {
            Self::Plain
        }
    }

    pub(crate) fn paint(self, tone: TextStyle, text: &str) -> String {
        match (self, tone) {
            (Self::Plain, _) | (_, TextStyle::Plain) => text.to_owned(),
            (Self::Color, tone) => format!("\x1b[{}m{text}\x1b[0m", tone.code()),
        }
    }
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Good,
    Busy,
    Bad,
    Faint,
    Heading,
}

impl TextStyle {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Good => "32",
            Self::Busy => "33",
            Self::Bad => "31",
            Self::Faint => "2",
            Self::Heading => "1",
        }
    }
}

/// The width of the terminal on standard output; none if it goes elsewhere, where any length is fine.
pub(crate) fn width() -> Option<usize> {
    let stdout = rustix::stdio::stdout();
    let size = kennel_sys::terminal::size(stdout).ok().flatten();
    size.map(|size| usize::from(size.columns)).or_else(|| isatty(stdout).then_some(80))
}

/// Text that others wrote, on one line and without power over the terminal.
pub(crate) fn sanitize(text: &str) -> String {
    let mut sanitize = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => sanitize.push_str("\\n"),
            '\t' => sanitize.push_str("\\t"),
            '\r' => sanitize.push_str("\\r"),
            c if c.is_control() || is_invisible(c) => sanitize.extend(c.escape_unicode()),
            c => sanitize.push(c),
        }
    }
    sanitize
}

/// Characters that turn the direction of text or take no room: they could make it look like another.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_has_no_power_over_the_terminal() {
        assert_eq!(sanitize("plain ü 漢"), "plain ü 漢");
        assert_eq!(sanitize("a\nb\tc\x1b[31m\u{7f}\u{9b}"), "a\\nb\\tc\\u{1b}[31m\\u{7f}\\u{9b}");
        assert_eq!(sanitize("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn plain_ink_leaves_text_as_it_is() {
        assert_eq!(ColorMode::Plain.paint(TextStyle::Bad, "x"), "x");
        assert_eq!(ColorMode::Color.paint(TextStyle::Plain, "x"), "x");
        assert_eq!(ColorMode::Color.paint(TextStyle::Good, "x"), "\x1b[32mx\x1b[0m");
    }
}
