//! What a terminal shows, for clients that attach later: its modes, and the output since the screen
//! was last cleared.

use std::collections::BTreeMap;
use std::io;

use super::sequence::{Control, Splitter, TextPiece};
use crate::journal::{JournalItem, JournalReader, STDERR};

/// The maximum amount of output that is searched for the last clear.
const MAX_SEARCHED: u64 = 8 * 1024 * 1024;
/// The maximum amount of output that is shown again if the screen was never cleared.
const TAIL: usize = 64 * 1024;
/// The maximum if the screen was cleared.
const SINCE_CLEARED: usize = 1024 * 1024;

/// Modes that switch to the alternate screen and back.
const OTHER_SCREEN: [u16; 3] = [47, 1047, 1049];
/// Modes that are on by default: line wrap, and the visible cursor.
const ON_AT_FIRST: [u16; 2] = [7, 25];
/// Modes without a lasting effect: saving the cursor, and synchronized updates.
const NO_STATE: [u16; 2] = [1048, 2026];

/// The modes that a program has set on a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    private: BTreeMap<u16, bool>,
    keypad: bool,
    /// The pushed flags of the kitty keyboard protocol.
    keyboard: Vec<String>,
    /// How xterm encodes modified keys.
    modified_keys: Option<String>,
    scroll_region: bool,
}

impl Modes {
    fn note(&mut self, sequence: &[u8]) {
        match sequence {
            b"\x1bc" => *self = Self::default(),
            b"\x1b=" => self.keypad = true,
            b"\x1b>" => self.keypad = false,
            _ => {
                if let Some(control) = Control::parse(sequence) {
                    self.note_control(&control);
                }
            }
        }
    }

    fn note_control(&mut self, control: &Control<'_>) {
        match (control.private, control.intermediate, control.last) {
            (Some(b'?'), [], on @ (b'h' | b'l')) => {
                let modes = control.numbers().filter(|mode| !NO_STATE.contains(mode));
                self.private.extend(modes.map(|mode| (mode, on == b'h')));
            }
            (Some(b'>'), [], b'u') => self.keyboard.push(control.parameters.to_owned()),
            (Some(b'<'), [], b'u') => {
                let popped = control.numbers().next().unwrap_or(1);
                self.keyboard.truncate(self.keyboard.len().saturating_sub(popped.into()));
            }
            (Some(b'>'), [], b'm') => {
                let parameters = control.parameters;
                self.modified_keys = parameters.contains(';').then(|| parameters.to_owned());
            }
            (None, [], b'r') => self.scroll_region = !control.parameters.is_empty(),
            (None, b"!", b'p') => {
                self.keypad = false;
                self.scroll_region = false;
                self.private.extend([(1, false), (6, false), (7, true), (25, true)]);
            }
            _ => {}
        }
    }

    /// Returns whether arrow keys are sent as application cursor keys.
    pub fn application_cursor(&self) -> bool {
        self.private.get(&1) == Some(&true)
    }

    fn other_screen(&self) -> Option<u16> {
        OTHER_SCREEN.into_iter().find(|mode| self.private.get(mode) == Some(&true))
    }

    /// Returns the modes that differ from the defaults, apart from the alternate screen.
    fn changed(&self) -> impl Iterator<Item = (u16, bool)> {
        let changed = |(mode, on): &(u16, bool)| *on != ON_AT_FIRST.contains(mode);
        let modes = self.private.iter().map(|(mode, on)| (*mode, *on));
        modes.filter(changed).filter(|(mode, _)| !OTHER_SCREEN.contains(mode))
    }

    /// Returns the sequences that set these modes on a terminal with default modes.
    fn enter(&self) -> String {
        let mut out = String::new();
        if let Some(mode) = self.other_screen() {
            out += &format!("\x1b[?{mode}h");
        }
        for (mode, on) in self.changed() {
            out += &format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' });
        }
        if self.keypad {
            out += "\x1b=";
        }
        for flags in &self.keyboard {
            out += &format!("\x1b[>{flags}u");
        }
        if let Some(parameters) = &self.modified_keys {
            out += &format!("\x1b[>{parameters}m");
        }
        out
    }

    /// Returns the sequences that reset a terminal with these modes to the defaults.
    pub fn leave(&self) -> String {
        let mut out = String::new();
        for (mode, on) in self.changed() {
            out += &format!("\x1b[?{mode}{}", if on { 'l' } else { 'h' });
        }
        if self.keypad {
            out += "\x1b>";
        }
        if !self.keyboard.is_empty() {
            out += &format!("\x1b[<{}u", self.keyboard.len());
        }
        if self.modified_keys.is_some() {
            out += "\x1b[>4m";
        }
        if self.scroll_region {
            // A reset of the region moves the cursor, which must stay where it is.
            out += "\x1b7\x1b[r\x1b8";
        }
        if let Some(mode) = self.other_screen() {
            out += &format!("\x1b[?{mode}l");
        }
        if !out.is_empty() {
            out += "\x1b[0m";
        }
        out
    }
}

