//! Text that is kept for evidence: its beginning and its end, whatever its length.

/// Bytes that are kept of the beginning.
const HEAD: usize = 4 << 10;
/// Bytes that are kept of the end, at least.
const TAIL: usize = 16 << 10;

/// A stream of text of which a bounded part is kept.
#[derive(Debug, Default)]
pub(crate) struct Noise {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Whether something between the two was dropped.
    cut: bool,
}

impl Noise {
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

    /// What was kept, without colours.
    pub(crate) fn text(&self) -> String {
        let mut all = self.head.clone();
        if self.cut {
            all.extend_from_slice("\n…\n".as_bytes());
        }
        all.extend_from_slice(&self.tail);
        plain(&String::from_utf8_lossy(&all))
    }
}

/// A text without the sequences that colour it on a terminal.
pub(crate) fn plain(text: &str) -> String {
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
    fn the_beginning_and_the_end_are_kept() {
        let mut noise = Noise::default();
        noise.add(b"first ");
        for _ in 0..100_000 {
            noise.add(b"middle ");
        }
        noise.add(b"last");
        let text = noise.text();
        assert!(text.starts_with("first middle"));
        assert!(text.ends_with("middle last"));
        assert!(text.contains('…'));
        assert!(text.len() < HEAD + 2 * TAIL + 10);
        noise.add(&[b'x'; 1 << 20]);
        assert!(noise.text().len() < HEAD + 2 * TAIL + 10);
    }

    #[test]
    fn colours_go() {
        assert_eq!(
            plain("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found"),
            "Error: Session not found"
        );
        assert_eq!(plain("cut \u{1b}[9"), "cut ");
    }
}
