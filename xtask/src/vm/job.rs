//! The second disk: the programs at the paths that they know themselves by, the plan, and who carries it out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::image::{make_disk, remove};
use super::plan::{Built, Run};
use crate::cargo::run;

const GUEST: &str = include_str!("guest.sh");
const SIZE: &str = "2G";

/// Makes the disk anew.
pub(super) fn make(folder: &Path, built: &Built, plan: &[Run]) -> anyhow::Result<PathBuf> {
    let stage = folder.join("job");
    remove(&stage)?;
    for file in built.files(plan) {
        copy_stripped(&built.folder.join(file), &stage.join("files").join(file))?;
    }
    let target = built.folder.to_str().context("the target folder has a name that is no text")?;
    for (name, text) in [("run", GUEST), ("target", target), ("plan", &lines(plan)?)] {
        let path = stage.join(name);
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    let disk = folder.join("job.img");
    make_disk(&stage, &disk, SIZE)?;
    remove(&stage)?;
    Ok(disk)
}

/// A line for each run, with tabs in between.
fn lines(plan: &[Run]) -> anyhow::Result<String> {
    let mut text = String::new();
    for Run { who, name, path, arguments } in plan {
        let path = path.to_str().context("a program's name is no text")?;
        ensure!(!path.contains(['\t', '\n']), "a path with a tab in it: {path:?}");
        text.push_str(&format!("{who}\t{name}\t{path}\t{arguments}\n"));
    }
    Ok(text)
}

/// Without what only a debugger reads, which is most of it.
fn copy_stripped(from: &Path, to: &Path) -> anyhow::Result<()> {
    let folder = to.parent().context("a path without a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
    let mut strip = std::process::Command::new("strip");
    run(strip.arg("--strip-debug").arg("-o").args([to, from]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_plan_has_what_the_guest_reads() {
        let run = |path: &str| Run {
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
