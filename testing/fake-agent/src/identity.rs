//! Behaviours of a copy of this program with the set-uid bit: a process that the user who started
//! it may not send signals to.

use rustix::process::{geteuid, getuid};
use rustix::thread::set_thread_res_uid;

use crate::args::Args;
use crate::failure::{self, OrFail as _, Outcome};
use crate::output;
use crate::presence::{self, Then};

/// `uid`: the real and the effective user id, in this order.
pub(crate) fn uid(args: Args) -> Outcome {
    args.finish()?;
    let line = format!("{} {}\n", getuid().as_raw(), geteuid().as_raw());
    output::print(line.as_bytes())?;
    Ok(0)
}

/// `setuid-sleep`: the effective user becomes the real and the saved one too.
///
/// A user may send a signal where the real or the saved id of the target is the user's own, so the
/// set-uid bit alone doesn't block signals: the real id has to change as well. The call changes
/// one thread, and there is only one.
pub(crate) fn setuid_sleep(args: Args) -> Outcome {
    args.finish()?;
    let user = geteuid();
    set_thread_res_uid(user, user, user).or_fail(failure::SYSTEM, "setresuid")?;
    presence::record_pid("agent")?;
    Then::Rest.go()
}
