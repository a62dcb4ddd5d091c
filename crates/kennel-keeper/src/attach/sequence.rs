//! Splits the output of a program on a terminal into text and control sequences.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPiece<'a> {
    /// Text, including line breaks and other single control characters.
    Text(&'a [u8]),
    /// A complete control sequence, beginning with its escape character.
    Sequence(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SplitterState {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// After `ESC` and an intermediate character, as in `ESC ( B`.
    Intermediate,
    /// After `ESC [`.
    Control,
    /// In a string. A bell ends it if it began with `ESC ]`.
    String { bell: bool },
    /// After an escape character in a string. A `\` ends the string.
    StringEscape { bell: bool },
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// Control characters that cancel a sequence.
const CANCEL: [u8; 2] = [0x18, 0x1a];
/// A sequence longer than this is treated as text: it contains an image, or is not a sequence.
const LONGEST: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Splitter {
    state: SplitterState,
    sequence: Vec<u8>,
}

impl Splitter {
    /// Splits the next output. An incomplete sequence waits for its end.
    pub(super) fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(TextPiece<'_>)) {
        let mut text_from = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if self.state == SplitterState::Text {
                if byte == ESCAPE {
                    if text_from < at {
                        sink(TextPiece::Text(&bytes[text_from..at]));
                    }
                    self.state = SplitterState::Escape;
                    self.sequence.push(byte);
                }
                continue;
            }
            let restarts = matches!(
                self.state,
                SplitterState::Escape | SplitterState::Intermediate | SplitterState::Control
            );
            if byte == ESCAPE && restarts {
                sink(TextPiece::Sequence(&self.sequence));
                self.reset();
                self.state = SplitterState::Escape;
                self.sequence.push(byte);
                continue;
            }
            self.sequence.push(byte);
            match self.next_state(byte) {
                Some(state) => self.state = state,
                None => {
                    sink(TextPiece::Sequence(&self.sequence));
                    self.reset();
                }
            }
            if self.sequence.len() > LONGEST {
                sink(TextPiece::Text(&self.sequence));
                self.reset();
            }
            text_from = at + 1;
        }
        if self.state == SplitterState::Text && text_from < bytes.len() {
            sink(TextPiece::Text(&bytes[text_from..]));
        }
    }

    /// Returns the beginning of an incomplete sequence.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.sequence
    }

    fn reset(&mut self) {
        self.sequence.clear();
        self.state = SplitterState::Text;
    }

    /// Returns the state after this byte of a sequence. `None` if the byte was the last one.
    fn next_state(&self, byte: u8) -> Option<SplitterState> {
        if CANCEL.contains(&byte) {
            return None;
        }
        match self.state {
            SplitterState::Text => Some(SplitterState::Text),
            SplitterState::Escape => match byte {
                b'[' => Some(SplitterState::Control),
                b']' => Some(SplitterState::String { bell: true }),
                b'P' | b'X' | b'^' | b'_' => Some(SplitterState::String { bell: false }),
                0x20..=0x2f => Some(SplitterState::Intermediate),
                _ => None,
            },
            SplitterState::Intermediate => {
                matches!(byte, 0x20..=0x2f).then_some(SplitterState::Intermediate)
            }
            SplitterState::Control => {
                (!matches!(byte, 0x40..=0x7e)).then_some(SplitterState::Control)
            }
            SplitterState::String { bell: true } if byte == BELL => None,
            SplitterState::String { bell } if byte == ESCAPE => {
                Some(SplitterState::StringEscape { bell })
            }
            SplitterState::StringEscape { .. } if byte == b'\\' => None,
            SplitterState::String { bell } | SplitterState::StringEscape { bell } => {
                Some(SplitterState::String { bell })
            }
        }
    }
}

/// The parts of a control sequence `ESC [`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Control<'a> {
    /// `?`, `>`, `<` or `=` at its beginning.
    pub(super) private: Option<u8>,
    pub(super) parameters: &'a str,
    pub(super) intermediate: &'a [u8],
    pub(super) last: u8,
}

impl<'a> Control<'a> {
    pub(super) fn parse(sequence: &'a [u8]) -> Option<Self> {
        let body = sequence.strip_prefix(b"\x1b[")?;
        let (&last, body) = body.split_last()?;
        let (private, body) = match body.split_first() {
            Some((&mark @ b'<'..=b'?', rest)) => (Some(mark), rest),
            _ => (None, body),
        };
        let numbers =
            body.iter().position(|byte| !matches!(byte, 0x30..=0x3b)).unwrap_or(body.len());
        let (numbers, intermediate) = body.split_at(numbers);
        Some(Self { private, parameters: std::str::from_utf8(numbers).ok()?, intermediate, last })
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u16> + use<'a> {
        self.parameters.split(';').filter_map(|number| number.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8], length: usize) -> Vec<(bool, Vec<u8>)> {
        let mut splitter = Splitter::default();
        let mut pieces: Vec<(bool, Vec<u8>)> = Vec::new();
        for part in text.chunks(length) {
            splitter.feed(part, |piece| match (piece, pieces.last_mut()) {
                (TextPiece::Text(bytes), Some((false, last))) => last.extend(bytes),
                (TextPiece::Text(bytes), _) => pieces.push((false, bytes.to_vec())),
                (TextPiece::Sequence(bytes), _) => pieces.push((true, bytes.to_vec())),
            });
        }
        pieces
    }

    #[test]
    fn output_is_split_the_same_way_in_pieces_of_any_length() {
        let parts: [&[u8]; 10] = [
            b"text\n",
            b"\x1b[31;1m",
            b"red",
            b"\x1b]0;title\x07",
            b"\x1b]8;;http://x\x1b\\",
            b"\x1b(B",
            b"\x1bP$q q\x1b\\",
            b"more \xff",
            b"\x1b=",
            b"\x1b[?1049h",
        ];
        let whole = parts.concat();
        for length in [1, 2, 3, 5, 1000] {
            let found = pieces(&whole, length);
            let expected = parts.map(|part| (part[0] == ESCAPE, part.to_vec()));
            assert_eq!(found, expected, "in pieces of {length}");
        }
    }

    #[test]
    fn a_cancelled_sequence_ends_and_an_endless_one_is_text() {
        let restarted =
            [(true, b"\x1b".to_vec()), (true, b"\x1b[1".to_vec()), (true, b"\x1b[m".to_vec())];
        assert_eq!(pieces(b"\x1b\x1b[1\x1b[m", 100), restarted);
        assert_eq!(
            pieces(b"\x1b[31\x18x", 100),
            [(true, b"\x1b[31\x18".to_vec()), (false, b"x".to_vec())]
        );
        let long = [&b"\x1b]"[..], &[b'x'; 2 * LONGEST]].concat();
        assert!(pieces(&long, 1000).iter().all(|(sequence, _)| !sequence));
    }

    #[test]
    fn a_control_sequence_has_parts() {
        let control = Control::parse(b"\x1b[?25;1049h").unwrap();
        assert_eq!((control.private, control.last), (Some(b'?'), b'h'));
        assert_eq!(control.numbers().collect::<Vec<_>>(), [25, 1049]);
        let control = Control::parse(b"\x1b[2 q").unwrap();
        assert_eq!(
            (control.parameters, control.intermediate, control.last),
            ("2", &b" "[..], b'q')
        );
        assert_eq!(Control::parse(b"\x1b]0;x\x07"), None);
    }
}
