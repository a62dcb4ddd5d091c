//! Which controllers of the kernel can limit pens, and how to enable them.
//!
//! ```text
//! the folder of pens (the unit)      cgroup.subtree_control: +memory …
//! ├── kennel-supervisor              yard, daemon, keepers: moved here, once
//! ├── kennel-HOME-SESSION            a pen, with its limits
//! └── …
//! ```
//! A controller works in the pens only if the folder above enables it, and that folder may do so
//! only if no process is in it (except for the root). So Kennel's own processes are moved into a
//! leaf. This is done when the first limit is requested, and only if the folder belongs to Kennel:
//! no other process is in it, and systemd, if it runs, has delegated it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

use crate::cgroup::is;
use crate::limits::{Controller, NoController};
use crate::systemd;

/// The leaf for Kennel's own processes.
pub(crate) const SUPERVISOR: &str = "kennel-supervisor";
/// The number of retries if a process is forked between listing and moving.
const ROUNDS: u32 = 16;

/// The files of the hierarchy: those of the kernel, or those of a test.
pub(crate) trait CgroupFiles {
    fn read(&self, path: &Path) -> io::Result<String>;
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// Creates a folder. An existing folder is not an error.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    fn is_writable(&self, path: &Path) -> bool;
}

struct KernelFiles;

impl CgroupFiles for KernelFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // One call: the kernel takes each write as a complete command.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessOwner {
    Kennel,
    /// The process has exited.
    Gone,
    /// Another program, with this name.
    Other(String),
}

/// The folder in which pens are created.
pub(crate) struct PenFolder<'a> {
    pub(crate) files: &'a dyn CgroupFiles,
    pub(crate) folder: &'a Path,
    /// Whether it is the root cgroup, which may have both processes and children with controllers.
    pub(crate) is_root: bool,
    /// Whether systemd manages it and has not delegated it.
    pub(crate) is_managed: bool,
    pub(crate) by_root: bool,
    /// The controllers that are bound to cgroup v1.
    pub(crate) version_one: Vec<String>,
    /// The controllers at the top of the visible hierarchy.
    pub(crate) at_top: Vec<String>,
    pub(crate) owner_of: &'a dyn Fn(i32) -> ProcessOwner,
}

