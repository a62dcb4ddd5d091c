//! Builds the dashboard with npm, unless it is up to date.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bounded::{self, BoundedError};
use crate::inputs;

pub(crate) const MIN_NODE: u32 = 20;
/// The timeout for installing the packages, and for building the dashboard.
const LIMIT: Duration = Duration::from_secs(300);
/// The timeout for a program to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// The file in `dist` with the hash of the inputs. It is written last.
pub(crate) const STAMP: &str = ".made-from";
/// The file in `node_modules` with a copy of the installed lock file. It is written last.
pub(crate) const INSTALLED: &str = "node_modules/.installed-lock.json";
/// The lock that is held during the build. npm inherits it as standard input, so it is held until the last process ends.
const LOCK: &str = ".build-lock";
/// How many characters of a program's output an error quotes.
const MAX_QUOTE: usize = 800;

#[derive(Debug, thiserror::Error)]
pub(crate) enum NpmBuildError {
    #[error("the folder web did not exist during the build")]
    NoFolder,
    #[error("Node {MIN_NODE} or newer with npm is required: can't run {program}")]
    Missing {
        program: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("Node {MIN_NODE} or newer is required, found {0:?}")]
    OldNode(String),
    #[error("`{command}`: {why}{output}")]
    Npm { command: String, why: BoundedError, output: String },
    #[error("can't {action} the dashboard's files")]
    Files {
        action: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("`npm run build` created no index.html in web/dist")]
    NoPage,
}

#[derive(Debug)]
pub(crate) struct DashboardBuilder<'a> {
    web: &'a Path,
    /// The file for the output of npm, because cargo parses the output of the build script.
    log: PathBuf,
    pub(crate) limit: Duration,
    /// `PATH`, if it differs from the environment's.
    pub(crate) path: Option<OsString>,
}

/// The built dashboard. It does not change while this value exists.
#[derive(Debug)]
pub(crate) struct BuiltDashboard {
    pub(crate) dist: PathBuf,
    _lock: Option<File>,
}

impl<'a> DashboardBuilder<'a> {
    pub(crate) fn new(web: &'a Path, scratch: &Path) -> Self {
        Self { web, log: scratch.join("npm.log"), limit: LIMIT, path: None }
    }

    pub(crate) fn build(&self) -> Result<BuiltDashboard, NpmBuildError> {
        if !self.web.join("package.json").is_file() {
            return Err(NpmBuildError::NoFolder);
        }
        let lock = self.lock();
        let wanted = inputs::hash(self.web).map_err(cant("read"))?;
        let dist = self.web.join("dist");
        if !fs::read_to_string(dist.join(STAMP)).is_ok_and(|built| built == wanted) {
            // No other build can write to a read-only folder.
            let lock = lock.as_ref();
            let lock = lock.map_err(|error| io::Error::new(error.kind(), error.to_string()));
            self.run_npm(lock.map_err(cant("write"))?, &dist, &wanted)?;
        }
        Ok(BuiltDashboard { dist, _lock: lock.ok() })
    }

    fn lock(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let lock = options.write(true).read(true).create(true).truncate(false);
        let lock = lock.open(self.web.join(LOCK))?;
        // Another build is running. It may take as long as all its steps together.
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

    fn run_npm(&self, lock: &File, dist: &Path, hash: &str) -> Result<(), NpmBuildError> {
        self.check_node()?;
        let stamp = dist.join(STAMP);
        match fs::remove_file(&stamp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cant("remove")(error));
            }
            _ => {}
        }
        self.install(lock)?;
        self.npm(lock, &["run", "build"])?;
        if !dist.join("index.html").is_file() {
            return Err(NpmBuildError::NoPage);
        }
        fs::write(&stamp, hash).map_err(cant("write"))
    }

    /// Runs a program with its output in the log.
    fn run(
        &self,
        program: &'static str,
        arguments: &[&str],
        stdin: Stdio,
        limit: Duration,
    ) -> Result<(), NpmBuildError> {
        let log = File::create(&self.log).map_err(cant("write"))?;
        let mut command = Command::new(program);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        // This variable could keep npm from installing the build tools.
        command.env_remove("NODE_ENV").current_dir(self.web);
        command
            .args(arguments)
            .stdin(stdin)
            .stdout(log.try_clone().map_err(cant("write"))?)
            .stderr(log);
        bounded::run(&mut command, limit).map_err(|why| match why {
            BoundedError::Start(source) => NpmBuildError::Missing { program, source },
            why => {
                let command = format!("{program} {}", arguments.join(" "));
                NpmBuildError::Npm { command, why, output: self.last_output() }
            }
        })
    }

    fn check_node(&self) -> Result<(), NpmBuildError> {
        let version = self.version_of("node")?;
        if major(&version).is_none_or(|major| major < MIN_NODE) {
            return Err(NpmBuildError::OldNode(version));
        }
        self.version_of("npm").map(drop)
    }

    /// The program may be a shim of a version manager, which may download something first.
    fn version_of(&self, program: &'static str) -> Result<String, NpmBuildError> {
        self.run(program, &["--version"], Stdio::null(), self.limit.min(VERSION_LIMIT))?;
        let output = fs::read(&self.log).unwrap_or_default();
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Installs the packages in the lock file, unless they are installed.
    fn install(&self, lock: &File) -> Result<(), NpmBuildError> {
        let wanted = fs::read(self.web.join("package-lock.json")).map_err(cant("read"))?;
        let note = self.web.join(INSTALLED);
        if fs::read(&note).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        let flags = ["--include=dev", "--prefer-offline", "--ignore-scripts"];
        self.npm(lock, &[&["ci"], &flags[..], &["--no-audit", "--no-fund"]].concat())?;
        // Without packages npm creates no folder.
        fs::create_dir_all(self.web.join("node_modules")).map_err(cant("write"))?;
        fs::write(&note, wanted).map_err(cant("write"))
    }

    fn npm(&self, lock: &File, arguments: &[&str]) -> Result<(), NpmBuildError> {
        let lock = lock.try_clone().map_err(cant("write"))?;
        self.run("npm", arguments, Stdio::from(lock), self.limit)
    }

    fn last_output(&self) -> String {
        let output = fs::read(&self.log).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let skipped = output.chars().count().saturating_sub(MAX_QUOTE);
        match output.chars().skip(skipped).collect::<String>().trim() {
            "" => String::new(),
            last => format!("; its last output: {last}"),
        }
    }
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn cant(action: &'static str) -> impl Fn(io::Error) -> NpmBuildError {
    move |source| NpmBuildError::Files { action, source }
}
