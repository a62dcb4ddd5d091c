//! Namespaces for a process with one thread.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Puts the *next children* of this process into a new pid namespace, of which the first becomes init.
/// Mounts made from now on stay private to this process and its children.
///
/// An unprivileged process needs `with_user`: a user namespace of its own, in which it maps its own
/// user and group to themselves. It can't be left again, and set-uid programs have no power in it.
///
/// # Errors
/// What the kernel said: `EPERM` or `ENOSPC` where user namespaces are switched off.
pub fn enter_new_pid_namespace(with_user: bool) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let user = if with_user { libc::CLONE_NEWUSER } else { 0 };
    // SAFETY: no memory is involved. With several threads the kernel refuses a user namespace; a pid
    // namespace concerns only children made later, the mount namespace only this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS | user) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if with_user {
        // Our next exec would take away what we are in our new user namespace; the init needs it to
        // mount its own /proc, and then gives it up.
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

/// Gives up all capabilities, in this process and in what it will start.
///
/// # Errors
/// What the kernel said.
pub fn give_up_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?)
}

/// Proof that this process is the init of a pid namespace: one call reaches everyone in it.
#[derive(Debug, Clone, Copy)]
pub struct NamespaceInit(());

impl NamespaceInit {
    /// Confirms it. The caller must know that the namespace was made for it, by
    /// [`enter_new_pid_namespace`] in its parent: the init of a whole machine is pid 1 too.
    #[must_use]
    pub fn confirm() -> Option<Self> {
        rustix::process::getpid().is_init().then_some(Self(()))
    }

    /// Sends a signal to every other process of the namespace, in one step that no fork slips through:
    /// the kernel holds all forks off while it goes through the list.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn signal_others(self, signal: rustix::process::Signal) -> io::Result<()> {
        // SAFETY: no memory is involved; -1 is every process of this namespace but ourselves.
        if unsafe { libc::kill(-1, signal.as_raw()) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            none_left if none_left.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }
}
