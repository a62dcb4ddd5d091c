//! The machine's disk, kernel and initramfs: created once, and again when the recipe changes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use super::recipe::Recipe;
use crate::cargo::run;
use crate::programs::{apt_get, is_root};

/// The size of the disk. It is a sparse file: unused blocks take no space.
const DISK: &str = "6G";

/// The files from which a machine starts. They are never changed: a machine's writes are discarded.
pub(super) struct Image {
    pub(super) disk: PathBuf,
    pub(super) kernel: PathBuf,
    pub(super) initrd: PathBuf,
}

/// Returns the image, from the cache if this recipe has created it.
pub(super) fn provide(folder: &Path) -> anyhow::Result<Image> {
    let image = Image {
        disk: folder.join("disk.img"),
        kernel: folder.join("vmlinuz"),
        initrd: folder.join("initrd.img"),
    };
    let recipe = Recipe::for_host()?;
    let made_by = folder.join("recipe");
    if fs::read_to_string(&made_by).is_ok_and(|text| text == recipe.text()) {
        println!("=== image: from the cache in {}", folder.display());
        return Ok(image);
    }
    println!("=== image: creating it from Debian {}", recipe.suite());
    ensure!(is_root(), "creating the image needs root, to set the owners of its files");
    // The note that marks the image as complete is written last.
    remove(&made_by)?;
    let root = folder.join("root");
    remove(&root)?;
    make_root(&recipe, &root)?;
    copy_only(&root.join("boot"), "vmlinuz-", &image.kernel)?;
    copy_only(&root.join("boot"), "initrd.img-", &image.initrd)?;
    make_disk(&root, &image.disk, DISK)?;
    remove(&root)?;
    fs::write(&made_by, recipe.text())
        .with_context(|| format!("can't write {}", made_by.display()))?;
    Ok(image)
}

/// Creates a file system with the files of a folder, without a mount.
pub(super) fn make_disk(from: &Path, disk: &Path, size: &str) -> anyhow::Result<()> {
    remove(disk)?;
    run(Command::new("mke2fs").args(["-q", "-t", "ext4", "-d"]).args([from, disk]).arg(size))
}

/// Removes a file or a folder, if it exists.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.with_context(|| format!("can't remove {}", path.display()))
}

/// Copies the one file whose name has this prefix.
fn copy_only(folder: &Path, prefix: &str, to: &Path) -> anyhow::Result<()> {
    let list = fs::read_dir(folder).with_context(|| format!("can't list {}", folder.display()))?;
    let is_meant = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    let found: Vec<PathBuf> = list.flatten().filter(is_meant).map(|entry| entry.path()).collect();
    let [from] = &found[..] else {
        bail!("expected exactly one {prefix}* in {}: {found:?}", folder.display())
    };
    fs::copy(from, to).with_context(|| format!("can't copy {}", from.display()))?;
    Ok(())
}

/// Installs Debian into a folder, with the sources and settings of the host's apt.
fn make_root(recipe: &Recipe, root: &Path) -> anyhow::Result<()> {
    let sources = sources(recipe.suite())?;
    let settings = root.with_extension("apt.conf");
    fs::write(&settings, output(Command::new("apt-config").args(["dump", "Acquire"]))?)
        .with_context(|| format!("can't write {}", settings.display()))?;
    let log = root.with_extension("log");
    let to_log = File::create(&log).with_context(|| format!("can't make {}", log.display()))?;
    println!("$ mmdebstrap … (in {})", log.display());
    let mut command = Command::new("mmdebstrap");
    command.arg(format!("--aptopt={}", settings.display())).args(recipe.arguments());
    command.arg("--format=directory").arg(recipe.suite()).arg(root).arg("-");
    command.stdin(Stdio::piped()).stdout(to_log.try_clone()?).stderr(to_log);
    let mut child = command.spawn().context("can't start mmdebstrap")?;
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(sources.as_bytes()));
    let status = child.wait().context("can't wait for mmdebstrap")?;
    if !status.success() {
        let text = fs::read_to_string(&log).unwrap_or_default();
        bail!("mmdebstrap: {status}\n{}", tail(&text, 20));
    }
    written.transpose().context("mmdebstrap did not read its sources")?;
    remove(&settings)
}

/// Returns lines of `sources.list` for this release of Debian, from the host's apt.
fn sources(suite: &str) -> anyhow::Result<String> {
    let look = || {
        let format = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)";
        let only = ["Created-By: Packages", "Origin: Debian"];
        let list =
            output(Command::new("apt-get").args(["indextargets", "--format", format]).args(only))?;
        Ok::<_, anyhow::Error>(of_suite(&list, suite))
    };
    let mut found = look()?;
    if found.is_empty() {
        // apt lists only the package lists that were downloaded.
        apt_get(&["update"])?;
        found = look()?;
    }
    ensure!(!found.is_empty(), "the host's apt has no packages of Debian {suite}");
    Ok(found)
}

/// Keeps the lines of the release, its updates and its security fixes, each once.
fn of_suite(list: &str, suite: &str) -> String {
    let is_of = |line: &&str| {
        let release = line.split(' ').nth(2).unwrap_or_default();
        let rest = release.strip_prefix(suite);
        rest.is_some_and(|rest| matches!(rest, "" | "-updates" | "-security"))
    };
    let lines: std::collections::BTreeSet<&str> = list.lines().filter(is_of).collect();
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("can't start {name}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {}: {errors}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("the output of {name} is not UTF-8"))
}

/// Returns the last lines of a text.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_lines_of_the_release_each_once() {
        let list = "deb file:/a/ trixie main\ndeb file:/a/ trixie main\ndeb file:/s/ trixie-security main\n\
            deb file:/a/ sid main\ndeb file:/a/ trixie-backports main\n";
        assert_eq!(
            of_suite(list, "trixie"),
            "deb file:/a/ trixie main\ndeb file:/s/ trixie-security main\n"
        );
    }

    #[test]
    fn the_tail_of_a_short_text_is_the_whole_text() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a\n", 2), "a");
    }
}
