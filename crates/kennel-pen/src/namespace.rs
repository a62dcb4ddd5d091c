//! Setting up the init of a pid namespace.

use std::io;

use kennel_sys::namespace::give_up_capabilities;
pub use kennel_sys::namespace::{NamespaceInit, enter_new_pid_namespace};
use rustix::mount::{MountFlags, MountPropagationFlags};

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
        give_up_capabilities()?;
    }
    Ok(init)
}
