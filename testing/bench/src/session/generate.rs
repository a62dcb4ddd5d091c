//! An agent that prints a given number of bytes in chunks of a given size.

use std::os::unix::net::UnixDatagram;

use anyhow::{Context as _, Result};

/// The hidden argument of the role; the bytes of a write, the bytes in all, and a socket for the
/// end follow.
pub(super) const ARGUMENT: &str = "__generate";

/// Prints lines of text. With a socket, it reports the end there and then waits to be killed, so
/// that its keeper can be measured; without one it exits.
pub(super) fn generate(words: &[String]) -> Result<()> {
    let [chunk, total, rest @ ..] = words else { anyhow::bail!("generate CHUNK TOTAL [SOCKET]") };
    let (chunk, mut left): (usize, u64) = (chunk.parse()?, total.parse()?);
    let text: Vec<u8> = (0..chunk).map(|at| if at % 80 == 79 { b'\n' } else { b'x' }).collect();
    // Unbuffered: each write has the requested size.
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(chunk);
        raw_write(&text[..part])?;
        left -= part as u64;
    }
    if let [socket] = rest {
        UnixDatagram::unbound()?.send_to(b"done", socket).context("can't report the end")?;
        loop {
            std::thread::park();
        }
    }
    Ok(())
}

fn raw_write(mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(rustix::stdio::stdout(), bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}
