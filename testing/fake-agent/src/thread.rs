//! A process whose first thread has ended: `/proc/PID/stat` shows a zombie, but the process lives.

use std::fs;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence;

/// `thread-leader-exit`
pub(crate) fn leader_exit(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    let other = thread::Builder::new().spawn(run_second_thread);
    other.or_fail(failure::SYSTEM, "starting a thread")?;
    kennel_sys::process::end_this_thread_only()
}

/// Runs the second thread.
fn run_second_thread() {
    match wait_until_leader_ended() {
        Ok(()) => presence::ready(),
        Err(failure) => process::exit(i32::from(failure.report())),
    }
    presence::rest()
}

/// Waits until the kernel shows the first thread as ended.
fn wait_until_leader_ended() -> Result<(), Failure> {
    let pid = process::id();
    let stat = format!("/proc/{pid}/task/{pid}/stat");
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let text = fs::read_to_string(&stat).or_fail(failure::SYSTEM, &stat)?;
        // The state follows the name, which is in parentheses and may hold any of them.
        if text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(Failure { code: failure::SYSTEM, message: "the first thread does not end".into() })
}
