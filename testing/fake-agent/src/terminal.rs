//! Behaviours that need a terminal on standard input.

use std::io::{self, BufRead as _};
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::output;
use crate::presence::{self, MAX_LIFETIME};

/// How often `winsize` checks the size. It polls instead of waiting for WINCH, because a lost
/// signal would make a test hang.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// `winsize [COUNT]`
pub(crate) fn winsize(mut args: Args) -> Outcome {
    let count: u32 = args.number_or("COUNT", 1)?;
    args.finish()?;
    presence::record_pid("agent")?;
    let deadline = Instant::now() + MAX_LIFETIME;
    let mut size = terminal_size()?;
    print_size(size)?;
    let mut changes = 0;
    while changes < count {
        if Instant::now() > deadline {
            return Ok(failure::TIME);
        }
        thread::sleep(LOOK_EVERY);
        let now = terminal_size()?;
        if now != size {
            size = now;
            print_size(size)?;
            changes += 1;
        }
    }
    Ok(0)
}

/// Rows and columns of the terminal on standard input.
fn terminal_size() -> Result<(u16, u16), Failure> {
    let size = tcgetwinsize(rustix::stdio::stdin());
    let size = size.or_fail(failure::INPUT, "reading the size of stdin")?;
    Ok((size.ws_row, size.ws_col))
}

fn print_size((rows, columns): (u16, u16)) -> Result<(), Failure> {
    output::print(format!("{rows}x{columns}\n").as_bytes())
}

/// `cat-tty-line`
pub(crate) fn cat_line(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    presence::limit_life()?;
    let mut line = b"got:".to_vec();
    let read = io::stdin().lock().read_until(b'\n', &mut line);
    read.or_fail(failure::INPUT, "reading stdin")?;
    if line.last() != Some(&b'\n') {
        line.push(b'\n');
    }
    output::print(&line)?;
    Ok(0)
}