impl<'a> PenFolder<'a> {
    pub(crate) fn here(folder: &'a Path) -> Self {
        let by_root = rustix::process::geteuid().is_root();
        let has_systemd = Path::new("/run/systemd/system").exists();
        let top = crate::host_support::cgroup_mount().map(|mount| mount.join("cgroup.controllers"));
        Self {
            files: &KernelFiles,
            folder,
            is_root: !folder.join("cgroup.type").exists(),
            is_managed: has_systemd
                && is_managed(folder, by_root, is_marked, systemd::is_delegated),
            by_root,
            version_one: version_one(),
            at_top: top
                .and_then(|path| fs::read_to_string(path).ok())
                .map_or_else(Vec::new, |list| words(&list)),
            owner_of: &owner_of,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn read(&self, name: &str) -> Result<String, NoController> {
        self.files.read(&self.file(name)).map_err(|error| failed("reading", &error))
    }

    /// Returns whether pens in this folder can have limits of this kind. Changes nothing.
    pub(crate) fn offer(&self, controller: Controller) -> Result<(), NoController> {
        if self.is_enabled(controller)? {
            return Ok(());
        }
        for name in ["cgroup.subtree_control", "cgroup.procs"] {
            if !self.files.is_writable(&self.file(name)) {
                return Err(self.not_handed_down());
            }
        }
        if self.is_root { Ok(()) } else { self.own_processes().map(drop) }
    }

    /// Enables limits of this kind for pens in this folder.
    pub(crate) fn enable(&self, controller: Controller) -> Result<(), NoController> {
        if self.is_enabled(controller)? {
            return Ok(());
        }
        let word = format!("+{controller}");
        for _ in 0..ROUNDS {
            // Checked first: the kernel enables the threaded controllers cpu and pids in spite of
            // processes. It then makes the folder a threaded domain, and refuses processes in the
            // folders below.
            if !self.is_root && !self.read("cgroup.procs")?.trim().is_empty() {
                self.move_to_leaf()?;
                continue;
            }
            match self.files.write(&self.file("cgroup.subtree_control"), &word) {
                Ok(()) => return Ok(()),
                Err(error) if is(&error, Errno::BUSY) && !self.is_root => {} // a process was added
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(self.not_handed_down());
                }
                Err(error) => return Err(failed("enabling it", &error)),
            }
        }
        Err(failed("enabling it", &Errno::BUSY.into()))
    }

    /// Returns whether the controller is already enabled for pens. Fails if Kennel can't enable it.
    fn is_enabled(&self, controller: Controller) -> Result<bool, NoController> {
        let listed = |list: &[String]| list.iter().any(|word| word == controller.name());
        let has = |name: &str| Ok(listed(&words(&self.read(name)?)));
        if has("cgroup.controllers")? {
            let enabled = has("cgroup.subtree_control")?;
            return if !enabled && self.is_managed {
                Err(NoController::NotDelegated)
            } else {
                Ok(enabled)
            };
        }
        Err(if listed(&self.version_one) {
            NoController::InVersionOne
        } else if listed(&self.at_top) {
            self.not_handed_down()
        } else {
            NoController::SwitchedOff(controller)
        })
    }

    fn not_handed_down(&self) -> NoController {
        let user_hint = if self.by_root {
            ""
        } else {
            " (for cpu, root must let user@.service hand it down: Delegate=cpu memory pids)"
        };
        NoController::NotHandedDown { user_hint }
    }

    /// Returns the processes in the folder itself. Fails if one of them is not Kennel's.
    fn own_processes(&self) -> Result<Vec<i32>, NoController> {
        let mut pids = Vec::new();
        // A process in an invisible pid namespace has the pid 0.
        let text = self.read("cgroup.procs")?;
        for pid in text.lines().map(|line| line.trim().parse::<i32>().unwrap_or(0)) {
            match (self.owner_of)(pid) {
                ProcessOwner::Kennel => pids.push(pid),
                ProcessOwner::Gone => {}
                ProcessOwner::Other(name) => return Err(NoController::Strangers { pid, name }),
            }
        }
        Ok(pids)
    }

    fn move_to_leaf(&self) -> Result<(), NoController> {
        let pids = self.own_processes()?;
        let leaf = self.file(SUPERVISOR);
        self.files.make_folder(&leaf).map_err(|error| failed("creating a leaf", &error))?;
        for pid in pids {
            match self.files.write(&leaf.join("cgroup.procs"), &pid.to_string()) {
                Err(error) if !is(&error, Errno::SRCH) => {
                    return Err(failed("moving Kennel's own processes", &error));
                }
                Ok(()) | Err(_) => {} // moved, or already gone
            }
        }
        Ok(())
    }
}

fn failed(step: &str, error: &io::Error) -> NoController {
    NoController::Call(format!("{step} failed: {error}"))
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(ToOwned::to_owned).collect()
}

/// Returns the controllers in `/proc/self/cgroup` that have a hierarchy of version one.
fn version_one() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let lists = text.lines().filter_map(|line| line.split(':').nth(1));
    lists.flat_map(|list| list.split(',')).filter(|name| !name.is_empty()).map(Into::into).collect()
}

/// Returns whether this folder is in a unit that systemd has not delegated. The system's manager
/// marks the units that it has delegated. A user's manager does not, so it is asked. Without an
/// answer, it is enough that the user may write to the folder.
fn is_managed(
    folder: &Path,
    by_root: bool,
    is_marked: impl Fn(&Path) -> bool,
    ask: impl Fn(&str) -> Option<bool>,
) -> bool {
    let is_unit = |folder: &&Path| {
        let kind = folder.extension().and_then(|kind| kind.to_str());
        matches!(kind, Some("service" | "scope"))
    };
    let Some(unit) = folder.ancestors().find(is_unit) else {
        return false; // not created by systemd
    };
    if is_marked(unit) {
        return false;
    }
    // A user's manager is itself a unit of the system's manager.
    let is_users = unit.ancestors().skip(1).any(|above| is_unit(&above));
    let name = unit.file_name().and_then(|name| name.to_str()).filter(|_| is_users);
    by_root || name.is_some_and(|name| ask(name) == Some(false))
}

fn is_marked(folder: &Path) -> bool {
    ["trusted.delegate", "user.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        matches!(rustix::fs::getxattr(folder, *name, &mut value), Ok(1) if value[0] == b'1')
    })
}

/// Kennel's own processes run the same program, or one with such a name, as the same user.
fn owner_of(pid: i32) -> ProcessOwner {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let Ok(folder) = fs::metadata(&process) else {
        return match pid {
            0 => ProcessOwner::Other("another namespace's".into()),
            _ => ProcessOwner::Gone,
        };
    };
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned();
    let program = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let own = program(Path::new("/proc/self/exe"));
    let same_program = own.is_some() && program(&process.join("exe")) == own;
    let same_user = folder.uid() == rustix::process::geteuid().as_raw();
    if same_user && (same_program || name.starts_with("kennel-")) {
        ProcessOwner::Kennel
    } else {
        ProcessOwner::Other(name)
    }
}

#[cfg(test)]
#[path = "controllers_tests.rs"]
mod tests;
