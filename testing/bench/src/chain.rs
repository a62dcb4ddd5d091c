//! A chain of processes, each the child of the previous one and in its own session.
//!
//! The fake agent has such a chain too, but without exec: the kernel then links the memory of each
//! process to that of all its ancestors, so that a thousand take fifteen seconds to create and more
//! than one to end. Here each process execs, as in real trees.

use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The hidden first argument of a process in the chain; the number of processes below it follows.
pub(crate) const ARGUMENT: &str = "__chain";

/// The maximum lifetime of a process, in case it is never ended.
const LIFETIME: Duration = Duration::from_secs(300);

/// Runs a process of the chain. The last one prints `ready`, or an error if one fails.
pub(crate) fn link(words: &[String]) -> ExitCode {
    if let Err(error) = start_next(words) {
        eprintln!("kennel-bench: a link of the chain: {error:#}");
        print("failed").ok();
        return ExitCode::FAILURE;
    }
    std::thread::sleep(LIFETIME);
    ExitCode::SUCCESS
}

fn start_next(words: &[String]) -> Result<()> {
    let below: usize = words.first().context("no number of links")?.parse()?;
    // Fails in the first process, which leads a session already.
    rustix::process::setsid().ok();
    if below == 0 {
        return print("ready\n");
    }
    // This process does not wait for it: it is ended with all others.
    Command::new(std::env::current_exe()?)
        .arg(ARGUMENT)
        .arg((below - 1).to_string())
        .spawn()
        .context("starting the next")?;
    Ok(())
}

fn print(word: &str) -> Result<()> {
    std::io::stdout().write_all(word.as_bytes())?;
    std::io::stdout().flush()?;
    Ok(())
}
