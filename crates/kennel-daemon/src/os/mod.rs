//! What the daemon needs from the operating system: clocks, files, `/proc`, descriptors.

pub(crate) mod async_fd;
pub(crate) mod blocking;
pub mod clock;
pub(crate) mod headroom;
pub(crate) mod home;
pub(crate) mod peer;
pub(crate) mod proc;
