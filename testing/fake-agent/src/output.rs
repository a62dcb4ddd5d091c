//! Behaviours that write to standard output.

use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, Then};

/// How much `flood` writes at once: as much as a pipe holds.
const BLOCK: usize = 64 * 1024;

/// The default length of a line of `flood`.
const DEFAULT_LINE: usize = 64;

/// How long `marker` waits between the halves, so that a fast reader gets two pieces.
const BETWEEN_HALVES: Duration = Duration::from_millis(50);

/// Writes to standard output and flushes, so that a fork copies no buffered output.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .or_fail(failure::OUTPUT, "writing to stdout")
}

/// `flood BYTES [LINE]`: more output than fits into memory, with predictable contents.
///
/// With LINE, each line is one write. Otherwise each write is as large as a pipe.
pub(crate) fn flood(mut args: Args) -> Outcome {
    let bytes: u64 = args.number("BYTES")?;
    let line: Option<usize> = match args.optional() {
        Some(text) => Some(line_length(&args, &text)?),
        None => None,
    };
    args.finish()?;
    presence::record_pid("agent")?;
    presence::limit_life()?;
    let mut lines = Lines::new(line.unwrap_or(DEFAULT_LINE));
    let at_once = line.map_or(BLOCK / DEFAULT_LINE, |_| 1);
    let mut left = bytes;
    while left > 0 {
        let block = lines.next_block(at_once);
        let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        write_directly(&block[..length])?;
        left -= length as u64;
    }
    Ok(0)
}

/// LINE of `flood`.
fn line_length(args: &Args, text: &std::ffi::OsStr) -> Result<usize, Failure> {
    let length = text.to_str().and_then(|text| text.parse().ok());
    match length {
        Some(length @ 1..=BLOCK) => Ok(length),
        _ => Err(args.wrong(format_args!("LINE {text:?} is not between 1 and {BLOCK}"))),
    }
}

/// Writes past the line buffer of std, which would cut the writes at the last line end.
fn write_directly(mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::new(failure::OUTPUT, "writing to stdout", error)),
        }
    }
    Ok(())
}

/// The lines of `flood`: line i is the number i with leading zeros, and a newline. If i has more
/// digits than fit, the last ones remain.
struct Lines {
    /// The digits of the next line and the newline.
    next: Vec<u8>,
    block: Vec<u8>,
}

impl Lines {
    /// Lines of `length` bytes, of which one is the newline.
    fn new(length: usize) -> Self {
        let mut next = vec![b'0'; length - 1];
        next.push(b'\n');
        Self { next, block: Vec::new() }
    }

    /// The next `count` lines.
    fn next_block(&mut self, count: usize) -> &[u8] {
        self.block.clear();
        for _ in 0..count {
            self.block.extend_from_slice(&self.next);
            self.count_up();
        }
        &self.block
    }

    /// Adds one to the digits in place, which is much faster than formatting each number.
    fn count_up(&mut self) {
        for digit in self.next.iter_mut().rev().skip(1) {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
    }
}

/// `lines COUNT PAUSE_MS CODE`: numbered output, so that a lost part is detected, then an exit
/// code.
pub(crate) fn lines(mut args: Args) -> Outcome {
    let count: u32 = args.number("COUNT")?;
    let pause = Duration::from_millis(args.number("PAUSE_MS")?);
    let code = args.number("CODE")?;
    args.finish()?;
    presence::record_pid("agent")?;
    let deadline = Instant::now() + presence::MAX_LIFETIME;
    presence::ready();
    for number in 0..count {
        if Instant::now() > deadline {
            return Ok(failure::TIME);
        }
        print(format!("line {number}\n").as_bytes())?;
        thread::sleep(pause);
    }
    Ok(code)
}

/// `marker TEXT`: output in two pieces that looks like a message of the supervisor.
///
/// TEXT is printed as it is; a newline follows only if it has none, so that `ready` stands alone.
pub(crate) fn marker(mut args: Args) -> Outcome {
    let text = args.text("TEXT")?;
    args.finish()?;
    presence::record_pid("agent")?;
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    write_directly(first)?;
    thread::sleep(BETWEEN_HALVES);
    write_directly(second)?;
    if !text.as_bytes().ends_with(b"\n") {
        write_directly(b"\n")?;
    }
    Then::Rest.go()
}

/// `echo`
pub(crate) fn echo(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    presence::limit_life()?;
    let mut stdin = io::stdin().lock();
    let mut block = vec![0; BLOCK];
    loop {
        match stdin.read(&mut block) {
            Ok(0) => return Ok(0),
            Ok(length) => write_directly(&block[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::new(failure::INPUT, "reading stdin", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered() {
        let mut lines = Lines::new(4);
        assert_eq!(lines.next_block(2), b"000\n001\n");
        for _ in 2..9 {
            lines.next_block(1);
        }
        assert_eq!(lines.next_block(2), b"009\n010\n");
    }

    #[test]
    fn numbers_that_do_not_fit_restart_at_zero() {
        let mut lines = Lines::new(2);
        lines.next_block(9);
        assert_eq!(lines.next_block(2), b"9\n0\n");
        assert_eq!(Lines::new(1).next_block(2), b"\n\n");
    }
}
