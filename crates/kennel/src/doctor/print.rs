//! Formats the doctor's report.

use super::DoctorReport;
use super::FindingState::{Bad, Fair, Good};

const WIDTH: usize = 80;

pub(crate) fn text(report: &DoctorReport) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let mark = match finding.state {
            Good => "ok",
            Fair => "--",
            Bad => "!!",
        };
        entry(&mut out, mark, finding.id, &finding.found);
    }
    out.push_str("\nPens, each tested with a command that leaves a daemon behind:\n");
    for trial in &report.pens {
        match (&trial.why, trial.ended_in_ms) {
            (None, Some(took)) => entry(
                &mut out,
                "ok",
                trial.kind,
                &format!("contained the daemon and ended it in {took} ms"),
            ),
            (why, _) => entry(&mut out, "--", trial.kind, why.as_deref().unwrap_or("not tried")),
        }
    }
    let summary = match report.pen {
        Some(pen) => format!("\nThe default pen is {pen}. Its limitations on this machine:\n"),
        None => "\nNo pen works reliably on this machine.\n".to_owned(),
    };
    out.push_str(&summary);
    report.cannot_promise.iter().for_each(|line| item(&mut out, line));
    if !report.advice.is_empty() {
        out.push_str("\nSuggestions:\n");
    }
    report.advice.iter().for_each(|line| item(&mut out, line));
    out
}

fn entry(out: &mut String, mark: &str, name: &str, text: &str) {
    let lines = wrap(text, WIDTH - 19);
    for (number, line) in lines.iter().enumerate() {
        let (mark, name) = if number == 0 { (mark, name) } else { ("", "") };
        *out += &format!("  {mark:2}  {name:13}{line}\n");
    }
}

fn item(out: &mut String, text: &str) {
    for (number, line) in wrap(text, WIDTH - 4).iter().enumerate() {
        *out += &format!("  {} {line}\n", if number == 0 { "-" } else { " " });
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
    use crate::doctor::Finding;
    use crate::doctor::advice;
    use crate::doctor::trial::Trial;

    #[test]
    fn formats_a_report() {
        let trial = |kind, why: Option<&str>| Trial {
            kind,
            works: why.is_none(),
            why: why.map(Into::into),
            ended_in_ms: why.is_none().then_some(3.2),
        };
        let pens = vec![
            trial("cgroup", Some("no cgroup v2 file system is mounted")),
            trial("subtree", None),
            trial("pidns", None),
        ];
        let report = DoctorReport {
            version: "0.0.0",
            sound: true,
            pen: Some("subtree"),
            findings: vec![
                Finding::new("kernel", Good, "Linux 6.1.0"),
                Finding::new("limits", Fair, "can't limit memory, pids, cpu: needs a cgroup pen"),
                Finding::new(
                    "config",
                    Bad,
                    "kennel.toml:3:1: unknown key `grcae` in [run]; did you mean `grace`?",
                ),
            ],
            cannot_promise: advice::cannot(Some("subtree"), true),
            advice: advice::advice(&pens),
            pens,
        };
        // The advice depends on systemd, one limitation on the user.
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"(?s)Suggestions:.*", "Suggestions: …");
        settings.add_filter(r"(?m)  - A set-uid program[^-]*", "");
        settings.bind(|| insta::assert_snapshot!(text(&report)));
    }

    #[test]
    fn wraps_lines_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("averylongword x", 4), ["averylongword", "x"]);
    }
}