/// Tracks the modes in output that is shown.
#[derive(Debug, Default)]
pub struct ScreenTracker {
    splitter: Splitter,
    /// The current modes.
    pub modes: Modes,
}

impl ScreenTracker {
    /// Processes output that is shown.
    pub fn look(&mut self, output: &[u8]) {
        let modes = &mut self.modes;
        self.splitter.feed(output, |piece| {
            if let TextPiece::Sequence(sequence) = piece {
                modes.note(sequence);
            }
        });
    }
}

/// Collects the output to show to a client that attaches.
#[derive(Debug, Default)]
struct ScreenReplay {
    splitter: Splitter,
    modes: Modes,
    shown: Vec<u8>,
    cleared: bool,
}

impl ScreenReplay {
    fn feed(&mut self, output: &[u8]) {
        let Self { splitter, modes, shown, cleared } = self;
        splitter.feed(output, |piece| match piece {
            TextPiece::Text(text) => shown.extend(text),
            TextPiece::Sequence(sequence) => {
                modes.note(sequence);
                if clears(sequence) {
                    shown.clear();
                    *cleared = true;
                }
                if !is_query(sequence) {
                    shown.extend(sequence);
                }
            }
        });
        if self.shown.len() > 2 * self.limit() {
            self.shorten();
        }
    }

    fn limit(&self) -> usize {
        if self.cleared { SINCE_CLEARED } else { TAIL }
    }

    /// Shortens the output to the limit, preferably at the beginning of a line.
    fn shorten(&mut self) {
        let from = self.shown.len().saturating_sub(self.limit());
        let line =
            self.shown[from..].iter().position(|byte| *byte == b'\n').map(|at| from + at + 1);
        self.shown.drain(..line.unwrap_or(from));
    }

    /// Returns the output to show, and a tracker with the resulting modes.
    fn finish(mut self) -> (Vec<u8>, ScreenTracker) {
        if self.shown.len() > self.limit() {
            self.shorten();
        }
        let mut out = self.modes.enter().into_bytes();
        out.extend(self.shown);
        // An incomplete sequence is continued by later output.
        out.extend(self.splitter.waiting());
        (out, ScreenTracker { splitter: self.splitter, modes: self.modes })
    }
}

/// Returns what the screen of a session shows. Leaves the reader at the end of the journal.
pub fn screen_of(reader: &mut JournalReader) -> io::Result<(Vec<u8>, ScreenTracker)> {
    let mut replay = ScreenReplay::default();
    let from = reader.start()?.max(reader.end()?.saturating_sub(MAX_SEARCHED));
    reader.seek(from)?;
    loop {
        match reader.next()? {
            JournalItem::Data { stream, data, .. } if stream != STDERR => replay.feed(data),
            JournalItem::Data { .. } | JournalItem::Gap { .. } => {}
            JournalItem::End => return Ok(replay.finish()),
        }
    }
}

/// Returns whether earlier output is no longer visible.
fn clears(sequence: &[u8]) -> bool {
    if sequence == b"\x1bc" {
        return true;
    }
    Control::parse(sequence).is_some_and(|control| match (control.private, control.last) {
        (None, b'J') => matches!(control.parameters, "2" | "3"),
        (Some(b'?'), b'h' | b'l') => control.numbers().any(|mode| OTHER_SCREEN.contains(&mode)),
        _ => false,
    })
}

/// Returns whether a terminal would answer this query. The program no longer expects that.
fn is_query(sequence: &[u8]) -> bool {
    if let Some(control) = Control::parse(sequence) {
        return match (control.private, control.intermediate, control.last) {
            (_, [], b'c' | b'n') | (Some(b'?'), [], b'u' | b'm') | (Some(b'>'), [], b'q') => true,
            (_, b"$", b'p') => true,
            // Size and position of the window. Numbers up to 10 are commands.
            (None, [], b't') => control.numbers().next().is_some_and(|number| number > 10),
            (Some(b'?'), [], b'S') => true,
            _ => false,
        };
    }
    let string = |prefix: &[u8]| sequence.starts_with(prefix);
    // Colours and the clipboard; capabilities; graphics.
    (string(b"\x1b]") && sequence.windows(2).any(|pair| pair == b";?"))
        || string(b"\x1bP$q")
        || string(b"\x1bP+q")
        || string(b"\x1b_G")
        || sequence == b"\x1bZ"
}

