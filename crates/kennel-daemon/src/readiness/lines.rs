//! Lines of output, and whether one matches.

use regex::bytes::{Regex, RegexBuilder};

use super::strip::{Seen, Stripper};

/// The longest line that is looked at as a whole; of a longer one, what is left of it so far.
const LONGEST_LINE: usize = 16 * 1024;
/// What a compiled pattern may take.
const LARGEST_PATTERN: usize = 1 << 20;
/// Streams that are told apart: terminal, standard output, standard error.
const STREAMS: usize = 3;

/// Compiles a pattern; says in one line what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("the pattern {pattern:?} becomes too big"),
        // The last line says what; those before it point at the place.
        other => {
            let text = other.to_string();
            let why = text.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            format!("{pattern:?} is no regular expression: {why}")
        }
    })
}

/// A line that is being put together.
#[derive(Debug, Default)]
struct Line {
    stripper: Stripper,
    text: Vec<u8>,
    /// Whether something was added since it was looked at.
    grown: bool,
}

/// Looks for a line in several streams at once. What it keeps is bounded.
#[derive(Debug)]
pub(super) struct Matcher {
    pattern: Regex,
    lines: [Line; STREAMS],
}

impl Matcher {
    pub(super) fn new(pattern: Regex) -> Self {
        Self { pattern, lines: std::array::from_fn(|_| Line::default()) }
    }

    /// Takes output in; gives the first line that is whole and matches.
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
                    // What begins in this half may go on.
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

    /// There is nothing more for now: a line that has no end yet counts as it stands, as a prompt would.
    pub(super) fn pause(&mut self) -> Option<String> {
        self.lines.iter_mut().find_map(|line| {
            let grown = std::mem::take(&mut line.grown);
            if grown { look(&self.pattern, &line.text) } else { None }
        })
    }

    /// Some output is missing here: what came before it is no part of what comes next.
    pub(super) fn gap(&mut self) {
        self.lines = std::array::from_fn(|_| Line::default());
    }
}

/// The line, for people, if it matches.
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
    fn a_line_is_found_across_pieces_and_under_paint() {
        let mut lines = matcher("^listening on [0-9]+$");
        assert_eq!(lines.take(OUT, b"x\n\x1b[1mlisten"), None);
        assert_eq!(lines.take(ERR, b"ing on 1\n"), None, "another stream is another line");
        assert_eq!(lines.take(OUT, b"ing on 80"), None);
        let found = lines.take(OUT, b"80\x1b[0m\r\n");
        assert_eq!(found.as_deref(), Some("it printed \"listening on 8080\""));
    }

    #[test]
    fn a_line_without_an_end_counts_when_there_is_nothing_more() {
        let mut prompt = matcher("> $");
        assert_eq!(prompt.take(OUT, b"a > b\n> "), None);
        assert!(prompt.pause().is_some());
        assert!(prompt.pause().is_none(), "it is looked at once");
        assert_eq!(prompt.take(9, b"> "), None, "no such stream");
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_end_of_a_long_line_is_found() {
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
    fn bytes_that_are_no_text_do_no_harm() {
        let mut lines = matcher("ready");
        assert!(lines.take(OUT, b"\xff\xfe ready \xff\n").is_some());
    }

    #[test]
    fn a_gap_joins_nothing() {
        let mut lines = matcher("ready");
        assert_eq!(lines.take(OUT, b"rea"), None);
        lines.gap();
        assert_eq!(lines.take(OUT, b"dy\n"), None);
    }
}
