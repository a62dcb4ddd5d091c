//! Namespaces for a process with one thread.

use std::io;

use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Creates a pid namespace for the *next children* of this process, the first of which becomes its
/// init. Mounts made from now on are private to this process and its children.
///
/// An unprivileged process needs `with_user`: a user namespace that maps its user and group to
/// themselves. The process can't leave it again, and set-uid programs have no effect in it.
///
/// # Errors
/// `EPERM` or `ENOSPC` where user namespaces are disabled, otherwise the kernel's error.
pub fn enter_new_pid_namespace(with_user: bool) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let user = if with_user { libc::CLONE_NEWUSER } else { 0 };
    // SAFETY: no memory is involved. The kernel refuses a user namespace for several threads; a pid
    // namespace only concerns later children, the mount namespace only this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS | user) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if with_user {
        // The next exec would drop the capabilities in the new user namespace. The init needs this
        // one to mount its own /proc, and then drops it.
        keep_over_exec(CapabilitySet::SYS_ADMIN)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    Ok(())
}

fn keep_over_exec(what: CapabilitySet) -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= what;
    set_capabilities(None, sets)?;
    Ok(rustix::thread::configure_capability_in_ambient_set(what, true)?)
}

/// Sets up a process that is the init of a new pid namespace: mounts its own `/proc`, and drops the
/// capabilities that an unprivileged user got with the namespace.
///
/// # Errors
/// This process is not an init, or `/proc` could not be mounted.
pub fn settle_as_init() -> io::Result<NamespaceInit> {
    let init = NamespaceInit::confirm().ok_or(io::ErrorKind::PermissionDenied)?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None)?;
    // Root keeps its capabilities. Other users had none before, and the agent must have none.
    if !rustix::process::geteuid().is_root() {
        rustix::thread::clear_ambient_capability_set()?;
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets)?;
    }
    Ok(init)
}

/// Proof that this process is the init of a pid namespace: one call reaches every process in it.
#[derive(Debug, Clone, Copy)]
pub struct NamespaceInit(());

impl NamespaceInit {
    /// The caller must know that its parent created the namespace by [`enter_new_pid_namespace`]:
    /// the init of a whole machine has pid 1 too.
    fn confirm() -> Option<Self> {
        rustix::process::getpid().is_init().then_some(Self(()))
    }

    /// Sends a signal to every other process of the namespace in one step that no fork escapes: the
    /// kernel blocks forks while it walks the list.
    pub fn signal_others(self, signal: rustix::process::Signal) -> io::Result<()> {
        // SAFETY: no memory is involved; -1 is every other process of this namespace.
        if unsafe { libc::kill(-1, signal.as_raw()) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            none_left if none_left.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }
}
