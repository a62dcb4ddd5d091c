//! A pid namespace of its own: nobody else's numbers are there to be hit, and when we end, everything in it does.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};

use anyhow::Context;
use kennel_testing::is_root;
use rustix::process::{WaitOptions, wait};

/// The word by which the first process of the namespace knows that it is that.
pub(crate) const FIRST: &str = "__first";
/// The word by which the one that does the work knows that it is inside.
pub(crate) const INSIDE: &str = "__inside";

/// Becomes ourselves in a namespace, where that is possible: whoever kills us kills everything in it.
pub(crate) fn enter(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("our own path")?;
    let mut command = if is_root() {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(own).arg(FIRST);
        command
    } else {
        let mut command = Command::new(own);
        command.arg(INSIDE);
        command
    };
    Err(command.args(arguments).exec()).context("unshare is there")
}

/// The life of the first process in the namespace: whoever loses its parent falls to it, and is reaped.
pub(crate) fn be_first(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("our own path")?;
    let work: Child = Command::new(own).arg(INSIDE).args(arguments).spawn()?;
    loop {
        let ended = wait(WaitOptions::empty()).context("our child is not there")?;
        let Some((pid, status)) = ended else { continue };
        if i32::try_from(work.id()) == Ok(pid.as_raw_nonzero().get()) {
            return Ok(code(status.exit_status(), status.terminating_signal()));
        }
    }
}

fn code(code: Option<i32>, signal: Option<i32>) -> ExitCode {
    match (code, signal) {
        (Some(code), _) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        (None, Some(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        (None, None) => ExitCode::FAILURE,
    }
}
