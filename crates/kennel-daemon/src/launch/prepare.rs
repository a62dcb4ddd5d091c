//! Preparing a launch: the folder, the token, the lock, and the order for the keeper.

use std::fs::{DirBuilder, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kennel_keeper::fault::point;
use kennel_keeper::protocol::{LaunchOrder, YardRequest};
use kennel_pen::wire::WireMessage;
use kennel_sys::identity::ProcessIdentity;
use rustix::fd::OwnedFd;
use rustix::fs::MemfdFlags;

use crate::keeper::lock;
use crate::keeper::yard::YardOrder;
use crate::os::home::TOKEN_FILE;

/// How many descriptors come before the keeper's end of the socket: the order and the lock.
pub(crate) const BEFORE_SOCKET: usize = 2;

#[derive(Debug)]
pub(crate) struct Preparation {
    /// The key of the fork request.
    pub(crate) key: u64,
    pub(crate) folder: PathBuf,
    pub(crate) order: LaunchOrder,
    /// The keeper's end of the socket to the daemon; none for a spare keeper, which has it already.
    pub(crate) socket: Option<OwnedFd>,
    pub(crate) stdin: Option<OwnedFd>,
    /// The yard that will be asked.
    pub(crate) yard: ProcessIdentity,
}

#[derive(Debug)]
pub(crate) enum Prepared {
    /// The request to the yard for a new keeper.
    New(YardOrder),
    /// The descriptors for a spare keeper.
    Spare(Vec<OwnedFd>),
}

impl Preparation {
    /// Creates the folder and the lock, and returns what is sent. Blocks on the disk.
    pub(crate) fn prepare(mut self) -> io::Result<Prepared> {
        if let Some(prompt) = self.order.prompt.take() {
            self.stdin = Some(in_memory(&prompt)?);
        }
        let at = |what: &'static str| {
            let folder = self.folder.display().to_string();
            move |error: io::Error| {
                io::Error::new(error.kind(), format!("{what} {folder}: {error}"))
            }
        };
        point("daemon.launch.begun");
        make_folder(&self.folder).map_err(at("can't make"))?;
        point("daemon.launch.folder_made");
        write_token(&self.folder, &self.order.token).map_err(at("can't write the token in"))?;
        point("daemon.launch.token_written");
        let lock = lock::make(&self.folder, &self.yard).map_err(at("can't lock"))?;
        point("daemon.launch.locked");
        let order = in_memory(&self.order.encode())?;
        let is_new = self.socket.is_some();
        let mut descriptors = vec![order, lock.into()];
        descriptors.extend(self.socket.into_iter().chain(self.stdin));
        Ok(if is_new {
            Prepared::New(YardOrder { request: YardRequest::Fork { key: self.key }, descriptors })
        } else {
            Prepared::Spare(descriptors)
        })
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match builder.create(folder) {
        // The first session of a home, or the folder of all sessions was removed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(above) = folder.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(above)?;
            }
            builder.create(folder)
        }
        made => made,
    }
}

/// Writes the token so that only the owner can read it from the first moment on.
fn write_token(folder: &Path, token: &str) -> io::Result<()> {
    let mut options = File::options();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(folder.join(TOKEN_FILE))?;
    file.write_all(token.as_bytes())
}

/// Returns a file in memory: the environment in it must not be written to disk.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create("kennel-order", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    use kennel_pen::wire::Channel;
    use rustix::fd::AsFd;

    use super::*;
    use crate::launch::request::{LaunchRequest, tests::request};

    #[test]
    fn the_request_to_the_yard_is_complete_and_has_the_lock() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sessions/abc");
        let pid = rustix::process::getpid().as_raw_pid();
        let own = kennel_sys::pidfd::open(pid).unwrap().unwrap();
        let name = kennel_pen::PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let launch = LaunchRequest::new(request(&["true"]), None).unwrap();
        let token = kennel_types::LaunchToken::new(1);
        let (order, stdin) = launch.order(name, &token, home.path(), folder.clone());
        let preparation = || Preparation {
            key: 7,
            folder: folder.clone(),
            order: order.clone(),
            socket: Some(Channel::pair().unwrap().0),
            stdin: None,
            yard: ProcessIdentity::new(own.as_fd(), pid).unwrap(),
        };
        assert!(stdin.is_none());
        let Prepared::New(asked) = preparation().prepare().unwrap() else {
            panic!("expected a request to the yard")
        };
        assert_eq!(asked.request, YardRequest::Fork { key: 7 });
        let mut bytes = Vec::new();
        File::from(asked.descriptors[0].try_clone().unwrap()).read_to_end(&mut bytes).unwrap();
        assert_eq!(LaunchOrder::decode(&bytes), Ok(order.clone()));
        assert!(lock::is_held(&folder).unwrap());
        let secret = std::fs::read_to_string(folder.join(TOKEN_FILE)).unwrap();
        assert_eq!(secret, token.secret());
        let mode = std::fs::metadata(folder.join(TOKEN_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(preparation().prepare().is_err(), "a launch is prepared once");
        drop(asked);
        assert!(!lock::is_held(&folder).unwrap());
    }
}
