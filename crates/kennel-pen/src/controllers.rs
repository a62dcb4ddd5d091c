//! Which parts of the kernel can limit pens, and switching them on.
//!
//! ```text
//! the folder of pens (our unit)      cgroup.subtree_control: +memory …
//! ├── kennel-supervisor              yard, daemon, keepers: moved here, once
//! ├── kennel-HOME-SESSION            a pen, with its limits
//! └── …
//! ```
//! A controller works in the pens only if the folder above hands it down, and that folder may do so only if no
//! process is in it (but for the root of all). So Kennel's own processes step aside into a leaf. This is done when
//! the first limit is asked for, and only where the folder is ours: nobody but Kennel is in it, and systemd, if it
//! runs, has delegated it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

use crate::limits::{Controller, NoController};
use crate::systemd::{self, Delegation};

/// The leaf for Kennel's own processes.
pub(crate) const SUPERVISOR: &str = "kennel-supervisor";
/// Somebody may be forked between the look and the move; so often it is done again.
const ROUNDS: u32 = 16;

/// The files of the hierarchy. There is one for the kernel's, and one for tests.
pub(crate) trait CgroupFiles {
    fn read(&self, path: &Path) -> io::Result<String>;
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// One that exists is as good.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    fn is_writable(&self, path: &Path) -> bool;
}

/// The kernel's own.
pub(crate) struct KernelFiles;

impl CgroupFiles for KernelFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // In one call: the kernel takes each write for a whole word.
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.write_all(text.as_bytes())
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        rustix::fs::access(path, Access::WRITE_OK).is_ok()
    }
}

/// Whose a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessOwner {
    /// Kennel's.
    Ours,
    /// Gone meanwhile.
    Nobodys,
    /// Somebody else's; its name.
    Anothers(String),
}

/// What else matters about a folder of pens.
pub(crate) struct PenFolder<'a> {
    pub(crate) folder: &'a Path,
    /// The root of all, which may have processes and children with controllers.
    pub(crate) is_root: bool,
    /// systemd manages it, and has not delegated it.
    pub(crate) is_managed: bool,
    /// Whether the one who asks is root.
    pub(crate) by_root: bool,
    /// The controllers that cgroup v1 has.
    pub(crate) version_one: Vec<String>,
    /// The controllers at the top of what we see.
    pub(crate) at_top: Vec<String>,
    pub(crate) whose: &'a dyn Fn(i32) -> ProcessOwner,
}

