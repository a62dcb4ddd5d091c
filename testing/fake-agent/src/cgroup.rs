//! Behaviours that leave the cgroup they were started in, or make new ones below it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process;

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, Then};
use crate::spawn::{self, Session, Up, come_up};

/// `move-cgroup PATH`: a process that may write there leaves its cgroup by one write.
pub(crate) fn move_self(mut args: Args) -> Outcome {
    let target = args.path("PATH")?;
    args.finish()?;
    enter(&target)?;
    presence::record_pid("agent")?;
    Then::Rest.go()
}

/// `move-cgroup-child PATH`: neither the cgroup nor the session nor the environment shows its
/// owner.
pub(crate) fn move_child(mut args: Args) -> Outcome {
    let target = args.path("PATH")?;
    args.finish()?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    spawn::fork(&mut up, |up| {
        Session::Own.enter()?;
        spawn::linger_without_environment(up, "leaf", Some(&target))
    })?;
    up.wait_for(1)?;
    Then::Rest.go()
}

/// `nest-cgroup NAME`: the tree is still below the agent's cgroup, but no longer in it.
pub(crate) fn nest(mut args: Args) -> Outcome {
    let name = args.path("NAME")?;
    let mut components = name.components();
    if !matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)) {
        return Err(args.wrong(format_args!("NAME {name:?} is not a plain name")));
    }
    args.finish()?;
    presence::record_pid("agent")?;
    let outer = own_folder()?.join(name);
    let inner = outer.join("inner");
    fs::create_dir_all(&inner).or_fail(failure::CGROUP, format_args!("making {inner:?}"))?;
    let mut up = Up::new()?;
    for target in [&inner, &outer] {
        spawn::fork(&mut up, |up| {
            enter(target)?;
            come_up(up, "leaf")?;
            presence::rest()
        })?;
    }
    up.wait_for(2)?;
    Then::Rest.go()
}

/// Moves this process into the cgroup at `target`.
pub(crate) fn enter(target: &Path) -> Result<(), Failure> {
    let procs = target.join("cgroup.procs");
    // Not `fs::write`, which would create a file if the cgroup doesn't exist.
    fs::OpenOptions::new()
        .write(true)
        .open(&procs)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, process::id().to_string().as_bytes())
        })
        .or_fail(failure::CGROUP, format_args!("moving to {procs:?}"))
}

/// The path of this process in the unified hierarchy (`0::`), as the kernel names it.
pub(crate) fn own_path() -> Result<String, Failure> {
    let text = read("/proc/self/cgroup")?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    path.map(str::to_owned).ok_or_else(|| Failure {
        code: failure::CGROUP,
        message: "this process has no place in a unified cgroup hierarchy".into(),
    })
}

/// The folder of this process's cgroup.
fn own_folder() -> Result<PathBuf, Failure> {
    let own = own_path()?;
    let mounts = read("/proc/self/mountinfo")?;
    let folder = mounts.lines().find_map(|line| folder_below(line, &own));
    folder.ok_or_else(|| Failure {
        code: failure::CGROUP,
        message: format!("no cgroup2 file system shows {own:?}"),
    })
}

/// Where the cgroup `own` is, if this line of `mountinfo` is of a cgroup2 file system that shows
/// it.
fn folder_below(line: &str, own: &str) -> Option<PathBuf> {
    let (mount, file_system) = line.split_once(" - ")?;
    if file_system.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (unescape(fields.next()?), unescape(fields.next()?));
    let below = Path::new(own).strip_prefix(&root).ok()?;
    // `/..` is how the kernel shows what is outside of the cgroup namespace.
    if below.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    Some(point.join(below))
}

/// Undoes the escapes of `mountinfo`: `\040` for a space, and the like.
fn unescape(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let octal = (byte == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(octal.unwrap_or(byte));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).or_fail(failure::CGROUP, format_args!("reading {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_folder_of_a_cgroup() {
        let line = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let folder = folder_below(line, "/a/b");
        assert_eq!(folder, Some("/sys/fs/cgroup/unified/a/b".into()));
    }

    #[test]
    fn handles_the_root_and_escapes() {
        let line = r"41 31 0:38 /a /my\040cgroups rw shared:3 - cgroup2 none rw";
        assert_eq!(folder_below(line, "/a/b"), Some("/my cgroups/b".into()));
        assert_eq!(folder_below(line, "/other"), None);
        assert_eq!(folder_below(line, "/a/../b"), None);
    }

    #[test]
    fn ignores_other_file_systems() {
        let line = "22 27 0:21 / /proc rw,relatime - proc proc rw";
        assert_eq!(folder_below(line, "/"), None);
    }
}
