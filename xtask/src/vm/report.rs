//! The results of the tests in the machine.

use std::collections::BTreeMap;

/// How the skip record of a test about limits starts.
const ABOUT_LIMITS: &str = "limits of ";
/// The environments in which all limits must work.
const DELEGATED: [&str; 2] = ["root", "user"];
/// The environments in which at least one limit must be refused.
const REFUSED: [&str; 2] = ["user_without_cpu", "user_undelegated"];

/// The result of one test program as one user.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RunResult {
    pub(super) who: String,
    pub(super) name: String,
    /// The exit code, if it ended.
    pub(super) code: Option<i32>,
    seconds: u64,
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    left: Vec<String>,
    output: String,
}

/// All results.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VmReport {
    pub(super) runs: Vec<RunResult>,
    /// Whether the guest reached the end of the plan.
    pub(super) done: bool,
}

impl VmReport {
    /// Parses the output of the guest.
    pub(super) fn read(text: &str) -> Self {
        let mut report = Self::default();
        for line in text.lines().map(str::trim_end) {
            match (line.strip_prefix("@@ "), report.runs.last_mut()) {
                (Some("done"), _) => report.done = true,
                (Some(ours), last) => match (ours.split_once(' ').unwrap_or((ours, "")), last) {
                    (("run", what), _) => report.runs.push(RunResult::begin(what)),
                    (("skipped", why), Some(run)) => run.skipped.push(why.to_owned()),
                    (("left", what), Some(run)) => run.left.push(what.to_owned()),
                    (("ended", how), Some(run)) => run.end(how),
                    _ => {}
                },
                (None, Some(run)) => run.add_line(line),
                (None, None) => {}
            }
        }
        report
    }

    /// Returns the failures, one line each.
    pub(super) fn faults(&self) -> Vec<String> {
        self.runs.iter().flat_map(RunResult::faults).collect()
    }

    /// Prints the output of failed runs, the reasons for refused limits, and the totals.
    pub(super) fn print(&self) {
        for run in &self.runs {
            if !run.faults().is_empty() {
                println!("\n--- {} {}\n{}", run.who, run.name, run.output.trim_end());
            } else if run.name == "kennel/doctor" {
                println!("\n--- {} {}", run.who, run.name);
                let limits = run.output.lines().filter(|line| line.contains("limit"));
                limits.for_each(|line| println!("{line}"));
            }
        }
        println!("\n=== in the machine");
        for line in self.sums() {
            println!("{line}");
        }
        for (skip, count) in self.skips() {
            println!("  skipped: {skip} ({count} times)");
        }
    }

    /// Returns one line for each run, and one for each user.
    fn sums(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut sums = BTreeMap::<&str, (usize, usize, u64)>::new();
        for run in &self.runs {
            let (passed, failed) = (run.passed, run.failed.len());
            let code = run.code.map_or("not ended".to_owned(), |code| format!("exit {code}"));
            let (who, name, seconds) = (&run.who, &run.name, run.seconds);
            lines.push(format!(
                "{who:18} {name:32} {passed:4} passed {failed:3} failed {seconds:4} s  {code}"
            ));
            let sum = sums.entry(who).or_default();
            *sum = (sum.0 + passed, sum.1 + failed, sum.2 + seconds);
        }
        lines.extend(sums.into_iter().map(|(who, (passed, failed, seconds))| {
            format!("{who}: {passed} passed, {failed} failed, in {seconds} s")
        }));
        lines
    }

    fn skips(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for run in &self.runs {
            for why in &run.skipped {
                *counts.entry(format!("{} {}: {why}", run.who, run.name)).or_default() += 1;
            }
        }
        counts
    }
}

impl RunResult {
    fn begin(what: &str) -> Self {
        let (who, name) = what.split_once(' ').unwrap_or((what, ""));
        Self { who: who.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    fn end(&mut self, how: &str) {
        let mut words = how.split(' ');
        self.code = words.next().and_then(|word| word.parse().ok());
        self.seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        // The doctor is not a test program: its success counts as one test.
        if self.name == "kennel/doctor" && self.code == Some(0) {
            self.passed = 1;
        }
    }

    fn add_line(&mut self, line: &str) {
        let test = line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "));
        match test {
            Some((_, "ok")) => self.passed += 1,
            Some((name, "FAILED")) => self.failed.push(name.to_owned()),
            _ => {}
        }
        self.output.push_str(line);
        self.output.push('\n');
    }

    fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        if self.code != Some(0) {
            faults.push(match self.code {
                Some(code) => format!("exit {code}, failed: {}", self.failed.join(", ")),
                None => "it did not end".to_owned(),
            });
        }
        faults.extend(self.left.iter().map(|what| format!("left behind: {what}")));
        let about_limits: Vec<_> =
            self.skipped.iter().filter(|why| why.starts_with(ABOUT_LIMITS)).collect();
        if DELEGATED.contains(&self.who.as_str()) {
            if self.passed == 0 && self.code == Some(0) {
                faults.push("no test was run".to_owned());
            }
            faults
                .extend(about_limits.iter().map(|why| format!("must not be skipped here: {why}")));
        }
        let is_about_limits = self.name == "kennel-pen/limits";
        if is_about_limits && REFUSED.contains(&self.who.as_str()) && about_limits.is_empty() {
            faults.push("a limit that was not delegated was not refused".to_owned());
        }
        faults.into_iter().map(|fault| format!("{} {}: {fault}", self.who, self.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "@@ up\n@@ run root kennel-pen/limits\nrunning\ntest a b ... ok\ntest c ... ok\n\
        @@ ended 0 12\n@@ run user_undelegated kennel-pen/limits\n@@ skipped limits of pens: not delegated\n\
        @@ ended 0 1\n@@ done\n";

    #[test]
    fn counts_the_results_of_the_guest() {
        let report = VmReport::read(GOOD);
        assert!(report.done);
        assert_eq!(report.runs.len(), 2);
        assert_eq!((report.runs[0].passed, report.runs[0].code), (2, Some(0)));
        assert_eq!(report.runs[0].seconds, 12);
        assert_eq!(report.faults(), Vec::<String>::new());
    }

    #[track_caller]
    fn assert_fault(text: &str, expected: &str) {
        let faults = VmReport::read(text).faults();
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
    }

    #[test]
    fn reports_every_kind_of_failure() {
        assert_fault(&GOOD.replace("ended 0 12", "ended 101 12"), "exit 101");
        assert_fault("@@ run root a/b\ntest x ... FAILED\n@@ ended 1 2\n", "failed: x");
        assert_fault("@@ run root a/b\ntest x ... ok\n", "did not end");
        assert_fault("@@ run root a/b\n@@ ended 0 2\n", "no test was run");
        assert_fault("@@ run user a/b\ntest x ... ok\n@@ left /sys/x\n@@ ended 0 2\n", "/sys/x");
        let skipped =
            "@@ run root a/b\ntest x ... ok\n@@ skipped limits of pens: no\n@@ ended 0 2\n";
        assert_fault(skipped, "must not be skipped here");
        assert_fault(&GOOD.replace("@@ skipped limits", "@@ skipped other"), "was not refused");
    }

    #[test]
    fn a_guest_that_ends_early_is_not_done() {
        assert!(!VmReport::read(&GOOD.replace("@@ done\n", "")).done);
    }
}
