//! Calling git: which program, with which environment and settings, within which bounds.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, Bounds, RunError, Said};

/// Of git's own variables these are passed on. All others could lead it to another repository, index or set of
/// objects (`git rev-parse --local-env-vars`), make it ask a person, or have it write traces.
const KEPT: &[&str] = &[
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
];

/// For every call: nothing in the background that outlives it, no monitor whose word is believed.
const SETTINGS: &[&str] = &[
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "core.warnAmbiguousRefs=false",
    "log.showSignature=false",
    "advice.detachedHead=false",
];

/// What is kept of a stream unless more is asked for.
const MOST_OUTPUT: usize = 1024 * 1024;
/// Of what git complains about, this much is passed on.
const MOST_SAID: usize = 2000;

/// The oldest git that does what is needed: `worktree add --lock --reason`.
pub(crate) const OLDEST: (u32, u32) = (2, 33);

/// How long git may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Making a worktree: a checkout of everything, with the user's hooks and filters.
    pub make: Duration,
    /// Any other single call.
    pub look: Duration,
    /// Waiting for another call for the same worktree, and for git's own locks.
    pub locks: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            make: Duration::from_secs(300),
            look: Duration::from_secs(60),
            locks: Duration::from_secs(10),
        }
    }
}

/// Whether the user's own hooks run when a worktree is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hooks {
    /// `post-checkout` and `reference-transaction` run, as they would for the user.
    #[default]
    Run,
    /// None run.
    Off,
}

/// The git program, and how to call it.
#[derive(Debug, Clone)]
pub struct Git {
    program: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    pub(crate) hooks: Hooks,
    pub(crate) limits: Limits,
    cancel: Option<Arc<AtomicBool>>,
}

/// Why a call of git did not succeed. No process of it is left.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git was not found on the PATH; install it, or start without a worktree")]
    Missing,
    /// It could not be started, or not be listened to.
    #[error("git can't be run")]
    Run(#[source] io::Error),
    /// It took too long, and was ended.
    #[error(
        "`git {what}` was ended after {limit:?}; a hook or a filter may hang, or the disk is slow"
    )]
    Late {
        /// The call.
        what: String,
        /// How long it was let run.
        limit: Duration,
    },
    /// The caller wanted it no more.
    #[error("`git {what}` was given up, as was asked for")]
    Cancelled {
        /// The call.
        what: String,
    },
    /// It said no.
    #[error("`git {what}` failed: {said}")]
    Failed {
        /// The call.
        what: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// What it said of it.
        said: String,
    },
    /// It said something that makes no sense, or too much of it.
    #[error("`git {what}` gave an answer that can't be used: {answer}")]
    Garbled {
        /// The call.
        what: String,
        /// Some of it.
        answer: String,
    },
}

impl GitError {
    /// Whether somebody else held one of git's lock files.
    pub(crate) fn is_lock(&self) -> bool {
        const SIGNS: [&str; 4] =
            ["cannot lock ref", ".lock': File exists", "could not lock", "unable to lock"];
        // These are said of the same thing, and don't pass.
        const LASTING: [&str; 3] = ["No space left", "cannot create", "Permission denied"];
        matches!(self, Self::Failed { said, .. } if SIGNS.iter().any(|sign| said.contains(sign))
            && !LASTING.iter().any(|sign| said.contains(sign)))
    }

    /// Whether another git was in the way, so that it may go well the next time.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_lock() || matches!(self, Self::Failed { said, .. } if met_a_half_made_entry(said))
    }

    /// Whether the disk was full.
    pub(crate) fn is_full_disk(&self) -> bool {
        const SIGNS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
        matches!(self, Self::Failed { said, .. } if SIGNS.iter().any(|sign| said.contains(sign)))
    }
}

/// One call.
pub(crate) struct Call<'a> {
    git: &'a Git,
    what: String,
    /// What goes before the verb.
    front: Vec<OsString>,
    args: Vec<OsString>,
    folder: Option<PathBuf>,
    limit: Duration,
    most_output: usize,
    hooks: Hooks,
    lock: Option<&'a File>,
    reads_only: bool,
}

