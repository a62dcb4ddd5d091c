//! Lines of output, and whether one matches a pattern.

use regex::bytes::{Regex, RegexBuilder};

use super::strip::{Seen, Stripper};

/// The longest line that is matched as a whole; only the last part of a longer one is matched.
const LONGEST_LINE: usize = 16 * 1024;
const LARGEST_PATTERN: usize = 1 << 20;
/// The number of streams: terminal, standard output, standard error.
const STREAMS: usize = 3;

/// Compiles a pattern. The error is one line.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("the pattern {pattern:?} is too big"),
        // The last line names the problem; the lines before it point to the position.
        other => {
            let text = other.to_string();
            let why = text.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            format!("invalid regular expression {pattern:?}: {why}")
        }
    })
}

#[derive(Debug, Default)]
struct Line {
    stripper: Stripper,
    text: Vec<u8>,
    /// Whether something was added since it was matched.
    grown: bool,
}

/// Looks for a matching line in several streams. Its memory is limited.
#[derive(Debug)]
pub(super) struct Matcher {
    pattern: Regex,
    lines: [Line; STREAMS],
}

impl Matcher {
    pub(super) fn new(pattern: Regex) -> Self {
        Self { pattern, lines: std::array::from_fn(|_| Line::default()) }
    }

    /// Adds output; returns the first complete line that matches.
    pub(super) fn take(&mut self, stream: u8, data: &[u8]) -> Option<String> {
        let line = self.lines.get_mut(usize::from(stream))?;
        for byte in data {
            match line.stripper.take(*byte) {
                Seen::Nothing => continue,
                Seen::Byte(byte) => {
                    line.text.push(byte);
                    line.grown = true;
                    if line.text.len() < LONGEST_LINE {
                        continue;
                    }
                    if let Some(found) = look(&self.pattern, &line.text) {
                        return Some(found);
                    }
                    // A match that begins in this half may continue.
                    line.text.drain(..LONGEST_LINE / 2);
                }
                Seen::LineEnd => {
                    if let Some(found) = look(&self.pattern, &line.text) {
                        return Some(found);
                    }
                    line.text.clear();
                    line.grown = false;
                }
            }
        }
        None
    }

    /// There is no more output for now: an incomplete line counts as it is, for example a shell
    /// prompt.
    pub(super) fn pause(&mut self) -> Option<String> {
        self.lines.iter_mut().find_map(|line| {
            let grown = std::mem::take(&mut line.grown);
            if grown { look(&self.pattern, &line.text) } else { None }
        })
    }

    /// Some output is missing here: what came before is not joined with what follows.
    pub(super) fn gap(&mut self) {
        self.lines = std::array::from_fn(|_| Line::default());
    }
}

/// Returns the line for the event log, if it matches.
fn look(pattern: &Regex, line: &[u8]) -> Option<String> {
    const SHOWN: usize = 120;
    pattern.is_match(line).then(|| {
        let text = String::from_utf8_lossy(line);
        let short: String = text.trim().chars().filter(|c| !c.is_control()).take(SHOWN).collect();
        format!("it printed {short:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: u8 = 1;
    const ERR: u8 = 2;

    fn matcher(pattern: &str) -> Matcher {
        Matcher::new(compile(pattern).unwrap())
    }

    #[test]
    fn finds_a_line_across_pieces_and_with_colors() {
        let mut lines = matcher("^listening on [0-9]+$");
        assert_eq!(lines.take(OUT, b"x\n\x1b[1mlisten"), None);
        assert_eq!(lines.take(ERR, b"ing on 1\n"), None, "another stream is another line");
        assert_eq!(lines.take(OUT, b"ing on 80"), None);
        let found = lines.take(OUT, b"80\x1b[0m\r\n");
        assert_eq!(found.as_deref(), Some("it printed \"listening on 8080\""));
    }

    #[test]
    fn an_incomplete_line_counts_when_there_is_no_more_output() {
        let mut prompt = matcher("> $");
        assert_eq!(prompt.take(OUT, b"a > b\n> "), None);
        assert!(prompt.pause().is_some());
        assert!(prompt.pause().is_none(), "it is matched once");
        assert_eq!(prompt.take(9, b"> "), None, "no such stream");
    }

    #[test]
    fn memory_is_limited_and_the_end_of_a_long_line_is_found() {
        let mut lines = matcher("needle");
        for _ in 0..100 {
            assert_eq!(lines.take(OUT, &[b'x'; 10_000]), None);
            assert!(lines.lines[1].text.len() <= LONGEST_LINE);
        }
        assert!(lines.take(OUT, b"needle").or_else(|| lines.pause()).is_some());
        // Also where it is cut.
        for before in LONGEST_LINE - 8..LONGEST_LINE + 2 {
            let mut lines = matcher("needle");
            let text = [&vec![b'x'; before][..], b"needle", &[b'x'; 50]].concat();
            assert!(lines.take(OUT, &text).or_else(|| lines.pause()).is_some(), "{before}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_do_no_harm() {
        let mut lines = matcher("ready");
        assert!(lines.take(OUT, b"\xff\xfe ready \xff\n").is_some());
    }

    #[test]
    fn a_gap_joins_no_lines() {
        let mut lines = matcher("ready");
        assert_eq!(lines.take(OUT, b"rea"), None);
        lines.gap();
        assert_eq!(lines.take(OUT, b"dy\n"), None);
    }
}
