//! Text without the control sequences of terminals.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Seen {
    Nothing,
    Byte(u8),
    /// What follows is in another line.
    LineEnd,
}

/// The position of a stream within a control sequence. It keeps nothing else, however long a
/// sequence is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stripper {
    #[default]
    Text,
    /// After a carriage return: it ends the line, with or without a line feed.
    Return,
    Escape,
    Intermediate,
    /// In `ESC [ …`.
    Control,
    /// In a string for the terminal, such as a title.
    String,
    /// In such a string, after an ESC that may end it.
    StringEscape,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CANCEL: [u8; 2] = [0x18, 0x1a];

impl Stripper {
    pub(super) fn take(&mut self, byte: u8) -> Seen {
        if CANCEL.contains(&byte) {
            *self = Self::Text;
            return Seen::Nothing;
        }
        let (next, seen) = match (*self, byte) {
            (Self::String, BEL) => (Self::Text, Seen::Nothing),
            (Self::String, ESC) => (Self::StringEscape, Seen::Nothing),
            (Self::String, _) => (Self::String, Seen::Nothing),
            (Self::StringEscape, b'\\') => (Self::Text, Seen::Nothing),
            (_, ESC) => (Self::Escape, Seen::Nothing),
            (Self::Escape | Self::StringEscape, b'[') => (Self::Control, Seen::Nothing),
            (Self::Escape | Self::StringEscape, b']' | b'P' | b'X' | b'^' | b'_') => {
                (Self::String, Seen::Nothing)
            }
            (Self::Escape | Self::StringEscape | Self::Intermediate, 0x20..=0x2f) => {
                (Self::Intermediate, Seen::Nothing)
            }
            (Self::Escape | Self::StringEscape, b'D' | b'E' | b'M' | b'c') => {
                (Self::Text, Seen::LineEnd)
            }
            (Self::Escape | Self::StringEscape | Self::Intermediate, 0x30..=0x7e) => {
                (Self::Text, Seen::Nothing)
            }
            (Self::Control, 0x20..=0x3f) => (Self::Control, Seen::Nothing),
            // Cursor right: some programs draw spaces this way.
            (Self::Control, b'C') => (Self::Text, Seen::Byte(b' ')),
            // Cursor to another line.
            (Self::Control, b'A' | b'B' | b'E' | b'F' | b'H' | b'd' | b'f') => {
                (Self::Text, Seen::LineEnd)
            }
            (Self::Control, 0x40..=0x7e) => (Self::Text, Seen::Nothing),
            (_, b'\r') => (Self::Return, Seen::LineEnd),
            (Self::Return, b'\n') => (Self::Text, Seen::Nothing),
            (_, b'\n') => (Self::Text, Seen::LineEnd),
            (_, b'\t') => (Self::Text, Seen::Byte(b'\t')),
            // Other control characters are invisible.
            (state @ Self::Control, 0..0x20) => (state, Seen::Nothing),
            (_, 0..0x20 | 0x7f) => (Self::Text, Seen::Nothing),
            (_, byte) => (Self::Text, Seen::Byte(byte)),
        };
        *self = next;
        seen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stripped(text: &[u8]) -> Vec<String> {
        let mut stripper = Stripper::default();
        let mut lines = vec![Vec::new()];
        for byte in text {
            match stripper.take(*byte) {
                Seen::Nothing => {}
                Seen::Byte(byte) => lines.last_mut().unwrap().push(byte),
                Seen::LineEnd => lines.push(Vec::new()),
            }
        }
        lines.into_iter().map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
    }

    #[test]
    fn colors_are_invisible_and_cursor_movements_end_a_line() {
        for (text, seen) in [
            ("\x1b[1;32mready\x1b[0m now\n", &["ready now", ""][..]),
            ("a\r\nb\rc\n\r\nd", &["a", "b", "c", "", "d"]),
            ("\x1b]0;ready\x07x\x1b]8;;http://y\x1b\\z", &["xz"]),
            ("\x1b(Ba\x1b#8b\x1b=c", &["abc"]),
            ("two\x1b[1Cwords\x1b[5;1Hbelow", &["two words", "below"]),
            ("\x1b[38;2;1;2;3mü\x1b[K\x08\tq", &["ü\tq"]),
            ("\x1b[12\x18cut \x1bPsixel\x1b\\off", &["cut off"]),
        ] {
            assert_eq!(stripped(text.as_bytes()), seen, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn plain_text_stays_as_it_is(text in "[ -~äöü€]{0,40}") {
            prop_assert_eq!(stripped(text.as_bytes()), [text]);
        }

        #[test]
        fn any_bytes_are_taken_and_text_is_seen_again_after_a_cancel(
            bytes in prop::collection::vec(any::<u8>(), 0..60)
        ) {
            let mut text = bytes;
            text.extend(b"\x18\nready");
            prop_assert_eq!(stripped(&text).pop().unwrap(), "ready");
        }
    }
}
