//! How Kennel's own processes talk to each other: messages with descriptors over a local socket.

mod channel;
mod message;

pub use channel::{Channel, Delivery, QueuedChannel, Received};
pub use message::{MalformedMessage, WireMessage, optional_os_path, os_path};
