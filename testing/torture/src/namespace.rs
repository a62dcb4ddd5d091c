//! A separate pid namespace: processes outside can't be harmed, and everything inside ends with
//! this program.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode};

use anyhow::Context;
use kennel_testing::is_root;
use rustix::process::{WaitOptions, wait};

/// The argument of the first process in the namespace.
pub(crate) const FIRST: &str = "__first";
/// The argument of the process that runs the test in the namespace.
pub(crate) const INSIDE: &str = "__inside";

/// Runs this program again in a namespace, where that is possible. Killing it kills everything in
/// the namespace.
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
    Err(command.args(arguments).exec()).context("can't run unshare")
}

/// Runs as the first process in the namespace: reaps orphans until its own child ends.
pub(crate) fn be_first(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("our own path")?;
    let work: Child = Command::new(own).arg(INSIDE).args(arguments).spawn()?;
    loop {
        let ended = wait(WaitOptions::empty()).context("the child is gone")?;
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
