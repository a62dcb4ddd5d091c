//! What could not be tested on this machine, and why.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A file to which tests add a line for each thing that they can't test on this machine. Dropping
/// this removes the file.
pub(crate) struct Skips(PathBuf);

impl Skips {
    /// Creates an empty file.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let name = format!("kennel-test-skips-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, "").with_context(|| format!("can't write {}", path.display()))?;
        Ok(Self(path))
    }

    /// The path, for the tests.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Adds a line.
    pub(crate) fn add(&self, line: &str) -> anyhow::Result<()> {
        let file = OpenOptions::new().append(true).open(&self.0);
        file.and_then(|mut file| writeln!(file, "{line}"))
            .with_context(|| format!("can't write {}", self.0.display()))
    }

    /// Prints all lines.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let text = fs::read_to_string(&self.0)
            .with_context(|| format!("can't read {}", self.0.display()))?;
        let lines = counted(&text);
        if !lines.is_empty() {
            println!("\n*** SKIPPED ON THIS MACHINE ***");
            for line in lines {
                println!("  {line}");
            }
        }
        Ok(())
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        // A small file that stays in the temp folder does no harm.
        fs::remove_file(&self.0).ok();
    }
}

/// Returns each line once, with the number of times it occurs.
fn counted(text: &str) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        *counts.entry(line).or_default() += 1;
    }
    let shown = |(line, count): (&str, usize)| match count {
        1 => line.to_owned(),
        _ => format!("{line} ({count} times)"),
    };
    counts.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_repeated_lines_once() {
        assert_eq!(counted("b\na\nb\n"), ["a", "b (2 times)"]);
        assert!(counted("").is_empty());
    }
}
