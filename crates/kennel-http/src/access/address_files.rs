//! Files in the home with the address of the TCP listener.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::private_file;

/// The current address, for programs.
const CURRENT: &str = "api.addr";
/// The address that a command requested, which is not in the settings. The next daemon takes it over.
const REQUESTED: &str = "api.open";

#[derive(Debug, Clone)]
pub(super) struct AddressFiles(PathBuf);

impl AddressFiles {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Returns the current address, or the previous one.
    pub(super) fn last(&self) -> Option<SocketAddr> {
        self.read(CURRENT)
    }

    pub(super) fn requested(&self) -> Option<SocketAddr> {
        self.read(REQUESTED)
    }

    fn read(&self, name: &str) -> Option<SocketAddr> {
        let text = private_file::read(&self.0.join(name)).unwrap_or_else(|error| {
            tracing::warn!(%error, name, "can't read the previous address");
            None
        });
        text?.trim().parse().ok()
    }

    /// Writes the current address. `by_command`: a command requested it, and the settings do not name it.
    pub(super) fn write(&self, address: SocketAddr, by_command: bool) -> io::Result<()> {
        let text = format!("{address}\n");
        match by_command {
            true => private_file::write(&self.0.join(REQUESTED), &text)?,
            false => private_file::remove(&self.0.join(REQUESTED))?,
        }
        private_file::write(&self.0.join(CURRENT), &text)
    }

    pub(super) fn remove(&self) {
        for name in [CURRENT, REQUESTED] {
            if let Err(error) = private_file::remove(&self.0.join(name)) {
                tracing::warn!(%error, name, "can't remove the previous address");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_daemon_reads_the_address_and_whether_a_command_requested_it() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = AddressFiles::new(folder.path());
        assert_eq!((addresses.last(), addresses.requested()), (None, None));
        let here: SocketAddr = "127.0.0.1:7380".parse().unwrap();
        addresses.write(here, true).unwrap();
        assert_eq!((addresses.last(), addresses.requested()), (Some(here), Some(here)));
        addresses.write(here, false).unwrap();
        assert_eq!((addresses.last(), addresses.requested()), (Some(here), None));
        let text = std::fs::read_to_string(folder.path().join(CURRENT)).unwrap();
        assert_eq!(text, "127.0.0.1:7380\n");
        addresses.remove();
        addresses.remove();
        assert_eq!((addresses.last(), addresses.requested()), (None, None));
    }
}
