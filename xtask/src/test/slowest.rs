//! The slowest tests of a run, from nextest's JUnit report.

use std::fs;
use std::path::Path;

/// How many are printed.
const PRINTED: usize = 10;

/// Prints the slowest tests. A run that failed before any test has no report.
pub(super) fn print(report: &Path) {
    let Ok(text) = fs::read_to_string(report) else { return };
    println!("\nslowest tests (all of them: {}):", report.display());
    for (seconds, name) in slowest(&text) {
        println!("{seconds:8.1} s  {name}");
    }
}

fn slowest(report: &str) -> Vec<(f64, String)> {
    let mut tests: Vec<_> = report.split("<testcase ").skip(1).filter_map(test_case).collect();
    tests.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    tests.truncate(PRINTED);
    tests
}

/// The time and the name of a test, from the text behind `<testcase `.
fn test_case(text: &str) -> Option<(f64, String)> {
    let (attributes, _) = text.split_once('>')?;
    let value = |name: &str| {
        let (_, value) = attributes.split_once(&format!("{name}=\""))?;
        value.split_once('"').map(|(value, _)| value)
    };
    let name = format!("{} {}", value("classname")?, value("name")?);
    Some((value(" time")?.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_the_slowest_tests_first() {
        let report = r#"<testsuite name="kennel::it" tests="2">
            <testcase name="a::b" classname="kennel::it" timestamp="2026-01-01T00:00:00+00:00" time="0.5"></testcase>
            <testcase name="c" classname="kennel" timestamp="x" time="12.250">
            <failure message="x"/></testcase></testsuite>"#;
        let expected = [(12.25, "kennel c".to_owned()), (0.5, "kennel::it a::b".to_owned())];
        assert_eq!(slowest(report), expected);
        assert!(slowest("").is_empty());
    }
}
