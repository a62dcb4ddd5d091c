//! Behaviours of one process that does nothing remarkable but live and end.

use std::thread;

use crate::args::Args;
use crate::failure::Outcome;
use crate::presence;

/// `sleep [SECS]`
pub(crate) fn sleep(mut args: Args) -> Outcome {
    let time = args.seconds_or_longest("SECS")?;
    args.finish()?;
    presence::enrol("agent")?;
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

/// `slow SECS`: an agent that takes long to come up.
pub(crate) fn slow(mut args: Args) -> Outcome {
    let time = args.seconds("SECS")?;
    args.finish()?;
    presence::enrol("agent")?;
    thread::sleep(time);
    presence::ready();
    Ok(0)
}

/// `die`: an agent that ends before it ever came up.
pub(crate) fn die(args: Args) -> Outcome {
    args.finish()?;
    Ok(1)
}
