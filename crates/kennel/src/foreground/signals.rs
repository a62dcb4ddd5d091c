//! The signals that matter in the foreground, read one by one.

use std::io;

use kennel_sys::signals::{SignalFd, is_ignored};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::Signal;

/// The signals that ask us to end.
const STOPS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Blocks the signals and reads them from a descriptor.
#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalEvent {
    /// End; this is the signal's number.
    End(i32),
    Suspend,
    Resized,
}

impl Signals {
    /// Receives signals, except ignored ones (`nohup`). Must be called before any thread starts.
    pub(crate) fn listen() -> io::Result<Self> {
        let received = STOPS
            .into_iter()
            .map(Signal::as_raw)
            .filter(|signal| !is_ignored(*signal))
            .chain([Signal::WINCH.as_raw(), Signal::TSTP.as_raw()])
            .collect::<Vec<_>>();
        SignalFd::new(&received).map(Self)
    }

    pub(crate) fn next(&self) -> io::Result<Option<SignalEvent>> {
        Ok(self.0.next()?.map(|signal| match Signal::from_named_raw(signal) {
            Some(Signal::WINCH) => SignalEvent::Resized,
            Some(Signal::TSTP) => SignalEvent::Suspend,
            _ => SignalEvent::End(signal),
        }))
    }

    /// Returns the next signal that asks us to end, and handles the others.
    pub(crate) fn next_end(&self) -> io::Result<Option<i32>> {
        while let Some(event) = self.next()? {
            match event {
                SignalEvent::End(signal) => return Ok(Some(signal)),
                SignalEvent::Suspend => kennel_sys::signals::take_default(Signal::TSTP.as_raw()),
                SignalEvent::Resized => {}
            }
        }
        Ok(None)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
