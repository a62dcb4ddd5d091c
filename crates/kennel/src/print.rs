//! Output on standard output: text, JSON, colors, plurals and shell quoting.

use std::io::{self, Write};

use rustix::termios::isatty;
use serde::Serialize;

use crate::command_error::CommandError;

/// Prints text. If the reader has gone away, the command ends quietly.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    bytes(text.as_bytes())
}

pub(crate) fn bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(print_error)
}

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value)?;
    print(&format!("{text}\n"))
}

/// Prints a value as JSON if that is requested, otherwise as text. Returns the exit code 0.
pub(crate) fn json_or_text(
    as_json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<u8, CommandError> {
    if as_json { json(value) } else { print(&text()) }?;
    Ok(0)
}

/// Prints a value as JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(value)?;
    print(&format!("{text}\n"))
}

pub(crate) fn print_error(error: io::Error) -> CommandError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => CommandError::broken_pipe(),
        _ => CommandError::internal(
            anyhow::Error::from(error).context("can't write to standard output"),
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorMode {
    Color,
    Plain,
}

impl ColorMode {
    /// Colors are used on a terminal unless NO_COLOR is set or the terminal is dumb.
    pub(crate) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if isatty(rustix::stdio::stdout()) && !unwanted && !dumb {
            Self::Color
        } else {
            Self::Plain
        }
    }

    pub(crate) fn paint(self, style: TextStyle, text: &str) -> String {
        let code = match style {
            TextStyle::Plain => return text.to_owned(),
            TextStyle::Good => "32",
            TextStyle::Busy => "33",
            TextStyle::Bad => "31",
            TextStyle::Faint => "2",
            TextStyle::Heading => "1",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Color => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The meaning of a piece of text, which decides its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Good,
    Busy,
    Bad,
    Faint,
    Heading,
}

/// Returns the width of the terminal on standard output; none if that is not a terminal.
pub(crate) fn width() -> Option<usize> {
    let stdout = rustix::stdio::stdout();
    let size = kennel_sys::terminal::size(stdout).ok().flatten();
    size.map(|size| usize::from(size.columns)).or_else(|| isatty(stdout).then_some(80))
}

/// Escapes control characters: foreign text must stay on one line and not control the terminal.
pub(crate) fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character changes the text direction or has no width, and so could disguise the text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Formats a command line, quoted for a shell where needed.
pub(crate) fn shell_words(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// `1 keeper`, `2 keepers`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Quotes a word for a shell if needed.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters() {
        assert_eq!(sanitize("plain ü 漢"), "plain ü 漢");
        assert_eq!(sanitize("a\nb\tc\x1b[31m\u{7f}\u{9b}"), "a\\nb\\tc\\u{1b}[31m\\u{7f}\\u{9b}");
        assert_eq!(sanitize("\u{202e}x"), "\\u{202e}x");
    }

    #[test]
    fn plain_mode_leaves_text_unchanged() {
        assert_eq!(ColorMode::Plain.paint(TextStyle::Bad, "x"), "x");
        assert_eq!(ColorMode::Color.paint(TextStyle::Plain, "x"), "x");
        assert_eq!(ColorMode::Color.paint(TextStyle::Good, "x"), "\x1b[32mx\x1b[0m");
    }

    #[test]
    fn quotes_words_for_a_shell() {
        let argv = ["sh", "-c", "echo 'a b'", "", "plain/path.txt"].map(ToOwned::to_owned);
        assert_eq!(shell_words(&argv), r"sh -c 'echo '\''a b'\''' '' plain/path.txt");
    }
}
