//! Lines out of pieces of any size.

use memchr::memchr;

/// Room that is kept between two lines; what one long line took beyond it is given back.
const ROOM: usize = 1 << 20;

/// Cuts a stream into lines. A line that lies whole in a piece is not copied.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// The most bytes of a line.
    most: usize,
    /// Whether the rest of the line is to be read over.
    skipping: bool,
}

/// What a stream had next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line that was longer than the most: its beginning.
    TooLong(&'a [u8]),
}

impl Lines {
    pub(crate) fn new(most: usize) -> Self {
        Self { begun: Vec::new(), most, skipping: false }
    }

    /// Takes a piece, and hands on the lines that end in it.
    pub(crate) fn read(&mut self, mut bytes: &[u8], line: &mut dyn FnMut(Next<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.begun.is_empty() && head.len() <= self.most {
                line(Next::Line(trimmed(head)));
                continue;
            }
            if self.take(head, line) {
                line(Next::Line(trimmed(&self.begun)));
            }
            self.clear();
            self.skipping = false;
        }
        if !self.skipping && !self.take(bytes, line) {
            self.clear();
        }
    }

    /// Adds to the line that has begun. False if it gets too long: then it is told, and given up.
    fn take(&mut self, bytes: &[u8], line: &mut dyn FnMut(Next<'_>)) -> bool {
        let fits = self.begun.len() + bytes.len() <= self.most;
        if fits {
            self.begun.extend_from_slice(bytes);
        } else {
            let more = self.most - self.begun.len().min(self.most);
            self.begun.extend_from_slice(&bytes[..more.min(bytes.len())]);
            line(Next::TooLong(&self.begun));
            self.skipping = true;
        }
        fits
    }

    fn clear(&mut self) {
        self.begun.clear();
        self.begun.shrink_to(ROOM);
    }

    /// Some bytes are missing: what has begun will never be whole. What comes next is the end of a line, or a whole one;
    /// no end of a message is a message by itself, so whoever reads it knows.
    pub(crate) fn lost(&mut self) {
        self.clear();
        self.skipping = false;
    }

    /// The rest, which has no end.
    pub(crate) fn rest(&mut self) -> Option<&[u8]> {
        let rest = trimmed(&self.begun);
        (!rest.is_empty()).then_some(rest)
    }
}

/// Without what a terminal puts before the end of a line.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines, each with whether it is whole, and the rest.
    type Got = (Vec<(bool, Vec<u8>)>, Option<Vec<u8>>);

    fn all(most: usize, pieces: &[&[u8]]) -> Got {
        let mut lines = Lines::new(most);
        let mut got = Vec::new();
        for piece in pieces {
            lines.read(piece, &mut |next| {
                got.push(match next {
                    Next::Line(line) => (true, line.to_vec()),
                    Next::TooLong(line) => (false, line.to_vec()),
                });
            });
        }
        let rest = lines.rest().map(<[u8]>::to_vec);
        (got, rest)
    }

    #[test]
    fn a_line_too_long_is_told_once_and_the_next_is_whole() {
        let (got, rest) = all(4, &[b"abcdefgh\nok\r\n", b"abc", b"def", b"ghi\nxy"]);
        let expected = [(false, "abcd"), (true, "ok"), (false, "abcd")];
        let expected = expected.map(|(whole, text)| (whole, text.as_bytes().to_vec()));
        assert_eq!(got, expected);
        assert_eq!(rest.as_deref(), Some(&b"xy"[..]));
    }

    #[test]
    fn room_of_a_long_line_is_given_back() {
        let mut lines = Lines::new(1 << 26);
        lines.read(&vec![b'x'; 10 * ROOM], &mut |_| {});
        lines.read(b"\n", &mut |_| {});
        assert!(lines.begun.capacity() <= ROOM);
    }

    #[test]
    fn after_a_gap_nothing_of_before_is_in_a_line() {
        let mut lines = Lines::new(100);
        let mut got = Vec::new();
        let mut keep = |next: Next<'_>| got.push(format!("{next:?}"));
        lines.read(b"half a li", &mut keep);
        lines.lost();
        lines.read(b"ddle of a line\nwhole\n", &mut keep);
        let expected = [&b"ddle of a line"[..], b"whole"];
        assert_eq!(got, expected.map(|line| format!("{:?}", Next::Line(line))));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[ab\r\n]{0,60}", cuts in prop::collection::vec(0_usize..60, 0..6), most in 1_usize..20) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(all(most, &pieces), all(most, &[bytes]));
        }
    }
}
