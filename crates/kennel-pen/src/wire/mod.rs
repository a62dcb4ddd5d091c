//! How Kennel's own processes communicate: messages with descriptors over a local socket.
//!
//! The format is [postcard]. A receiver ignores bytes that follow what it knows, and a variant
//! always keeps its position: new variants are added at the end of an enum, never in between.

mod channel;

use std::fs::File;
use std::io::{self, Read, Seek};

use rustix::fd::OwnedFd;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use channel::{Channel, Delivery, QueuedChannel, Received};

/// Another process sent bytes that are not a message of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("received a malformed message from another Kennel process")]
pub struct MalformedMessage;

/// A message that Kennel's processes exchange.
pub trait WireMessage: Serialize + DeserializeOwned {
    /// Encodes the message. The result is never empty.
    fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a message has only values that can be serialized")
    }

    /// Decodes a message.
    fn decode(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        postcard::from_bytes(bytes).map_err(|_| MalformedMessage)
    }

    /// Reads the message in a memfd.
    fn from_memfd(memfd: OwnedFd) -> io::Result<Self> {
        let (mut file, mut bytes) = (File::from(memfd), Vec::new());
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Self::decode(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Sends a path with exactly its bytes: `#[serde(with = "os_path")]`.
pub mod os_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the bytes of the path.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    /// Reads the bytes of a path.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}

/// As [`os_path`], for an optional path.
pub mod optional_os_path {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the bytes of the path, if there is one.
    pub fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(std::path::Path::as_os_str).serialize(serializer)
    }

    /// Reads the bytes of a path, if there is one.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<OsString>::deserialize(deserializer)?.map(PathBuf::from))
    }
}
