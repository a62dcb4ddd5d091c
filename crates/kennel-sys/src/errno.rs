//! Sends an [`io::Error`] to another process as its errno: `#[serde(with = "kennel_sys::errno")]`.

use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the errno, or 0 for an error that did not come from the kernel.
pub fn serialize<S: Serializer>(error: &io::Error, serializer: S) -> Result<S::Ok, S::Error> {
    error.raw_os_error().unwrap_or(0).serialize(serializer)
}

/// Reads the errno.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<io::Error, D::Error> {
    i32::deserialize(deserializer).map(io::Error::from_raw_os_error)
}
