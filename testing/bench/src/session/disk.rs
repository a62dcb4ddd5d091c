//! The disk of the homes, and a journaled disk for comparison.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The size of the loop disk: enough for its journal and for thousands of sessions.
const LOOP_MEGABYTES: usize = 768;

/// Describes the file system of a path.
pub(crate) fn describe(path: &Path) -> Result<String> {
    let device = fs::metadata(path).with_context(|| path.display().to_string())?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let number = format!("{major}:{minor}");
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number));
    let (_, right) = mount.and_then(|line| line.split_once(" - ")).context("no such mount")?;
    let mut fields = right.split(' ');
    let (kind, source) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let mut text = kind.to_owned();
    if kind == "ext4" {
        let journaled = journal_of(&number)?;
        text += if journaled { ", with a journal" } else { ", without a journal" };
    }
    text += &format!(", {source}");
    if let Ok(cache) = fs::read_to_string(format!("/sys/dev/block/{number}/queue/write_cache")) {
        text += &format!(" ({})", cache.trim());
    }
    Ok(text)
}

/// Returns whether the ext4 on this device has a journal.
fn journal_of(number: &str) -> Result<bool> {
    let device = fs::read_link(format!("/sys/dev/block/{number}"))?;
    let name = device.file_name().and_then(|name| name.to_str()).context("no such device")?;
    let Ok(journals) = fs::read_dir("/proc/fs/jbd2") else { return Ok(false) };
    let prefix = format!("{name}-");
    let names = journals.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.into_iter().any(|journal| journal.starts_with(&prefix)))
}

/// Makes ext4 put each folder in `folder` into another part of the disk, as it does at its top.
/// Without a journal, ext4 needs more time to create a file the more files were removed in the same
/// part in the last minutes, so that one run would slow down the next. On other file systems this
/// fails, and does not matter.
pub(crate) fn spread(folder: &Path) {
    if let Err(error) = mark_as_top(folder) {
        println!("  homes share a part of the disk ({error})");
    }
}

fn mark_as_top(folder: &Path) -> std::io::Result<()> {
    let folder = File::open(folder)?;
    let flags = rustix::fs::ioctl_getflags(&folder)?;
    Ok(rustix::fs::ioctl_setflags(&folder, flags | rustix::fs::IFlags::TOPDIR)?)
}

/// Why something was skipped.
pub(crate) type SkipReason = String;

/// Creates a journaled ext4 in a file in `folder`, and mounts it there. The guard unmounts it.
pub(crate) fn mount_loop(folder: &Path) -> Result<PathBuf, SkipReason> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can mount a loop disk".to_owned());
    }
    make_loop(folder).map_err(|error| format!("{error:#}"))
}

fn make_loop(folder: &Path) -> Result<PathBuf> {
    let (file, mount) = (folder.join("disk"), folder.join("mounted"));
    // Written in full, so that no block is allocated during the measurement.
    let mut disk = File::create(&file)?;
    for _ in 0..LOOP_MEGABYTES {
        disk.write_all(&[0; 1 << 20])?;
    }
    disk.sync_all()?;
    fs::create_dir(&mount)?;
    let whole = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
    run(Command::new("mkfs.ext4").args(["-q", "-F", "-E", whole]).arg(&file))?;
    run(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(&mount))?;
    Ok(mount)
}

/// Unmounts it, if it is mounted.
pub(crate) fn unmount(mount: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let wanted = mount.to_str().context("the path is not UTF-8")?;
    if !mounts.lines().any(|line| line.split(' ').nth(4) == Some(wanted)) {
        return Ok(());
    }
    run(Command::new("umount").arg(mount))
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| name.clone())?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "{name}: {} {stderr}", output.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_a_file_system() {
        assert!(!describe(Path::new("/proc")).unwrap().is_empty());
        assert_eq!(describe(Path::new("/proc")).unwrap(), "proc, proc");
    }

    #[test]
    fn unmounting_without_a_mount_succeeds() {
        unmount(Path::new("/nowhere/at/all")).unwrap();
    }
}
