//! How processes of Kennel speak to each other: messages over a local socket, with descriptors.

mod bytes;
mod channel;
mod values;

pub use bytes::{Garbled, Reader, Writer};
pub use channel::{Channel, Delivery, Received};
pub use values::{
    read_identity, read_member, read_status, read_survivor, read_usage, write_identity,
    write_member, write_status, write_survivor, write_usage,
};
