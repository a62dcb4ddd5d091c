//! A chain of processes, each the child of the former and in a session of its own.
//!
//! The fake agent has such a chain too, but by forks alone: the kernel then links the memory of each
//! process to that of all its ancestors, so a thousand take fifteen seconds to make and more than one
//! to end, whoever ends them. Here each link is an exec anew, as it is in real trees.

use std::io::Write as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The hidden first argument of a link; the number of links below it follows.
pub(crate) const ARGUMENT: &str = "__chain";

/// No link lives longer, whoever forgets to end it.
const LONGEST: Duration = Duration::from_secs(300);

/// The life of a link. The last says `ready`; one that fails says so in its place.
pub(crate) fn link(words: &[String]) -> ExitCode {
    if let Err(error) = go_on(words) {
        eprintln!("kennel-bench: a link of the chain: {error:#}");
        say("failed").ok();
        return ExitCode::FAILURE;
    }
    std::thread::sleep(LONGEST);
    ExitCode::SUCCESS
}

fn go_on(words: &[String]) -> Result<()> {
    let below: usize = words.first().context("no number of links")?.parse()?;
    // The first is a session's leader already, and is refused.
    rustix::process::setsid().ok();
    if below == 0 {
        return say("ready\n");
    }
    // Never waited for: it is ended with all the others.
    Command::new(std::env::current_exe()?)
        .arg(ARGUMENT)
        .arg((below - 1).to_string())
        .spawn()
        .context("starting the next")?;
    Ok(())
}

fn say(word: &str) -> Result<()> {
    std::io::stdout().write_all(word.as_bytes())?;
    std::io::stdout().flush()?;
    Ok(())
}
