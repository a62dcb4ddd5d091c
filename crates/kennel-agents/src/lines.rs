//! Splits a stream into lines, from pieces of any size.

use memchr::memchr;

/// The longest line that is read. Longer ones are skipped, and reported.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// The capacity that is kept between lines; a long line's memory beyond it is freed.
const KEPT_CAPACITY: usize = 1 << 20;

/// Splits a stream into lines. A line that is complete in one piece is not copied.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    /// The start of a line that is not complete yet.
    partial: Vec<u8>,
    /// The maximum length of a line.
    max: usize,
    /// Whether the rest of the current line is skipped.
    skipping: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SplitLine<'a> {
    /// A line, without its newline.
    Whole(&'a [u8]),
    /// The start of a line that is too long.
    TooLong(&'a [u8]),
}

impl LineSplitter {
    pub(crate) fn new(max: usize) -> Self {
        Self { partial: Vec::new(), max, skipping: false }
    }

    /// Reads a piece, and passes the lines that end in it to `line`.
    pub(crate) fn read(&mut self, mut bytes: &[u8], line: &mut dyn FnMut(SplitLine<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.partial.is_empty() && head.len() <= self.max {
                line(SplitLine::Whole(trimmed(head)));
                continue;
            }
            if self.extend(head, line) {
                line(SplitLine::Whole(trimmed(&self.partial)));
            }
            self.clear();
            self.skipping = false;
        }
        if !self.skipping && !self.extend(bytes, line) {
            self.clear();
        }
    }

    /// Extends the partial line. Returns false if it becomes too long; then it is reported, and
    /// skipped.
    fn extend(&mut self, bytes: &[u8], line: &mut dyn FnMut(SplitLine<'_>)) -> bool {
        let fits = self.partial.len() + bytes.len() <= self.max;
        if fits {
            self.partial.extend_from_slice(bytes);
        } else {
            let more = self.max - self.partial.len().min(self.max);
            self.partial.extend_from_slice(&bytes[..more.min(bytes.len())]);
            line(SplitLine::TooLong(&self.partial));
            self.skipping = true;
        }
        fits
    }

    fn clear(&mut self) {
        self.partial.clear();
        self.partial.shrink_to(KEPT_CAPACITY);
    }

    /// Records that bytes are missing, so the partial line is discarded. The next line may lack its
    /// start; no format parses the end of a message as a message.
    pub(crate) fn lost(&mut self) {
        self.clear();
        self.skipping = false;
    }

    /// Returns the last line, if it has no newline.
    pub(crate) fn rest(&mut self) -> Option<&[u8]> {
        let rest = trimmed(&self.partial);
        (!rest.is_empty()).then_some(rest)
    }
}

/// Removes the carriage return that a terminal adds.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines, each with whether it is whole, and the rest.
    type SplitResult = (Vec<(bool, Vec<u8>)>, Option<Vec<u8>>);

    fn all(max: usize, pieces: &[&[u8]]) -> SplitResult {
        let mut lines = LineSplitter::new(max);
        let mut got = Vec::new();
        for piece in pieces {
            lines.read(piece, &mut |next| {
                got.push(match next {
                    SplitLine::Whole(line) => (true, line.to_vec()),
                    SplitLine::TooLong(line) => (false, line.to_vec()),
                });
            });
        }
        let rest = lines.rest().map(<[u8]>::to_vec);
        (got, rest)
    }

    #[test]
    fn reports_a_long_line_once_and_reads_the_next() {
        let (got, rest) = all(4, &[b"abcdefgh\nok\r\n", b"abc", b"def", b"ghi\nxy"]);
        let expected = [(false, "abcd"), (true, "ok"), (false, "abcd")];
        let expected = expected.map(|(whole, text)| (whole, text.as_bytes().to_vec()));
        assert_eq!(got, expected);
        assert_eq!(rest.as_deref(), Some(&b"xy"[..]));
    }

    #[test]
    fn frees_the_memory_of_a_long_line() {
        let mut lines = LineSplitter::new(1 << 26);
        lines.read(&vec![b'x'; 10 * KEPT_CAPACITY], &mut |_| {});
        lines.read(b"\n", &mut |_| {});
        assert!(lines.partial.capacity() <= KEPT_CAPACITY);
    }

    #[test]
    fn discards_a_partial_line_after_a_gap() {
        let mut lines = LineSplitter::new(100);
        let mut got = Vec::new();
        let mut keep = |next: SplitLine<'_>| got.push(format!("{next:?}"));
        lines.read(b"half a li", &mut keep);
        lines.lost();
        lines.read(b"ddle of a line\nwhole\n", &mut keep);
        let expected = [&b"ddle of a line"[..], b"whole"];
        assert_eq!(got, expected.map(|line| format!("{:?}", SplitLine::Whole(line))));
    }

    proptest! {
        #[test]
        fn the_size_of_pieces_does_not_matter(text in "[ab\r\n]{0,60}", cuts in prop::collection::vec(0_usize..60, 0..6), max in 1_usize..20) {
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
            prop_assert_eq!(all(max, &pieces), all(max, &[bytes]));
        }
    }
}
