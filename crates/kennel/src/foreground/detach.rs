//! The keys that detach from a session.

use std::collections::VecDeque;

/// The default of `--detach-keys`, which is Docker's.
pub(crate) const DEFAULT: &str = "ctrl-p,ctrl-q";

/// A sequence of keys; if it is empty, no keys detach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetachKeys(Vec<KeyEncodings>);

/// The byte sequences that terminals send for a key.
type KeyEncodings = Vec<Vec<u8>>;

impl DetachKeys {
    /// Parses `ctrl-a`, `a`, `ctrl-p,ctrl-q`, or `none`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "none" || text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let keys = text.split(',').map(|word| {
            key(word).ok_or_else(|| {
                format!(
                    "invalid key {word:?}: expected keys like ctrl-p, ctrl-] or x, separated by commas, or none"
                )
            })
        });
        keys.collect::<Result<_, _>>().map(Self)
    }
}

fn key(word: &str) -> Option<KeyEncodings> {
    let single = |text: &str| {
        let mut characters = text.chars();
        characters.next().filter(|c| c.is_ascii_graphic() && characters.next().is_none())
    };
    let lower = word.to_ascii_lowercase();
    let Some(name) = lower.strip_prefix("ctrl-").or_else(|| lower.strip_prefix("c-")) else {
        return single(word).map(|c| vec![vec![c as u8]]);
    };
    let c = single(name)?;
    let plain = match c {
        'a'..='z' | '@' | '[' | '\\' | ']' | '^' | '_' => c.to_ascii_uppercase() as u8 & 0x1f,
        _ => return None,
    };
    // The encoding of the kitty keyboard protocol.
    let kitty = format!("\x1b[{};5u", u32::from(c)).into_bytes();
    Some(vec![vec![plain], kitty])
}

/// Finds the detach keys in the input.
#[derive(Debug)]
pub(crate) struct DetachKeyMatcher {
    keys: Vec<KeyEncodings>,
    /// The first keys of the sequence. They go to the agent if the others don't follow.
    held: VecDeque<Vec<u8>>,
}

#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DetachMatch {
    Pass(Vec<u8>),
    /// The keys were typed after this input.
    Detach(Vec<u8>),
}

impl DetachKeyMatcher {
    pub(crate) fn for_keys(keys: &DetachKeys) -> Self {
        Self { keys: keys.0.clone(), held: VecDeque::new() }
    }

    /// Processes one read of input. Terminals send a key in one piece, so it is never split.
    pub(crate) fn feed(&mut self, mut typed: &[u8]) -> DetachMatch {
        let mut pass = Vec::new();
        if self.keys.is_empty() {
            return DetachMatch::Pass(typed.to_vec());
        }
        while !typed.is_empty() {
            let expected = &self.keys[self.held.len()];
            if let Some(way) = expected.iter().find(|way| typed.starts_with(way)) {
                typed = &typed[way.len()..];
                self.held.push_back(way.clone());
                if self.held.len() == self.keys.len() {
                    self.held.clear();
                    return DetachMatch::Detach(pass);
                }
            } else if self.held.is_empty() {
                pass.push(typed[0]);
                typed = &typed[1..];
            } else {
                self.release_first(&mut pass);
            }
        }
        DetachMatch::Pass(pass)
    }

    /// Passes on the first held key: the sequence doesn't start there, but may start later.
    fn release_first(&mut self, pass: &mut Vec<u8>) {
        let mut held = std::mem::take(&mut self.held);
        while !held.is_empty() {
            pass.extend(held.pop_front().unwrap_or_default());
            if held.iter().zip(&self.keys).all(|(way, key)| key.contains(way)) {
                break;
            }
        }
        self.held = held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(keys: &str) -> DetachKeyMatcher {
        DetachKeyMatcher::for_keys(&DetachKeys::parse(keys).unwrap())
    }

    fn pass(text: &[u8]) -> DetachMatch {
        DetachMatch::Pass(text.to_vec())
    }

    #[test]
    fn parses_keys_in_dockers_format() {
        let parsed = |text| DetachKeys::parse(text).map(|keys| keys.0);
        assert_eq!(parsed("ctrl-p,ctrl-q").unwrap()[0][0], [0x10]);
        assert_eq!(parsed("ctrl-p,ctrl-q").unwrap()[1][0], [0x11]);
        assert_eq!(parsed("Ctrl-]").unwrap()[0][0], [0x1d]);
        assert_eq!(parsed("ctrl-@").unwrap()[0][0], [0]);
        assert_eq!(parsed("x,Y").unwrap(), [[b"x".to_vec()], [b"Y".to_vec()]]);
        assert_eq!(parsed("none").unwrap(), Vec::<KeyEncodings>::new());
        for text in ["ctrl-", "ctrl-1", "ab", "ctrl-p,,ctrl-q", "ü", " "] {
            assert!(parsed(text).unwrap_err().contains("invalid key"), "{text}");
        }
    }

    #[test]
    fn detaches_on_keys_in_one_read_or_several() {
        assert_eq!(watch(DEFAULT).feed(b"ls\r\x10\x11rest"), DetachMatch::Detach(b"ls\r".to_vec()));
        let mut watch = watch(DEFAULT);
        assert_eq!(watch.feed(b"\x10"), pass(b""));
        assert_eq!(watch.feed(b"\x11"), DetachMatch::Detach(Vec::new()));
    }

    #[test]
    fn passes_on_an_incomplete_sequence() {
        let mut first = watch(DEFAULT);
        assert_eq!(first.feed(b"\x10"), pass(b""));
        assert_eq!(first.feed(b"a"), pass(b"\x10a"));
        let mut second = watch(DEFAULT);
        assert_eq!(second.feed(b"\x10\x10"), pass(b"\x10"), "the second may start the sequence");
        assert_eq!(second.feed(b"\x11"), DetachMatch::Detach(Vec::new()));
        let mut third = watch("a,a,b");
        assert_eq!(third.feed(b"aaab"), DetachMatch::Detach(b"a".to_vec()));
        assert_eq!(watch("a,b,a,c").feed(b"ababac"), DetachMatch::Detach(b"ab".to_vec()));
    }

    #[test]
    fn detaches_with_the_kitty_protocol_and_never_holds_escape() {
        assert_eq!(watch(DEFAULT).feed(b"\x1b[112;5u\x1b[113;5u"), DetachMatch::Detach(Vec::new()));
        let mut watch = watch(DEFAULT);
        assert_eq!(watch.feed(b"\x1b"), pass(b"\x1b"));
        assert_eq!(watch.feed(b"\x1b[112;5u"), pass(b""));
        assert_eq!(watch.feed(b"\x1b[65;1u"), pass(b"\x1b[112;5u\x1b[65;1u"));
    }

    #[test]
    fn passes_everything_without_detach_keys() {
        assert_eq!(watch("none").feed(b"\x10\x11"), pass(b"\x10\x11"));
    }
}
