//! The daemon's own log: JSON lines in a file that is rotated before it grows too large.
//!
//! No log line contains a token, an environment or an argv.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::os::if_exists;

/// The name of the newest file; older ones have `.1` (the youngest) to `.4` added.
pub const FILE_NAME: &str = "daemon.log";
const MAX_BYTES: u64 = 4 << 20;
const OLD_FILES: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub enum InitLogError {
    #[error("can't open the log {}: {source}; make the folder writable, or make room on its disk", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("this process already has a log")]
    Twice,
}

/// Sends all log lines of this process, from `info` on, to `daemon.log` in this folder, which is
/// created if necessary.
pub fn init(folder: &Path) -> Result<(), InitLogError> {
    let path = folder.join(FILE_NAME);
    let file = RotatingFile::open(folder, MAX_BYTES)
        .map_err(|source| InitLogError::Open { path, source })?;
    tracing_subscriber::registry()
        .with(LevelFilter::INFO)
        .with(lines(file))
        .try_init()
        .map_err(|_| InitLogError::Twice)
}

/// Writes one JSON object per line. A line that can't be written is dropped.
fn lines<S>(file: RotatingFile) -> impl tracing_subscriber::Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer().json().log_internal_errors(false).with_writer(Mutex::new(file))
}

/// A file that is rotated when the next line would not fit.
#[derive(Debug)]
struct RotatingFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    max_bytes: u64,
}

impl RotatingFile {
    fn open(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(FILE_NAME);
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes, max_bytes })
    }

    fn old(&self, age: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{age}"));
        name.into()
    }

    /// Renames every file to the next age; the oldest is overwritten.
    fn rotate(&mut self) -> io::Result<()> {
        // If it is missing, an earlier rotation got this far and could not create the new file.
        if self.path.try_exists()? {
            self.age()?;
        }
        self.file = append(&self.path)?;
        self.bytes = 0;
        Ok(())
    }

    fn age(&self) -> io::Result<()> {
        for age in (1..OLD_FILES).rev() {
            if_exists(fs::rename(self.old(age), self.old(age + 1)))?;
        }
        fs::rename(&self.path, self.old(1))
    }
}

impl Write for RotatingFile {
    /// The subscriber writes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.bytes > 0 && self.bytes + length > self.max_bytes {
            self.rotate()?;
        }
        let written = self.file.write(line)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const SMALL: u64 = 20;

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    /// Writes in one piece, as the subscriber does.
    fn put(file: &mut RotatingFile, line: &str) {
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    #[test]
    fn rotates_the_file_and_keeps_four_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::open(folder.path(), SMALL).unwrap();
        for number in 0..20 {
            put(&mut file, &format!("line {number:04}"));
        }
        assert_eq!(read(folder.path(), "daemon.log"), "line 0018\nline 0019\n");
        assert_eq!(read(folder.path(), "daemon.log.1"), "line 0016\nline 0017\n");
        assert_eq!(read(folder.path(), "daemon.log.4"), "line 0010\nline 0011\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_line_above_the_limit_gets_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RotatingFile::open(folder.path(), SMALL).unwrap();
        let long = "x".repeat(50);
        for line in ["a", &long, "b"] {
            put(&mut file, line);
        }
        assert_eq!(read(folder.path(), "daemon.log"), "b\n");
        assert_eq!(read(folder.path(), "daemon.log.1"), format!("{long}\n"));
    }

    #[test]
    fn the_next_daemon_appends_to_the_log() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3 {
            let mut file = RotatingFile::open(folder.path(), SMALL).unwrap();
            put(&mut file, &format!("line {number:04}"));
        }
        assert_eq!(read(folder.path(), "daemon.log"), "line 0002\n");
        assert_eq!(read(folder.path(), "daemon.log.1"), "line 0000\nline 0001\n");
    }

    #[test]
    fn only_the_owner_can_read_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a/log");
        drop(RotatingFile::open(&inside, SMALL).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&inside), 0o700);
        assert_eq!(mode(&inside.join(FILE_NAME)), 0o600);
    }

    #[test]
    fn log_lines_are_json_without_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let file = RotatingFile::open(folder.path(), MAX_BYTES);
        let lines = lines(file.unwrap());
        let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(lines);
        let token = kennel_types::LaunchToken::new(0xfeed_f00d);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(session = "abc", token = ?token, "two\nlines");
            tracing::debug!("too fine");
        });
        let text = read(folder.path(), FILE_NAME);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains(token.secret()), "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["fields"]["message"], "two\nlines");
        assert_eq!(line["fields"]["session"], "abc");
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn an_error_when_opening_the_log_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
        let error = init(folder.path()).unwrap_err().to_string();
        assert!(error.contains("daemon.log") && error.contains("make"), "{error}");
    }
}
