//! Worktrees with real git, in repositories of their own; one file a behaviour.

mod scene;

mod bare;
mod bounds;
mod branches;
mod broken_disk;
mod commits;
mod crash;
mod dirty;
mod gc;
mod half_made;
mod hooks;
mod many;
mod names;
mod nested;
mod refusals;
mod removed;
mod standing;
mod submodules;