impl Git {
    /// Git as it is found on the `PATH` of this environment, which it is also called with.
    pub fn new(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let program = find_on_path(&environment);
        let environment = environment.into_iter().filter(|(name, _)| is_passed_on(name)).collect();
        let (hooks, limits) = (Hooks::default(), Limits::default());
        Self { program, environment, hooks, limits, cancel: None }
    }

    /// With or without the user's hooks.
    #[must_use]
    pub fn with_hooks(self, hooks: Hooks) -> Self {
        Self { hooks, ..self }
    }

    /// With these limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Calls at work end when this becomes true, and later ones don't begin.
    #[must_use]
    pub fn cancelled_by(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// A call that only looks: no hook, no lock of the index, no object fetched from afar.
    pub(crate) fn look<'a>(&'a self, verb: &str) -> Call<'a> {
        Call { reads_only: true, ..self.write(verb) }
    }

    /// A call that changes something, without hooks.
    pub(crate) fn write<'a>(&'a self, verb: &str) -> Call<'a> {
        Call {
            git: self,
            what: verb.to_owned(),
            front: Vec::new(),
            args: vec![verb.into()],
            folder: None,
            limit: self.limits.look,
            most_output: MOST_OUTPUT,
            hooks: Hooks::Off,
            lock: None,
            reads_only: false,
        }
    }

    /// Which version it is.
    pub(crate) fn version(&self) -> Result<(u32, u32), GitError> {
        let answer = self.look("version").text()?;
        parse_version(&answer)
            .ok_or_else(|| GitError::Garbled { what: "version".to_owned(), answer })
    }
}

impl<'a> Call<'a> {
    /// Adds arguments.
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds an argument.
    pub(crate) fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    /// From this folder, in which git finds the repository by itself.
    pub(crate) fn found_from(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// On this repository.
    pub(crate) fn on(mut self, git_dir: &Path) -> Self {
        self.front.push(option("--git-dir=", git_dir));
        self.folder = Some(git_dir.to_owned());
        self
    }

    /// With these files.
    pub(crate) fn with_files(mut self, work_tree: &Path) -> Self {
        self.front.push(option("--work-tree=", work_tree));
        self.folder = Some(work_tree.to_owned());
        self
    }

    pub(crate) fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    pub(crate) fn hooks(self, hooks: Hooks) -> Self {
        Self { hooks, ..self }
    }

    pub(crate) fn most_output(self, most_output: usize) -> Self {
        Self { most_output, ..self }
    }

    /// Git holds this lock for as long as it runs, also if we die: it is its standard input, which is empty.
    pub(crate) fn holding(self, lock: &'a File) -> Self {
        Self { lock: Some(lock), ..self }
    }

    /// Runs it; whatever its exit code.
    pub(crate) fn run(self) -> Result<Said, GitError> {
        let mut pauses = Pauses::until(Instant::now() + self.git.limits.locks);
        loop {
            let said = self.run_once()?;
            let met = !said.status.success() && met_a_half_made_entry(&words(&said));
            if !(met && self.reads_only && pauses.again()) {
                return Ok(said);
            }
        }
    }

    fn run_once(&self) -> Result<Said, GitError> {
        let mut command = self.command()?;
        let deadline = Instant::now() + self.limit;
        let cancel = self.git.cancel.clone();
        let bounds = Bounds { deadline, most_output: self.most_output, cancel };
        let what = || self.what.clone();
        process::run(&mut command, &bounds).map_err(|error| match error {
            RunError::Start(source) | RunError::Call(source) => GitError::Run(source),
            RunError::Late => GitError::Late { what: what(), limit: self.limit },
            RunError::Cancelled => GitError::Cancelled { what: what() },
        })
    }

    /// Runs it; anything but success is an error.
    pub(crate) fn succeed(self) -> Result<Said, GitError> {
        let what = self.what.clone();
        let said = self.run()?;
        if said.status.success() { Ok(said) } else { Err(failed(what, &said)) }
    }

    /// What it says, without the newline at its end.
    pub(crate) fn bytes(self) -> Result<Vec<u8>, GitError> {
        let what = self.what.clone();
        let mut said = self.succeed()?;
        if said.cut {
            return Err(GitError::Garbled { what, answer: "too long".to_owned() });
        }
        if said.out.last() == Some(&b'\n') {
            said.out.pop();
        }
        Ok(said.out)
    }

    /// As text.
    pub(crate) fn text(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    /// As a path; one with a newline in it as well.
    pub(crate) fn path(self) -> Result<PathBuf, GitError> {
        Ok(PathBuf::from(OsString::from_vec(self.bytes()?)))
    }

    /// What it says, or nothing if it exits with 1: git's way to say "no such thing", where asked quietly.
    pub(crate) fn text_if_any(self) -> Result<Option<String>, GitError> {
        let what = self.what.clone();
        let said = self.run()?;
        match said.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&said.out).trim_end().to_owned())),
            Some(1) => Ok(None),
            _ => Err(failed(what, &said)),
        }
    }

    fn command(&self) -> Result<Command, GitError> {
        let program = self.git.program.as_ref().ok_or(GitError::Missing)?;
        // The shell sets the umask for one process; to set our own would change it under other threads.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 022 && exec \"$@\"", "sh"]).arg(program);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if self.hooks == Hooks::Off {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        command.args(&self.front).args(&self.args);
        command.env_clear().envs(self.git.environment.iter().map(|(name, value)| (name, value)));
        command.envs([("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GCM_INTERACTIVE", "never")]);
        if self.reads_only {
            command.envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1")]);
            command.env("GIT_NO_REPLACE_OBJECTS", "1");
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(self.stdin().map_err(GitError::Run)?);
        Ok(command)
    }

    fn stdin(&self) -> io::Result<Stdio> {
        self.lock.map_or_else(|| Ok(Stdio::null()), |lock| lock.try_clone().map(Stdio::from))
    }
}

