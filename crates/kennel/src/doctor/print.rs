//! The diagnosis, for people.

use std::fmt::Write as _;

use super::DoctorReport;
use super::finding::FindingState;

/// Columns of a terminal as old as the format.
const WIDTH: usize = 80;

pub(crate) fn text(diagnosis: &DoctorReport) -> String {
    let mut out = String::new();
    for finding in &diagnosis.findings {
        let mark = match finding.state {
            FindingState::Good => "ok",
            FindingState::Fair => "--",
            FindingState::Bad => "!!",
        };
        entry(&mut out, mark, finding.id, &finding.found);
    }
    out.push_str("\nPens, each tried with an agent that leaves a daemon behind:\n");
    for trial in &diagnosis.pens {
        match (&trial.why, trial.ended_in_ms) {
            (None, Some(took)) => {
                entry(&mut out, "ok", trial.kind, &format!("held and ended in {took} ms"))
            }
            (why, _) => entry(&mut out, "--", trial.kind, why.as_deref().unwrap_or("not tried")),
        }
    }
    let verdict = match diagnosis.pen {
        Some(pen) => format!("\nA session gets a {pen} pen. It can't promise this:\n"),
        None => "\nNo sound pen is possible here.\n".to_owned(),
    };
    out.push_str(&verdict);
    for line in &diagnosis.cannot_promise {
        item(&mut out, line);
    }
    if !diagnosis.advice.is_empty() {
        out.push_str("\nTo get better:\n");
        for line in &diagnosis.advice {
            item(&mut out, line);
        }
    }
    out
}

fn entry(out: &mut String, mark: &str, name: &str, text: &str) {
    let lines = wrap(text, WIDTH - 19);
    for (number, line) in lines.iter().enumerate() {
        let (mark, name) = if number == 0 { (mark, name) } else { ("", "") };
        let _never_fails = writeln!(out, "  {mark:2}  {name:13}{line}");
    }
}

fn item(out: &mut String, text: &str) {
    for (number, line) in wrap(text, WIDTH - 4).iter().enumerate() {
        let _never_fails = writeln!(out, "  {} {line}", if number == 0 { "-" } else { " " });
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_ascii_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("averylongword x", 4), ["averylongword", "x"]);
    }
}
