//! The signals that mean something to one who is in the foreground, read one by one.

use std::io;

use kennel_sys::signals::{SignalFd, is_ignored};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::Signal;

/// Those by which somebody wants us to end.
const STOPS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Blocked from now on, and read from a descriptor.
#[derive(Debug)]
pub(crate) struct Signals(SignalFd);

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalEvent {
    /// To end. The number tells by which signal.
    End(i32),
    /// To stand still.
    Suspend,
    /// That the terminal has another size.
    Resized,
}

impl Signals {
    /// Listens. One that we were started to ignore (`nohup`) stays ignored. To be called before any thread
    /// is started.
    pub(crate) fn listen() -> io::Result<Self> {
        let heard = STOPS
            .into_iter()
            .map(Signal::as_raw)
            .filter(|signal| !is_ignored(*signal))
            .chain([Signal::WINCH.as_raw(), Signal::TSTP.as_raw()])
            .collect::<Vec<_>>();
        SignalFd::new(&heard).map(Self)
    }

    /// The next one that has come.
    pub(crate) fn next(&self) -> io::Result<Option<SignalEvent>> {
        Ok(self.0.next()?.map(|signal| match Signal::from_named_raw(signal) {
            Some(Signal::WINCH) => SignalEvent::Resized,
            Some(Signal::TSTP) => SignalEvent::Suspend,
            _ => SignalEvent::End(signal),
        }))
    }

    /// The next by which somebody wants us to end; others mean nothing now.
    pub(crate) fn next_end(&self) -> io::Result<Option<i32>> {
        while let Some(told) = self.next()? {
            match told {
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
