//! `kennel daemon logs`: the daemon's own log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, WatchFlags};

use crate::command_prelude::*;
use crate::print::bytes;

const LOG: &str = "daemon.log";

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
pub(crate) struct DaemonLogsArgs {
    /// Keep showing new lines
    #[arg(short, long)]
    follow: bool,
    /// Number of lines to show from the end
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    tail: usize,
}

/// Shows the log. No daemon is needed.
pub(crate) fn logs(home: &HomeDir, args: &DaemonLogsArgs) -> Result<u8, CommandError> {
    let folder = home.path("log");
    // The watch starts before the first read, so that no line is missed.
    let watch = if args.follow { Some(watch(&folder)?) } else { None };
    let path = folder.join(LOG);
    let file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            CommandError::refused("there is no log: no daemon has run for this home")
        }
        _ => CommandError::internal(anyhow::Error::from(error).context("can't read the log")),
    })?;
    let mut log = RotatedLog { path, file };
    bytes(last_lines(&log.rest().context("can't read the log")?, args.tail))?;
    let Some(watch) = watch else { return Ok(0) };
    loop {
        readable(&watch, None)?;
        let mut events = [0; 4096];
        // The events don't matter: the file is read again.
        rustix::io::read(&watch, &mut events).map_err(io::Error::from)?;
        bytes(&log.rest().context("can't read the log")?)?;
    }
}

fn watch(folder: &Path) -> Result<rustix::fd::OwnedFd, CommandError> {
    let started = || -> io::Result<_> {
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        let what = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
        inotify::add_watch(&watch, folder, what)?;
        Ok(watch)
    };
    started()
        .with_context(|| format!("can't watch {}", folder.display()))
        .map_err(CommandError::setup)
}

struct RotatedLog {
    path: PathBuf,
    file: File,
}

impl RotatedLog {
    /// Reads the rest of the current file, and then the new file after a rotation.
    fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            // A truncated file is read from its start.
            if self.file.stream_position()? > self.file.metadata()?.len() {
                self.file.seek(SeekFrom::Start(0))?;
            }
            self.file.read_to_end(&mut text)?;
            match File::open(&self.path) {
                Ok(file) if file.metadata()?.ino() != self.file.metadata()?.ino() => {
                    self.file = file
                }
                // There is no file at the moment: it is being rotated.
                Ok(_) | Err(_) => return Ok(text),
            }
        }
    }
}

fn last_lines(text: &[u8], lines: usize) -> &[u8] {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    if lines == 0 {
        return b"";
    }
    let breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match breaks.map(|(at, _)| at).nth(lines - 1) {
        Some(at) => &text[at + 1..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn finds_the_last_lines() {
        let text = b"a\nb\nc\n";
        for (lines, expected) in
            [(0, ""), (1, "c\n"), (2, "b\nc\n"), (3, "a\nb\nc\n"), (9, "a\nb\nc\n")]
        {
            assert_eq!(last_lines(text, lines), expected.as_bytes(), "{lines}");
        }
        assert_eq!(last_lines(b"a\nb", 1), b"b");
        assert_eq!(last_lines(b"", 1), b"");
    }

    #[test]
    fn follows_a_log_across_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG);
        fs::write(&path, "one\n").unwrap();
        let mut log = RotatedLog { file: File::open(&path).unwrap(), path: path.clone() };
        assert_eq!(log.rest().unwrap(), b"one\n");
        assert_eq!(log.rest().unwrap(), b"");
        fs::write(&path, "one\ntwo\n").unwrap();
        fs::rename(&path, folder.path().join("daemon.log.1")).unwrap();
        fs::write(&path, "three\n").unwrap();
        assert_eq!(log.rest().unwrap(), b"two\nthree\n");
        fs::write(&path, "").unwrap();
        fs::write(&path, "4\n").unwrap();
        assert_eq!(log.rest().unwrap(), b"4\n");
    }
}