impl<'a> PenFolder<'a> {
    /// This folder on this machine.
    pub(crate) fn here(folder: &'a Path) -> Self {
        let by_root = rustix::process::geteuid().is_root();
        let has_systemd = Path::new("/run/systemd/system").exists();
        let who = if by_root { CallingUser::Root } else { CallingUser::User };
        let top = crate::host_support::cgroup_mount().map(|mount| mount.join("cgroup.controllers"));
        Self {
            folder,
            is_root: !folder.join("cgroup.type").exists(),
            is_managed: has_systemd && is_managed(folder, who, is_marked, systemd::delegation),
            by_root,
            version_one: version_one(),
            at_top: top
                .and_then(|path| fs::read_to_string(path).ok())
                .map_or_else(Vec::new, |list| words(&list)),
            whose: &whose,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn leaf(&self) -> PathBuf {
        self.folder.join(SUPERVISOR)
    }
}

/// Whether pens here can have limits of this kind: only looks.
pub(crate) fn offer(
    files: &dyn CgroupFiles,
    place: &PenFolder<'_>,
    controller: Controller,
) -> Result<(), NoController> {
    if is_on(files, place, controller)? {
        return Ok(());
    }
    if place.is_managed {
        return Err(NoController::NotDelegated);
    }
    for name in ["cgroup.subtree_control", "cgroup.procs"] {
        if !files.is_writable(&place.file(name)) {
            return Err(not_handed_down(place));
        }
    }
    if place.is_root { Ok(()) } else { ours(files, place).map(drop) }
}

/// Makes it so that pens here can have limits of this kind.
pub(crate) fn switch_on(
    files: &dyn CgroupFiles,
    place: &PenFolder<'_>,
    controller: Controller,
) -> Result<(), NoController> {
    if is_on(files, place, controller)? {
        return Ok(());
    }
    if place.is_managed {
        return Err(NoController::NotDelegated);
    }
    let word = format!("+{controller}");
    for _ in 0..ROUNDS {
        // Looked at first: what can be handed out by threads, cpu and pids, the kernel hands down past processes too. It
        // then takes them for the threads of one domain, and lets nobody into the folders below.
        if !place.is_root && is_inhabited(files, place)? {
            step_aside(files, place)?;
            continue;
        }
        match files.write(&place.file("cgroup.subtree_control"), &word) {
            Ok(()) => return Ok(()),
            Err(error) if is(&error, Errno::BUSY) && !place.is_root => {} // somebody came meanwhile
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(not_handed_down(place));
            }
            Err(error) => return Err(failed("switching it on", &error)),
        }
    }
    Err(failed("switching it on", &Errno::BUSY.into()))
}

/// Whether it works in pens already; an error if it never can.
fn is_on(
    files: &dyn CgroupFiles,
    place: &PenFolder<'_>,
    controller: Controller,
) -> Result<bool, NoController> {
    let has = |name: &str| {
        let list = files.read(&place.file(name)).map_err(|error| failed("reading", &error))?;
        Ok(words(&list).iter().any(|word| word == controller.name()))
    };
    if has("cgroup.controllers")? {
        return has("cgroup.subtree_control");
    }
    let listed = |list: &[String]| list.iter().any(|word| word == controller.name());
    Err(if listed(&place.version_one) {
        NoController::InVersionOne
    } else if listed(&place.at_top) {
        not_handed_down(place)
    } else {
        NoController::SwitchedOff(controller)
    })
}

fn not_handed_down(place: &PenFolder<'_>) -> NoController {
    let user_hint = if place.by_root {
        ""
    } else {
        " (for cpu, root must let user@.service hand it down: Delegate=cpu memory pids)"
    };
    NoController::NotHandedDown { user_hint }
}

/// The processes in the folder itself; an error if one is not Kennel's.
fn ours(files: &dyn CgroupFiles, place: &PenFolder<'_>) -> Result<Vec<i32>, NoController> {
    let text =
        files.read(&place.file("cgroup.procs")).map_err(|error| failed("reading", &error))?;
    let mut pids = Vec::new();
    // One of a pid namespace that we don't see has the number 0.
    for pid in text.lines().map(|line| line.trim().parse::<i32>().unwrap_or(0)) {
        match (place.whose)(pid) {
            ProcessOwner::Ours => pids.push(pid),
            ProcessOwner::Nobodys => {}
            ProcessOwner::Anothers(name) => return Err(NoController::Strangers { pid, name }),
        }
    }
    Ok(pids)
}

/// Whether a process is in the folder itself.
fn is_inhabited(files: &dyn CgroupFiles, place: &PenFolder<'_>) -> Result<bool, NoController> {
    let inside = files.read(&place.file("cgroup.procs"));
    Ok(!inside.map_err(|error| failed("reading", &error))?.trim().is_empty())
}

/// Moves Kennel's own processes into the leaf: all of them, or none.
fn step_aside(files: &dyn CgroupFiles, place: &PenFolder<'_>) -> Result<(), NoController> {
    let pids = ours(files, place)?;
    let leaf = place.leaf();
    files.make_folder(&leaf).map_err(|error| failed("making a leaf", &error))?;
    for pid in pids {
        match files.write(&leaf.join("cgroup.procs"), &pid.to_string()) {
            Err(error) if !is(&error, Errno::SRCH) => {
                return Err(failed("moving Kennel's own processes aside", &error));
            }
            Ok(()) | Err(_) => {} // moved, or gone meanwhile
        }
    }
    Ok(())
}

fn failed(step: &'static str, error: &io::Error) -> NoController {
    NoController::Call { step, error: error.to_string() }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(ToOwned::to_owned).collect()
}

/// The controllers of `/proc/self/cgroup` that have a hierarchy of version one.
fn version_one() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let lists = text.lines().filter_map(|line| line.split(':').nth(1));
    lists.flat_map(|list| list.split(',')).filter(|name| !name.is_empty()).map(Into::into).collect()
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallingUser {
    Root,
    User,
}

/// Whether this folder is in a unit that systemd has kept for itself. The system's manager marks those that it has
/// delegated. A user's manager does not, and is asked. If neither tells, that a user can write here is all there is to
/// go by.
fn is_managed(
    folder: &Path,
    asker: CallingUser,
    is_marked: impl Fn(&Path) -> bool,
    ask: impl Fn(&str) -> Delegation,
) -> bool {
    let is_unit = |folder: &&Path| {
        let kind = folder.extension().and_then(|kind| kind.to_str());
        matches!(kind, Some("service" | "scope"))
    };
    let Some(unit) = folder.ancestors().find(is_unit) else {
        return false; // made by somebody else, for somebody else
    };
    if is_marked(unit) {
        return false;
    }
    // A user's manager is a unit itself, of the system's.
    let is_users = unit.ancestors().skip(1).any(|above| is_unit(&above));
    match (asker, unit.file_name().and_then(|name| name.to_str())) {
        (CallingUser::Root, _) => true,
        (CallingUser::User, Some(name)) if is_users => ask(name) == Delegation::Kept,
        (CallingUser::User, _) => false,
    }
}

fn is_marked(folder: &Path) -> bool {
    ["trusted.delegate", "user.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        matches!(rustix::fs::getxattr(folder, *name, &mut value), Ok(1) if value[0] == b'1')
    })
}

/// Kennel's own run the same program as we do, or an older one of that name, as the same user.
fn whose(pid: i32) -> ProcessOwner {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let Ok(folder) = fs::metadata(&process) else {
        return if pid == 0 {
            ProcessOwner::Anothers("another namespace's".into())
        } else {
            ProcessOwner::Nobodys
        };
    };
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned();
    let program = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = program(Path::new("/proc/self/exe"));
    let same_program = own.is_some() && program(&process.join("exe")) == own;
    let same_user = folder.uid() == rustix::process::geteuid().as_raw();
    if same_user && (same_program || name.starts_with("kennel-")) {
        ProcessOwner::Ours
    } else {
        ProcessOwner::Anothers(name)
    }
}

#[cfg(test)]
#[path = "controllers_tests.rs"]
mod tests;
