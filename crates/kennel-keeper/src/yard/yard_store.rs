//! What a daemon leaves with the yard for the next one: files in memory, by name.
//!
//! The yard does not look into them: there are environments in there.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;

use kennel_pen::wire::{Channel, Delivery, WireMessage};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::FdFlags;

use super::serve::complain;
use crate::fault;
use crate::protocol::YardReport;

/// The most that is kept: each is a descriptor.
const MOST: usize = 4096;
/// How many are told at once: a socket has room for so many.
const AT_ONCE: usize = 50;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct YardStore(BTreeMap<String, OwnedFd>);

impl YardStore {
    /// Keeps something, instead of what was kept under this name.
    pub(super) fn keep(&mut self, name: String, descriptors: Vec<OwnedFd>) {
        if self.0.len() >= MOST && !self.0.contains_key(&name) {
            return complain(&format!("{name} is not kept: {MOST} others are"));
        }
        match descriptors.into_iter().next() {
            Some(file) => drop(self.0.insert(name, file)),
            None => complain(&format!("{name} came without its descriptor, and is not kept")),
        }
        fault::point("yard.kept");
    }

    /// It is not needed any more.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Tells a daemon of some, in the order of their names.
    pub(super) fn tell(&self, daemon: &Channel, after: &str) {
        let send = |report: &YardReport, file: &[&OwnedFd]| {
            let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
            match daemon.send(&report.encode(), &files) {
                Ok(Delivery::Sent) => true,
                Ok(_) => false,
                Err(error) => {
                    complain(&format!("the daemon can't be told what is kept: {error}"));
                    false
                }
            }
        };
        let further = (Bound::Excluded(after), Bound::Unbounded);
        for (name, file) in self.0.range::<str, _>(further).take(AT_ONCE) {
            if !send(&YardReport::Kept { name: name.clone() }, &[file]) {
                break;
            }
        }
        send(&YardReport::KeptAll, &[]);
    }

    /// As text for the next program of this process, which gets the descriptors too.
    pub(super) fn hand_on(&self) -> io::Result<String> {
        let mut text = Vec::new();
        for (name, file) in &self.0 {
            rustix::io::fcntl_setfd(file, FdFlags::empty())?;
            text.push(format!("{name}={}", file.as_raw_fd()));
        }
        Ok(text.join(" "))
    }

    /// There is no next program: nothing may leak into what this one starts.
    pub(super) fn take_back(&self) -> io::Result<()> {
        for file in self.0.values() {
            rustix::io::fcntl_setfd(file, FdFlags::CLOEXEC)?;
        }
        Ok(())
    }

    /// From the text of the former program.
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not what a former yard keeps");
        let mut kept = Self::default();
        for part in text.split(' ').filter(|part| !part.is_empty()) {
            let (name, number) = part.rsplit_once('=').ok_or_else(wrong)?;
            let number = number.parse().map_err(|_| wrong())?;
            kept.0.insert(name.to_owned(), kennel_sys::descriptor::adopt(number)?);
        }
        kept.take_back()?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::client::YardClient;

    #[test]
    fn what_is_kept_is_told_until_it_is_forgotten() {
        let mut kept = YardStore::default();
        for name in ["a", "b", "c"] {
            kept.keep(name.to_owned(), vec![File::open("/dev/null").unwrap().into()]);
        }
        kept.keep("d".to_owned(), Vec::new());
        kept.forget("b");
        kept.forget("nobody");
        let (ours, theirs) = Channel::pair().unwrap();
        kept.tell(&Channel::new(ours, 1 << 16), "");
        let daemon = YardClient::over(theirs);
        let mut told = Vec::new();
        while let Ok(Some((report, files))) = daemon.receive_with_descriptors() {
            told.push((report, files.len()));
        }
        let one = |name: &str| (YardReport::Kept { name: name.to_owned() }, 1);
        assert_eq!(told, [one("a"), one("c"), (YardReport::KeptAll, 0)]);
    }

    #[test]
    fn nonsense_of_a_former_program_is_refused() {
        assert!(YardStore::parse("").unwrap().0.is_empty());
        assert!(YardStore::parse("a").is_err());
        assert!(YardStore::parse("a=x").is_err());
    }
}
