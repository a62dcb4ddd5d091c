//! Descriptors that tokio watches.

use std::io;

use rustix::fd::{AsRawFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watches a value that owns its descriptor and keeps it open until it is dropped.
#[expect(
    deprecated,
    reason = "its successor is `unsafe`, so that callers must promise what is written above"
)]
pub(crate) fn watch<T: AsRawFd>(inner: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::new(inner)
}

/// Watches a descriptor that can only be read, such as a pidfd.
#[expect(deprecated, reason = "as above")]
pub(crate) fn watch_readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}
