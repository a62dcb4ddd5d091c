//! Files in memory that a daemon stores in the yard for the next daemon.
//!
//! The yard does not read them: they contain environments.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;

use kennel_pen::wire::{Channel, Delivery, WireMessage};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::FdFlags;

use super::serve::log;
use crate::fault;
use crate::protocol::YardReport;

/// The maximum number of files. Each takes a descriptor.
const MAX_FILES: usize = 4096;
/// The maximum number of files in one answer, which must fit into the socket.
const MAX_PER_ANSWER: usize = 50;

/// The stored files by name.
#[derive(Debug, Default)]
pub(super) struct YardStore(BTreeMap<String, OwnedFd>);

impl YardStore {
    /// Stores a file. It replaces one of the same name.
    pub(super) fn keep(&mut self, name: String, descriptors: Vec<OwnedFd>) {
        if self.0.len() >= MAX_FILES && !self.0.contains_key(&name) {
            return log(&format!("can't store {name}: {MAX_FILES} files are already stored"));
        }
        match descriptors.into_iter().next() {
            Some(file) => drop(self.0.insert(name, file)),
            None => log(&format!("can't store {name}: its descriptor is missing")),
        }
        fault::point("yard.kept");
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Sends some files to the daemon, in the order of their names.
    pub(super) fn send(&self, daemon: &Channel, after: &str) {
        let send = |report: &YardReport, file: &[&OwnedFd]| {
            let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
            match daemon.send(&report.encode(), &files) {
                Ok(Delivery::Sent) => true,
                Ok(_) => false,
                Err(error) => {
                    log(&format!("can't send stored files to the daemon: {error}"));
                    false
                }
            }
        };
        let further = (Bound::Excluded(after), Bound::Unbounded);
        for (name, file) in self.0.range::<str, _>(further).take(MAX_PER_ANSWER) {
            if !send(&YardReport::Kept { name: name.clone() }, &[file]) {
                break;
            }
        }
        send(&YardReport::KeptAll, &[]);
    }

    /// Returns the state for the next program of this process, and lets it inherit the descriptors.
    pub(super) fn hand_on(&self) -> io::Result<String> {
        let mut text = Vec::new();
        for (name, file) in &self.0 {
            rustix::io::fcntl_setfd(file, FdFlags::empty())?;
            text.push(format!("{name}={}", file.as_raw_fd()));
        }
        Ok(text.join(" "))
    }

    /// Undoes [`Self::hand_on`]: processes that this program starts inherit nothing.
    pub(super) fn take_back(&self) -> io::Result<()> {
        for file in self.0.values() {
            rustix::io::fcntl_setfd(file, FdFlags::CLOEXEC)?;
        }
        Ok(())
    }

    /// Parses the state of the previous program.
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "invalid list of stored files");
        let mut store = Self::default();
        for part in text.split(' ').filter(|part| !part.is_empty()) {
            let (name, number) = part.rsplit_once('=').ok_or_else(wrong)?;
            let number = number.parse().map_err(|_| wrong())?;
            store.0.insert(name.to_owned(), kennel_sys::process::adopt_descriptor(number)?);
        }
        Ok(store)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::client::YardClient;

    #[test]
    fn a_stored_file_is_sent_until_it_is_removed() {
        let mut store = YardStore::default();
        for name in ["a", "b", "c"] {
            store.keep(name.to_owned(), vec![File::open("/dev/null").unwrap().into()]);
        }
        store.keep("d".to_owned(), Vec::new());
        store.forget("b");
        store.forget("unknown");
        let (ours, theirs) = Channel::pair().unwrap();
        store.send(&Channel::new(ours, 1 << 16), "");
        let daemon = YardClient::over(theirs);
        let mut received = Vec::new();
        while let Ok(Some((report, files))) = daemon.receive() {
            received.push((report, files.len()));
        }
        let one = |name: &str| (YardReport::Kept { name: name.to_owned() }, 1);
        assert_eq!(received, [one("a"), one("c"), (YardReport::KeptAll, 0)]);
    }

    #[test]
    fn an_invalid_list_of_a_former_program_is_refused() {
        assert!(YardStore::parse("").unwrap().0.is_empty());
        assert!(YardStore::parse("a").is_err());
        assert!(YardStore::parse("a=x").is_err());
    }
}
