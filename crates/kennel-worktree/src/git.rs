//! Calls git, with a safe environment, safe settings and limits.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, ProcessLimits, ProcessOutput, RunProgramError};

/// The variables of git that are passed on. The others could redirect git to another repository,
/// index or object store (`git rev-parse --local-env-vars`), make it prompt the user, or make it
/// write traces.
const GIT_ENV_VARS: &[&str] = &[
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

/// The settings of every call: no background process that outlives it, and no file system monitor.
const SETTINGS: &[&str] = &[
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "core.warnAmbiguousRefs=false",
    "log.showSignature=false",
    "advice.detachedHead=false",
];

/// The default limit of the output that is kept, in bytes.
const MAX_OUTPUT: usize = 1024 * 1024;
/// The maximum length of an error message of git, in bytes.
const MAX_ERROR_TEXT: usize = 2000;

/// The minimum version: it supports `worktree add --lock --reason`.
pub(crate) const MIN_VERSION: (u32, u32) = (2, 33);

/// Time limits for git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLimits {
    /// For creating a worktree: a full checkout, with the user's hooks and filters.
    pub create: Duration,
    pub call: Duration,
    /// For waiting for another call for the same worktree, and for git's own locks.
    pub locks: Duration,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            create: Duration::from_secs(300),
            call: Duration::from_secs(60),
            locks: Duration::from_secs(10),
        }
    }
}

/// Whether the user's hooks run when a worktree is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hooks {
    /// `post-checkout` and `reference-transaction` run, as in a call by the user.
    #[default]
    Run,
    /// No hook runs.
    Off,
}

/// The git program with its environment and limits.
#[derive(Debug, Clone)]
pub struct Git {
    program: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    pub(crate) hooks: Hooks,
    pub(crate) limits: GitLimits,
    cancel: Option<Arc<AtomicBool>>,
}

/// A call of git failed. None of its processes is left.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git was not found in PATH; install it, or start without a worktree")]
    Missing,
    #[error("can't run git")]
    Run(#[source] io::Error),
    #[error(
        "`git {what}` exceeded its time limit of {limit:?}; a hook or a filter may hang, or the disk is slow"
    )]
    TimedOut { what: String, limit: Duration },
    #[error("`git {what}` was cancelled")]
    Cancelled { what: String },
    #[error("`git {what}` failed: {message}")]
    Failed {
        what: String,
        /// Its exit code; `None` if a signal killed it.
        code: Option<i32>,
        message: String,
    },
    #[error("`git {what}` printed invalid output: {answer}")]
    InvalidOutput { what: String, answer: String },
}

impl GitError {
    /// Returns whether another process held one of git's lock files.
    pub(crate) fn is_lock(&self) -> bool {
        const SIGNS: [&str; 4] =
            ["cannot lock ref", ".lock': File exists", "could not lock", "unable to lock"];
        // These errors have the same texts, but retrying doesn't help.
        const PERMANENT: [&str; 3] = ["No space left", "cannot create", "Permission denied"];
        self.mentions(&SIGNS) && !self.mentions(&PERMANENT)
    }

    /// Returns whether a concurrent git caused the error, so that a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        // `git worktree prune`, which a `git gc` runs, removes the entry of a worktree that is
        // being added.
        const PRUNED: [&str; 2] = ["No such file or directory", "not a git repository"];
        self.is_lock()
            || self.mentions(&["/worktrees/"]) && self.mentions(&PRUNED)
            || matches!(self, Self::Failed { message, .. } if saw_incomplete_entry(message))
    }

    pub(crate) fn is_full_disk(&self) -> bool {
        const SIGNS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
        self.mentions(&SIGNS)
    }

    fn mentions(&self, signs: &[&str]) -> bool {
        matches!(self, Self::Failed { message, .. } if signs.iter().any(|it| message.contains(it)))
    }
}

/// One call of git.
pub(crate) struct GitCall<'a> {
    git: &'a Git,
    what: String,
    /// The options before the subcommand.
    global_options: Vec<OsString>,
    args: Vec<OsString>,
    folder: Option<PathBuf>,
    limit: Duration,
    max_output: usize,
    hooks: Hooks,
    lock: Option<&'a File>,
    reads_only: bool,
}

