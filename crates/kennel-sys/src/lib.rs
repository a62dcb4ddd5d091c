//! The kernel calls that Kennel needs and that no safe crate offers.
//!
//! This is the only crate of the workspace with `unsafe` code. Everything it exports is safe.
//!
//! | file | what |
//! |---|---|
//! | [`clone`] | start a program behind a gate: `clone3` into a cgroup, with a pidfd |
//! | `child` | what the new process does between the clone and the exec: raw system calls only |
//! | `raw` | system calls by inline assembly, without `errno` |
//! | [`pidfd`] | open pidfds, send signals, query processes |
//! | [`reap`] | reap children, and become a subreaper |
//! | [`identity`] | unique identities of processes: boot, pid namespace, pid, birth |
//! | [`signals`] | block signals, and read them from a descriptor |
//! | [`terminal`], [`resources`] | pseudo-terminals; resources that have limits |
//! | [`process`], [`namespace`], [`title`] | what a single-threaded process does to itself |
//! | [`fault`], [`errno`] | named calls, which tests can make fail, and their errors |

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "kennel-sys supports Linux on x86_64; another architecture needs its own `raw.rs` (two functions)"
);

mod child;
pub mod clone;
pub mod errno;
pub mod fault;
pub mod identity;
pub mod namespace;
pub mod pidfd;
pub mod process;
mod raw;
pub mod reap;
pub mod resources;
pub mod signals;
pub mod terminal;
pub mod title;
