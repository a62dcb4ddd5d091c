//! Worktrees with the real git, each test in its own repository.

mod bare;
mod branches;
mod changed_outside;
mod commits;
mod crash;
mod dirty;
mod disks;
mod gc;
mod hooks;
mod incomplete;
mod limits;
mod many;
mod names;
mod nested;
mod refusals;
mod removed;
mod scene;
mod submodules;