impl Git {
    /// Finds git in the `PATH` of this environment, which is also the environment of its calls.
    pub fn new(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let program = find_on_path(&environment);
        let environment = environment.into_iter().filter(|(name, _)| is_allowed(name)).collect();
        let (hooks, limits) = (Hooks::default(), GitLimits::default());
        Self { program, environment, hooks, limits, cancel: None }
    }

    /// Sets whether the user's hooks run.
    #[must_use]
    pub fn with_hooks(self, hooks: Hooks) -> Self {
        Self { hooks, ..self }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: GitLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets a flag that cancels running and later calls.
    #[must_use]
    pub fn cancelled_by(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// Starts a read-only call: no hooks, no lock of the index, no objects fetched from a remote.
    pub(crate) fn read<'a>(&'a self, verb: &str) -> GitCall<'a> {
        GitCall { reads_only: true, ..self.write(verb) }
    }

    /// Starts a call that changes something, without hooks.
    pub(crate) fn write<'a>(&'a self, verb: &str) -> GitCall<'a> {
        GitCall {
            git: self,
            what: verb.to_owned(),
            global_options: Vec::new(),
            args: vec![verb.into()],
            folder: None,
            limit: self.limits.call,
            max_output: MAX_OUTPUT,
            hooks: Hooks::Off,
            lock: None,
            reads_only: false,
        }
    }

    pub(crate) fn version(&self) -> Result<(u32, u32), GitError> {
        let answer = self.read("version").text()?;
        parse_version(&answer)
            .ok_or_else(|| GitError::InvalidOutput { what: "version".to_owned(), answer })
    }
}

impl<'a> GitCall<'a> {
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    /// Runs in this folder, from which git finds the repository.
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Uses this repository.
    pub(crate) fn on(mut self, git_dir: &Path) -> Self {
        self.global_options.push(option("--git-dir=", git_dir));
        self.folder = Some(git_dir.to_owned());
        self
    }

    /// Uses this work tree.
    pub(crate) fn with_work_tree(mut self, work_tree: &Path) -> Self {
        self.global_options.push(option("--work-tree=", work_tree));
        self.folder = Some(work_tree.to_owned());
        self
    }

    pub(crate) fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    pub(crate) fn hooks(self, hooks: Hooks) -> Self {
        Self { hooks, ..self }
    }

    pub(crate) fn max_output(self, max_output: usize) -> Self {
        Self { max_output, ..self }
    }

    /// Makes git hold this lock as long as it runs, even if this process dies: the lock file, which
    /// is empty, becomes its standard input.
    pub(crate) fn holding(self, lock: &'a File) -> Self {
        Self { lock: Some(lock), ..self }
    }

    /// Runs the call, and accepts any exit code.
    pub(crate) fn run(self) -> Result<ProcessOutput, GitError> {
        let mut delays = RetryDelays::until(Instant::now() + self.git.limits.locks);
        loop {
            let output = self.run_once()?;
            let incomplete = !output.status.success() && saw_incomplete_entry(&error_text(&output));
            if !(incomplete && self.reads_only && delays.wait()) {
                return Ok(output);
            }
        }
    }

    fn run_once(&self) -> Result<ProcessOutput, GitError> {
        let mut command = self.command()?;
        let deadline = Instant::now() + self.limit;
        let cancel = self.git.cancel.clone();
        let bounds = ProcessLimits { deadline, max_output: self.max_output, cancel };
        let what = || self.what.clone();
        process::run(&mut command, &bounds).map_err(|error| match error {
            RunProgramError::Start(error) | RunProgramError::System(error) => GitError::Run(error),
            RunProgramError::TimedOut => GitError::TimedOut { what: what(), limit: self.limit },
            RunProgramError::Cancelled => GitError::Cancelled { what: what() },
        })
    }

    /// Runs the call; any exit code but 0 is an error.
    pub(crate) fn succeed(self) -> Result<ProcessOutput, GitError> {
        let what = self.what.clone();
        let output = self.run()?;
        if output.status.success() { Ok(output) } else { Err(failed(what, &output)) }
    }

