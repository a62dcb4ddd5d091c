//! The start and the end of a stream, kept as evidence.

/// Bytes that are kept of the start.
const HEAD: usize = 4 << 10;
/// The minimum of bytes that are kept of the end.
const TAIL: usize = 16 << 10;

/// A bounded part of a stream of text.
#[derive(Debug, Default)]
pub(crate) struct Excerpt {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Whether bytes between the two were discarded.
    cut: bool,
}

impl Excerpt {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = HEAD - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = if rest.len() > TAIL {
            self.cut = true;
            self.tail.clear();
            &rest[rest.len() - TAIL..]
        } else {
            rest
        };
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * TAIL {
            let drop = self.tail.len() - TAIL;
            self.tail.drain(..drop);
            self.cut = true;
        }
    }

    /// Returns the kept text, without colors.
    pub(crate) fn text(&self) -> String {
        let mut all = self.head.clone();
        if self.cut {
            all.extend_from_slice("\n…\n".as_bytes());
        }
        all.extend_from_slice(&self.tail);
        without_colors(&String::from_utf8_lossy(&all))
    }
}

/// Removes the terminal's color sequences.
pub(crate) fn without_colors(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let end = rest.find(|c: char| ('@'..='~').contains(&c));
        rest = end.map_or("", |end| &rest[end + 1..]);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_start_and_the_end() {
        let mut excerpt = Excerpt::default();
        excerpt.add(b"first ");
        for _ in 0..100_000 {
            excerpt.add(b"middle ");
        }
        excerpt.add(b"last");
        let text = excerpt.text();
        assert!(text.starts_with("first middle"));
        assert!(text.ends_with("middle last"));
        assert!(text.contains('…'));
        assert!(text.len() < HEAD + 2 * TAIL + 10);
        excerpt.add(&[b'x'; 1 << 20]);
        assert!(excerpt.text().len() < HEAD + 2 * TAIL + 10);
    }

    #[test]
    fn removes_colors() {
        assert_eq!(
            without_colors("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found"),
            "Error: Session not found"
        );
        assert_eq!(without_colors("cut \u{1b}[9"), "cut ");
    }
}
