//! Settling in as the init of a pid namespace.

use std::io;

use kennel_sys::namespace::give_up_capabilities;
pub use kennel_sys::namespace::{NamespaceInit, enter_new_pid_namespace};
use rustix::mount::{MountFlags, MountPropagationFlags};

/// For a process that finds itself the init of a new pid namespace: gives it its own view of `/proc`, and
/// takes from an unprivileged user the powers that came with the namespace.
///
/// # Errors
/// It is no init, or `/proc` could not be mounted.
pub fn settle_as_init() -> io::Result<NamespaceInit> {
    let init = NamespaceInit::confirm().ok_or(io::ErrorKind::PermissionDenied)?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None)?;
    // Root keeps what it had; anybody else had nothing before, and the agent shall have nothing.
    if !rustix::process::geteuid().is_root() {
        give_up_capabilities()?;
    }
    Ok(init)
}
