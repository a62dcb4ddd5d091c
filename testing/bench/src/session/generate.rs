//! An agent that prints: so many bytes, so many at a time.

use std::os::unix::net::UnixDatagram;

use anyhow::{Context as _, Result};

/// The hidden argument of the role; bytes a write, bytes in all, and where to tell of the end follow.
pub(super) const ARGUMENT: &str = "__generate";

/// Prints lines of text. With a socket to tell of the end it stays until it is killed, so that its keeper can
/// be looked at; without one it ends.
pub(super) fn generate(words: &[String]) -> Result<()> {
    let [chunk, total, rest @ ..] = words else { anyhow::bail!("generate CHUNK TOTAL [SOCKET]") };
    let (chunk, mut left): (usize, u64) = (chunk.parse()?, total.parse()?);
    let text: Vec<u8> = (0..chunk).map(|at| if at % 80 == 79 { b'\n' } else { b'x' }).collect();
    // Not through a buffer: each write is one of the size that was asked for.
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(chunk);
        raw_write(&text[..part])?;
        left -= part as u64;
    }
    if let [socket] = rest {
        UnixDatagram::unbound()?.send_to(b"done", socket).context("nobody listens")?;
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
