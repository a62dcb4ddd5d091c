//! Has npm make the page, unless it is there already.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bounded::{self, BoundedError};
use crate::inputs;

/// The oldest Node that will do.
pub(crate) const OLDEST_NODE: u32 = 20;
/// How long packages may take to come, and the page to be built.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(100);
/// In `dist`: the sum of what it was made from. Written last.
pub(crate) const STAMP: &str = ".made-from";
/// In `node_modules`: the lock file that they were installed by. Written last.
pub(crate) const INSTALLED: &str = "node_modules/.installed-lock.json";
/// Whoever makes the page holds it. npm has it as standard input, so that it counts as long as anybody is at work.
const LOCK: &str = ".build-lock";
/// How much is told of what a program said.
const LAST_WORDS: usize = 800;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MakeError {
    #[error("the folder web was not there when it was built")]
    NoFolder,
    #[error("Node {OLDEST_NODE} or newer, with npm, is needed: {program} can't be run")]
    Missing {
        program: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("Node {OLDEST_NODE} or newer is needed, and this is {0:?}")]
    OldNode(String),
    #[error("`{line}`: {why}{said}")]
    Npm { line: String, why: BoundedError, said: String },
    #[error("the files of the page can't be {what}")]
    Files {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("`npm run build` made no index.html in web/dist")]
    NoPage,
}

/// Makes it.
#[derive(Debug)]
pub(crate) struct Maker<'a> {
    web: &'a Path,
    /// Where what npm says goes: our own output is read by cargo.
    log: PathBuf,
    pub(crate) limit: Duration,
    /// Where programs are looked for, if elsewhere.
    pub(crate) path: Option<OsString>,
}

/// The page is there, and stays as it is while this is held.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) dist: PathBuf,
    _lock: Option<File>,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(web: &'a Path, scratch: &Path) -> Self {
        Self { web, log: scratch.join("npm.log"), limit: LIMIT, path: None }
    }

    /// The page, made from what is there now.
    pub(crate) fn page(&self) -> Result<Made, MakeError> {
        if !self.web.join("package.json").is_file() {
            return Err(MakeError::NoFolder);
        }
        let lock = self.lock();
        let wanted = inputs::sum(self.web);
        let wanted = wanted.map_err(|source| MakeError::Files { what: "read", source })?;
        let dist = self.web.join("dist");
        if !fs::read_to_string(dist.join(STAMP)).is_ok_and(|made| made == wanted) {
            // Where nothing can be written there is nobody else who writes.
            let lock = lock.as_ref().map_err(|error| MakeError::Files {
                what: "written",
                source: io::Error::new(error.kind(), error.to_string()),
            })?;
            self.make(lock, &dist, &wanted)?;
        }
        Ok(Made { dist, _lock: lock.ok() })
    }

    fn lock(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let lock = options.write(true).read(true).create(true).truncate(false);
        let lock = lock.open(self.web.join(LOCK))?;
        // Another build makes the page just now: it has as long as both its steps may take.
        let deadline = Instant::now() + self.limit * 3;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let why = format!("another build has held {LOCK} for too long");
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn make(&self, lock: &File, dist: &Path, sum: &str) -> Result<(), MakeError> {
        let cant = |what| move |source| MakeError::Files { what, source };
        self.check_node()?;
        let stamp = dist.join(STAMP);
        match fs::remove_file(&stamp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cant("removed")(error));
            }
            _ => {}
        }
        self.install(lock)?;
        self.npm(lock, &["run", "build"])?;
        if !dist.join("index.html").is_file() {
            return Err(MakeError::NoPage);
        }
        fs::write(&stamp, sum).map_err(cant("written"))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        // It would keep npm from installing what builds the page.
        command.env_remove("NODE_ENV").current_dir(self.web);
        command
    }

    fn check_node(&self) -> Result<(), MakeError> {
        let version = self.version_of("node")?;
        if major(&version).is_none_or(|major| major < OLDEST_NODE) {
            return Err(MakeError::OldNode(version));
        }
        self.version_of("npm").map(drop)
    }

    /// What may be a shim of some manager of versions, which downloads whatever it likes.
    fn version_of(&self, program: &'static str) -> Result<String, MakeError> {
        let cant = |source| MakeError::Files { what: "written", source };
        let log = File::create(&self.log).map_err(cant)?;
        let mut command = self.command(program);
        command.arg("--version").stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(cant)?).stderr(log);
        match bounded::run(&mut command, self.limit.min(VERSION_LIMIT)) {
            Ok(()) => {}
            Err(BoundedError::Start(source)) => return Err(MakeError::Missing { program, source }),
            Err(why) => {
                let (line, said) = (format!("{program} --version"), self.last_words());
                return Err(MakeError::Npm { line, why, said });
            }
        }
        let said = fs::read(&self.log).unwrap_or_default();
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// The packages that the lock file names, unless they are there.
    fn install(&self, lock: &File) -> Result<(), MakeError> {
        let cant = |what| move |source| MakeError::Files { what, source };
        let wanted = fs::read(self.web.join("package-lock.json")).map_err(cant("read"))?;
        let note = self.web.join(INSTALLED);
        if fs::read(&note).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        let how = ["--include=dev", "--prefer-offline", "--ignore-scripts"];
        self.npm(lock, &[&["ci"], &how[..], &["--no-audit", "--no-fund"]].concat())?;
        // One that installs nothing makes no folder.
        fs::create_dir_all(self.web.join("node_modules")).map_err(cant("written"))?;
        fs::write(&note, wanted).map_err(cant("written"))
    }

    fn npm(&self, lock: &File, arguments: &[&str]) -> Result<(), MakeError> {
        let cant = |source| MakeError::Files { what: "written", source };
        let log = File::create(&self.log).map_err(cant)?;
        let mut command = self.command("npm");
        command.args(arguments).stdin(Stdio::from(lock.try_clone().map_err(cant)?));
        command.stdout(log.try_clone().map_err(cant)?).stderr(log);
        bounded::run(&mut command, self.limit).map_err(|why| MakeError::Npm {
            line: format!("npm {}", arguments.join(" ")),
            why,
            said: self.last_words(),
        })
    }

    fn last_words(&self) -> String {
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let skipped = said.chars().count().saturating_sub(LAST_WORDS);
        match said.chars().skip(skipped).collect::<String>().trim() {
            "" => String::new(),
            last => format!("; it said at last: {last}"),
        }
    }
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}