/// Removes queries, which a terminal would answer, from output that is shown again.
#[derive(Debug, Default)]
pub struct QueryFilter(Splitter);

impl QueryFilter {
    /// Returns the next output without queries.
    pub fn filter(&mut self, output: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(output.len());
        self.0.feed(output, |piece| match piece {
            TextPiece::Text(text) => shown.extend(text),
            TextPiece::Sequence(sequence) if is_query(sequence) => {}
            TextPiece::Sequence(sequence) => shown.extend(sequence),
        });
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(output: &str) -> String {
        let mut replay = ScreenReplay::default();
        for part in output.as_bytes().chunks(7) {
            replay.feed(part);
        }
        String::from_utf8(replay.finish().0).unwrap()
    }

    fn modes(output: &str) -> Modes {
        let mut tracker = ScreenTracker::default();
        tracker.look(output.as_bytes());
        tracker.modes
    }

    #[test]
    fn the_output_of_a_shell_is_shown_unchanged() {
        assert_eq!(replay("$ ls\r\na b\r\n$ "), "$ ls\r\na b\r\n$ ");
    }

    #[test]
    fn cleared_output_is_not_shown_again() {
        assert_eq!(replay("old\x1b[H\x1b[2Jnew"), "\x1b[2Jnew");
        assert_eq!(replay("old\x1bcnew"), "\x1bcnew");
        assert_eq!(replay("a\x1b[Jb\x1b[1Jc"), "a\x1b[Jb\x1b[1Jc", "only the whole screen counts");
    }

    #[test]
    fn a_full_screen_program_is_shown_on_the_alternate_screen_with_its_modes() {
        let output = "$ vim\r\n\x1b[?1049h\x1b[?1h\x1b=\x1b[?2004h\x1b[?25lfirst\x1b[?25h";
        assert_eq!(replay(output), format!("\x1b[?1049h\x1b[?1h\x1b[?2004h\x1b={}", &output[7..]));
        // After it has left the alternate screen.
        let left = format!("{output}\x1b[?2004l\x1b[?1l\x1b>\x1b[?1049l$ ");
        assert_eq!(replay(&left), "\x1b[?1049l$ ");
    }

    #[test]
    fn queries_to_the_terminal_are_not_repeated() {
        for question in [
            "\x1b[6n",
            "\x1b[c",
            "\x1b[>c",
            "\x1b[?u",
            "\x1b[?4m",
            "\x1b[>0q",
            "\x1b[?2026$p",
            "\x1b]11;?\x07",
            "\x1b]52;c;?\x1b\\",
            "\x1bP+q544e\x1b\\",
            "\x1b[18t",
            "\x1bZ",
        ] {
            assert_eq!(replay(&format!("a{question}b")), "ab", "{question:?}");
            assert_eq!(QueryFilter::default().filter(format!("a{question}b").as_bytes()), b"ab");
        }
        for order in ["\x1b[31m", "\x1b]0;title\x07", "\x1b[2 q", "\x1b[8;24;80t", "\x1b[3C"] {
            assert_eq!(replay(&format!("a{order}b")), format!("a{order}b"), "{order:?}");
        }
    }

    #[test]
    fn long_output_is_shortened_at_a_line() {
        let output = "0123456789\r\n".repeat(30_000);
        let shown = replay(&output);
        assert!(shown.len() <= TAIL && shown.len() > TAIL - 100);
        assert!(shown.starts_with("0123456789\r\n"));
    }

    #[test]
    fn an_incomplete_sequence_is_continued() {
        let mut replay = ScreenReplay::default();
        replay.feed(b"a\x1b[?10");
        let (shown, mut tracker) = replay.finish();
        assert_eq!(shown, b"a\x1b[?10");
        tracker.look(b"49h");
        assert_eq!(tracker.modes.leave(), "\x1b[?1049l\x1b[0m");
    }

    #[test]
    fn modes_are_reset_in_order_and_default_modes_need_no_reset() {
        assert_eq!(modes("plain \x1b[31mtext\x1b[0m").leave(), "");
        assert_eq!(modes("\x1b[?25l\x1b[?25h\x1b[?1049h\x1b[?1049l").leave(), "");
        assert_eq!(
            modes("\x1b[?1049h\x1b[?25l\x1b[?1006;1000h\x1b[>1u\x1b[2;5r").leave(),
            "\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[<1u\x1b7\x1b[r\x1b8\x1b[?1049l\x1b[0m"
        );
        assert_eq!(modes("\x1b[?25l\x1bc").leave(), "", "a full reset");
        assert_eq!(modes("\x1b[>1u\x1b[>5u\x1b[<u").enter(), "\x1b[>1u");
        assert!(modes("\x1b[?1h").application_cursor());
    }
}
