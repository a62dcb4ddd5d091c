//! Where the API is had over TCP, as files in the home tell it.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::private_file;

/// Where it is now; for programs.
const ADDRESS: &str = "api.addr";
/// Where somebody asked for it, beside the settings; for the next daemon, should this one be killed or replaced.
const ASKED: &str = "api.open";

/// The files of a home.
#[derive(Debug, Clone)]
pub(super) struct Addresses(PathBuf);

impl Addresses {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Where it was last, or is.
    pub(super) fn last(&self) -> Option<SocketAddr> {
        self.read(ADDRESS)
    }

    /// Where somebody asked for it.
    pub(super) fn asked(&self) -> Option<SocketAddr> {
        self.read(ASKED)
    }

    fn read(&self, name: &str) -> Option<SocketAddr> {
        let text = private_file::read(&self.0.join(name)).unwrap_or_else(|error| {
            tracing::warn!(%error, name, "a former address can't be read");
            None
        });
        text?.trim().parse().ok()
    }

    /// It is here now; `asked` if the settings do not say so.
    pub(super) fn note(&self, address: SocketAddr, asked: bool) -> io::Result<()> {
        let text = format!("{address}\n");
        match asked {
            true => private_file::write(&self.0.join(ASKED), &text)?,
            false => private_file::remove(&self.0.join(ASKED))?,
        }
        private_file::write(&self.0.join(ADDRESS), &text)
    }

    /// It is nowhere.
    pub(super) fn forget(&self) {
        for name in [ADDRESS, ASKED] {
            if let Err(error) = private_file::remove(&self.0.join(name)) {
                tracing::warn!(%error, name, "a former address stays");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_daemon_knows_where_it_was_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let addresses = Addresses::new(folder.path());
        assert_eq!((addresses.last(), addresses.asked()), (None, None));
        let here: SocketAddr = "127.0.0.1:7380".parse().unwrap();
        addresses.note(here, true).unwrap();
        assert_eq!((addresses.last(), addresses.asked()), (Some(here), Some(here)));
        addresses.note(here, false).unwrap();
        assert_eq!((addresses.last(), addresses.asked()), (Some(here), None));
        let text = std::fs::read_to_string(folder.path().join(ADDRESS)).unwrap();
        assert_eq!(text, "127.0.0.1:7380\n");
        addresses.forget();
        addresses.forget();
        assert_eq!((addresses.last(), addresses.asked()), (None, None));
    }
}
