//! Behaviours of a single process that only runs and ends.

use std::thread;

use crate::args::Args;
use crate::failure::Outcome;
use crate::presence;

/// `sleep [SECS]`
pub(crate) fn sleep(mut args: Args) -> Outcome {
    let time = args.seconds_or_max("SECS")?;
    args.finish()?;
    presence::record_pid("agent")?;
    presence::ready();
    thread::sleep(time);
    Ok(0)
}

/// `exit CODE`
pub(crate) fn exit(mut args: Args) -> Outcome {
    let code = args.number("CODE")?;
    args.finish()?;
    Ok(code)
}

/// `slow SECS`: an agent that takes long to start.
pub(crate) fn slow(mut args: Args) -> Outcome {
    let time = args.seconds("SECS")?;
    args.finish()?;
    presence::record_pid("agent")?;
    thread::sleep(time);
    presence::ready();
    Ok(0)
}

/// `die`: an agent that fails before it is ready.
pub(crate) fn die(args: Args) -> Outcome {
    args.finish()?;
    Ok(1)
}