/// What it complained about.
fn words(said: &Said) -> String {
    String::from_utf8_lossy(&said.err[..said.err.len().min(MOST_SAID)]).into_owned()
}

/// Git reads the entries of all worktrees, also of one that another git is writing at this moment, and dies of it.
fn met_a_half_made_entry(said: &str) -> bool {
    said.contains("failed to read") && said.contains("/worktrees/")
}

/// Pauses that grow, until a deadline.
pub(crate) struct Pauses {
    deadline: Instant,
    next: Duration,
}

impl Pauses {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline, next: Duration::from_millis(10) }
    }

    /// Waits a while, and says whether to try again.
    pub(crate) fn again(&mut self) -> bool {
        const LONGEST: Duration = Duration::from_millis(500);
        if Instant::now() + self.next >= self.deadline {
            return false;
        }
        thread::sleep(self.next);
        self.next = (self.next * 2).min(LONGEST);
        true
    }
}

fn failed(what: String, said: &Said) -> GitError {
    let text = match (words(said).trim(), said.status.code()) {
        ("", Some(code)) => format!("exit code {code}"),
        ("", None) => said.status.to_string(),
        (text, _) => text.to_owned(),
    };
    GitError::Failed { what, code: said.status.code(), said: text }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

fn is_passed_on(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let asks = [&b"SSH_ASKPASS"[..], b"SSH_ASKPASS_REQUIRE"].contains(&name);
    let of_git = name.starts_with(b"GIT_");
    !asks && (!of_git || KEPT.iter().any(|kept| kept.as_bytes() == name))
}

fn find_on_path(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, path) = environment.iter().rfind(|(name, _)| name == "PATH")?;
    std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|at| at.join("git")).find(
        |file| {
            file.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        },
    )
}

fn parse_version(answer: &str) -> Option<(u32, u32)> {
    let mut numbers = answer.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(parse_version("git version 3.0"), Some((3, 0)));
        assert_eq!(parse_version("gut version 2.1"), None);
    }

    #[test]
    fn what_could_lead_git_elsewhere_is_not_passed_on() {
        for name in
            ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "SSH_ASKPASS"]
        {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "PATH", "GIT_CONFIG_GLOBAL", "SSH_AUTH_SOCK", "GITHUB_TOKEN"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn no_git_is_said_as_such() {
        let git = Git::new([("PATH".into(), "/nonexistent:relative".into())]);
        assert!(matches!(git.version(), Err(GitError::Missing)));
    }
}
