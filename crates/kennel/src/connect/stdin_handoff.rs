//! Hands our standard input over to the daemon before a session is requested.
//!
//! HTTP can't carry descriptors. Therefore the client first sends the descriptor over a separate
//! socket, with a random ticket that the request then names.

use std::io;

use anyhow::bail;
use kennel_client::socket;
use kennel_pen::wire::{Channel, Delivery, Received};
use rustix::event::Timespec;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::command_prelude::*;

const SOCKET: &str = "deposit.sock";
const TIMEOUT: Duration = Duration::from_secs(10);
const TAKEN: &[u8] = b"1";

/// Hands over our standard input and returns the ticket.
pub(crate) fn hand_over_stdin(home: &HomeDir) -> anyhow::Result<String> {
    let ticket = ticket()?;
    let socket = socket::messages(&home.folder, SOCKET)
        .context("can't reach the daemon's socket for standard input")?;
    let channel = Channel::new(socket, 64);
    match channel.send(ticket.as_bytes(), &[rustix::stdio::stdin()])? {
        Delivery::Sent => {}
        Delivery::Full | Delivery::Closed => bail!("the daemon did not accept our standard input"),
    }
    let limit = Timespec { tv_sec: TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
    let mut fds = [PollFd::new(&channel, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = rustix::event::poll(&mut fds, Some(&limit)) {}
    match channel.receive()? {
        Received::Message(answer, _) if answer == TAKEN => Ok(ticket),
        _ => bail!("the daemon did not accept our standard input"),
    }
}

fn ticket() -> io::Result<String> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
