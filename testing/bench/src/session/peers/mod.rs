//! Other process managers. Those that a system does not contain are installed only on request,
//! into a folder beside this program.

mod conmon;
mod pm2;
mod supervisord;
mod tmux;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::disk::SkipReason;
use super::guard::CleanupGuard;
use super::own_folder;

pub(super) use conmon::{Conmon, RUNTIME_ARGUMENT, serve_as_runtime};
pub(super) use pm2::Pm2;
pub(super) use supervisord::Supervisord;
pub(super) use tmux::Tmux;

/// How many programs each peer runs at once.
pub(super) const AT_ONCE: usize = 8;

/// A process manager that can run many short programs.
pub(super) trait Peer {
    /// Its name in the tables.
    fn name(&self) -> String;

    /// How many to run in a turn: enough for a measurement, few enough that it does not take
    /// minutes.
    fn batch(&self) -> usize;

    /// Runs this many, [`AT_ONCE`] at once, to their end. Returns how long that took.
    fn run(&mut self, count: usize) -> Result<Duration>;
}

/// Starts a peer, or returns why it is not available.
pub(super) type Started<T> = Result<T, SkipReason>;

/// Returns the folder in which peers are installed.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = own_folder()?.join("bench-peers").join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns whether a program runs at all.
fn exists(program: &str, flag: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(flag).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the available peers besides tmux, and why the others are not available.
pub(super) fn others(
    guard: &mut CleanupGuard,
    scratch: &std::path::Path,
) -> (Vec<Box<dyn Peer>>, Vec<SkipReason>) {
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

/// Runs `work` this many times, [`AT_ONCE`] at once; each thread has its own state.
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
                    let mut own = state().context("can't prepare a thread")?;
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
