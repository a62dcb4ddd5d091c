//! The kernel calls that Kennel needs and that no safe crate offers.
//!
//! This is the only crate of the workspace with `unsafe` code; everything it exports is safe to call.
//! One family of calls a file:
//!
//! | file | what |
//! |---|---|
//! | [`clone`] | start a program behind a gate: `clone3` into a cgroup, with a pidfd |
//! | `child` | what the new process does between the clone and the exec: raw system calls only |
//! | `raw` | system calls by inline assembly, without `errno` |
//! | [`pidfd`] | open, signal, wait, ask |
//! | [`reap`] | collect the status of children; be the one that orphans fall to |
//! | [`identity`] | which process exactly: boot, pid namespace, pid, start time |
//! | [`signals`] | block signals and read them from a descriptor |
//! | [`terminal`] | pseudo-terminals and their sizes |
//! | [`fork`], [`thread`], [`namespace`] | what only a program with one thread may do |
//! | [`fault`] | the seam at which tests make a call fail |

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "kennel-sys knows Linux on x86_64; another architecture needs its own `raw.rs` (two functions)"
);

mod child;
pub mod clone;
pub mod descriptor;
pub mod errno;
pub mod fault;
pub mod fork;
pub mod identity;
pub mod memory;
pub mod namespace;
pub mod pidfd;
mod raw;
pub mod reap;
pub mod resources;
pub mod signals;
pub mod terminal;
pub mod thread;
pub mod title;