    /// Runs the call, and returns its output without the newline at the end.
    pub(crate) fn bytes(self) -> Result<Vec<u8>, GitError> {
        let what = self.what.clone();
        let mut output = self.succeed()?;
        if output.truncated {
            return Err(GitError::InvalidOutput { what, answer: "too long".to_owned() });
        }
        if output.stdout.last() == Some(&b'\n') {
            output.stdout.pop();
        }
        Ok(output.stdout)
    }

    /// Runs the call, and returns its output as text.
    pub(crate) fn text(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    /// Runs the call, and returns its output as a path, which may contain newlines.
    pub(crate) fn path(self) -> Result<PathBuf, GitError> {
        Ok(PathBuf::from(OsString::from_vec(self.bytes()?)))
    }

    /// Runs the call, and returns its output; `None` for exit code 1, which means "not found" in
    /// git's quiet mode.
    pub(crate) fn text_if_found(self) -> Result<Option<String>, GitError> {
        let what = self.what.clone();
        let output = self.run()?;
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())),
            Some(1) => Ok(None),
            _ => Err(failed(what, &output)),
        }
    }

    fn command(&self) -> Result<Command, GitError> {
        let program = self.git.program.as_ref().ok_or(GitError::Missing)?;
        // The shell sets the umask of the child only; setting our own would affect other threads.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 022 && exec \"$@\"", "sh"]).arg(program);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if self.hooks == Hooks::Off {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        command.args(&self.global_options).args(&self.args);
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

/// Returns the start of standard error.
fn error_text(output: &ProcessOutput) -> String {
    String::from_utf8_lossy(&output.stderr[..output.stderr.len().min(MAX_ERROR_TEXT)]).into_owned()
}

/// Returns whether git failed on the incomplete entry of a worktree that another git is creating.
fn saw_incomplete_entry(message: &str) -> bool {
    message.contains("failed to read") && message.contains("/worktrees/")
}

/// Delays between retries that grow, until a deadline.
pub(crate) struct RetryDelays {
    deadline: Instant,
    next: Duration,
}

impl RetryDelays {
    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline, next: Duration::from_millis(10) }
    }

    pub(crate) fn wait(&mut self) -> bool {
        const MAX_DELAY: Duration = Duration::from_millis(500);
        if Instant::now() + self.next >= self.deadline {
            return false;
        }
        thread::sleep(self.next);
        self.next = (self.next * 2).min(MAX_DELAY);
        true
    }
}

fn failed(what: String, output: &ProcessOutput) -> GitError {
    let text = match (error_text(output).trim(), output.status.code()) {
        ("", Some(code)) => format!("exit code {code}"),
        ("", None) => output.status.to_string(),
        (text, _) => text.to_owned(),
    };
    GitError::Failed { what, code: output.status.code(), message: text }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

fn is_allowed(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let prompts = [&b"SSH_ASKPASS"[..], b"SSH_ASKPASS_REQUIRE"].contains(&name);
    let is_git = name.starts_with(b"GIT_");
    !prompts && (!is_git || GIT_ENV_VARS.iter().any(|kept| kept.as_bytes() == name))
}

fn find_on_path(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let (_, path) = environment.iter().rfind(|(name, _)| name == "PATH")?;
    let is_program = |meta: fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|at| at.join("git")).find(|file| file.metadata().is_ok_and(is_program))
}

fn parse_version(answer: &str) -> Option<(u32, u32)> {
    let mut numbers = answer.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_versions_of_all_vendors() {
        assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(parse_version("git version 3.0"), Some((3, 0)));
        assert_eq!(parse_version("gut version 2.1"), None);
    }

    #[test]
    fn passes_on_no_variable_that_redirects_git() {
        for name in
            ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "SSH_ASKPASS"]
        {
            assert!(!is_allowed(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "PATH", "GIT_CONFIG_GLOBAL", "SSH_AUTH_SOCK", "GITHUB_TOKEN"] {
            assert!(is_allowed(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn reports_missing_git() {
        let git = Git::new([("PATH".into(), "/nonexistent:relative".into())]);
        assert!(matches!(git.version(), Err(GitError::Missing)));
    }
}
