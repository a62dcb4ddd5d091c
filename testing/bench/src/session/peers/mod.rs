//! Others who run processes for people. Those that are no part of a system are installed only when asked
//! for, into a folder beside this program.

mod conmon;
mod pm2;
mod supervisord;
mod tmux;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::disk::Skipped;
use super::guard::Guard;
use super::own_folder;

pub(super) use conmon::{Conmon, RUNTIME_ARGUMENT, serve_as_runtime};
pub(super) use pm2::Pm2;
pub(super) use supervisord::Supervisord;
pub(super) use tmux::Tmux;

/// How many are run at once, of everyone.
pub(super) const AT_ONCE: usize = 8;

/// Somebody who can run many short programs.
pub(super) trait Peer {
    /// What the tables call it.
    fn name(&self) -> String;

    /// How many to run in a turn: enough to last, few enough that it doesn't take minutes.
    fn batch(&self) -> usize;

    /// Runs so many, [`AT_ONCE`] at once, and sees them end. How long that took.
    fn run(&mut self, count: usize) -> Result<Duration>;
}

/// Starts a peer, or says why it can't be had.
pub(super) type Started<T> = Result<T, Skipped>;

/// Where peers are installed.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = own_folder()?.join("bench-peers").join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Whether a program can be run at all.
fn exists(program: &str, flag: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(flag).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Everyone who can be had beyond tmux, and the reasons of those who can't.
pub(super) fn others(
    guard: &mut Guard,
    scratch: &std::path::Path,
) -> (Vec<Box<dyn Peer>>, Vec<Skipped>) {
    let (mut peers, mut skipped): (Vec<Box<dyn Peer>>, _) = (Vec::new(), Vec::new());
    match Supervisord::start(guard, scratch, AT_ONCE) {
        Ok(peer) => peers.push(Box::new(peer)),
        Err(why) => skipped.push(format!("supervisord: {why}")),
    }
    match Pm2::start(guard, scratch) {
        Ok(peer) => peers.push(Box::new(peer)),
        Err(why) => skipped.push(format!("pm2: {why}")),
    }
    match Conmon::find(scratch) {
        Ok(peer) => peers.push(Box::new(peer)),
        Err(why) => skipped.push(format!("conmon: {why}")),
    }
    (peers, skipped)
}

/// Runs `work` so often, [`AT_ONCE`] at once; each thread has a state of its own.
pub(super) fn at_once<S>(
    count: usize,
    state: impl Fn() -> Result<S> + Sync,
    work: impl Fn(&mut S, usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut own = state().context("beginning")?;
                    loop {
                        let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if index >= count {
                            return Ok(());
                        }
                        work(&mut own, index)?;
                    }
                })
            })
            .collect();
        threads.into_iter().try_for_each(super::home::joined)
    })
}
