//! The second disk: the programs at the paths at which they were built, the plan, and the script
//! that runs it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::image::{make_disk, remove};
use super::plan::{BuiltTests, PlannedRun};
use crate::cargo::run;

const GUEST: &str = include_str!("guest.sh");
const SIZE: &str = "2G";

/// Creates the disk.
pub(super) fn make(
    folder: &Path,
    built: &BuiltTests,
    plan: &[PlannedRun],
) -> anyhow::Result<PathBuf> {
    let stage = folder.join("job");
    remove(&stage)?;
    for file in built.files(plan) {
        copy_stripped(&built.folder.join(file), &stage.join("files").join(file))?;
    }
    let target = built.folder.to_str().context("the path of the target folder is not UTF-8")?;
    for (name, text) in [("run", GUEST), ("target", target), ("plan", &lines(plan)?)] {
        let path = stage.join(name);
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    let disk = folder.join("job.img");
    make_disk(&stage, &disk, SIZE)?;
    remove(&stage)?;
    Ok(disk)
}

/// Returns one line for each run, with tabs between the fields.
fn lines(plan: &[PlannedRun]) -> anyhow::Result<String> {
    let mut text = String::new();
    for PlannedRun { who, name, path, arguments } in plan {
        let path = path.to_str().context("the path of a program is not UTF-8")?;
        ensure!(!path.contains(['\t', '\n']), "a path contains a tab: {path:?}");
        text.push_str(&format!("{who}\t{name}\t{path}\t{arguments}\n"));
    }
    Ok(text)
}

/// Copies a program without its debug info, which is most of it.
fn copy_stripped(from: &Path, to: &Path) -> anyhow::Result<()> {
    let folder = to.parent().context("a path has no parent folder")?;
    fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
    let mut strip = std::process::Command::new("strip");
    run(strip.arg("--strip-debug").arg("-o").args([to, from]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_one_line_for_each_run() {
        let run = |path: &str| PlannedRun {
            who: "root",
            name: "kennel-pen/limits".into(),
            path: path.into(),
            arguments: "--test-threads=2",
        };
        let line = "root\tkennel-pen/limits\tdeps/limits-1\t--test-threads=2\n";
        assert_eq!(lines(&[run("deps/limits-1")]).unwrap(), line);
        assert!(lines(&[run("a\tb")]).is_err());
    }
}
