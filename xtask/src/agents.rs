//! Installs the real agent CLIs from npm, at pinned versions, into a folder that git ignores.
//!
//! Each CLI gets a folder of its own, `<workspace>/.agents/<name>-<version>/` (or below
//! `$KENNEL_AGENTS_DIR`). An install happens in a sibling folder and is renamed into place only
//! after the program has printed its version, so a folder of that name is always a working install:
//! two concurrent runs, or a run that was killed, leave no incomplete install under that name.
//!
//! A machine without npm or without access to the registry is an ordinary outcome, not an error:
//! [`install`] prints what is missing and why, and returns.
//!
//! What npm has to do for each of them:
//!
//! | CLI | native part | install script |
//! |---|---|---|
//! | claude | `bin/claude.exe`, a stub until the script has run | **needed**: replaces the stub |
//! | codex | an optional dependency of its own, found by `bin/codex.js` | none |
//! | gemini | modules for terminals and for the keychain | only of dependencies; not needed |
//! | opencode | `bin/opencode.exe`, a stub until the script has run | **needed**, as for claude |
//!
//! So optional dependencies are always in, install scripts are on for two packages and off for the
//! others, whatever the user's npm configuration is. npm 11.19 warns of scripts that have no
//! `allowScripts` entry in the `package.json` of the folder that is installed into, and documents
//! that it will skip them: so there is one, which older versions ignore.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cargo::workspace;

/// How long one `npm install` may take. On disk they are 100 to 440 MB each.
const NPM_LIMIT: Duration = Duration::from_secs(300);

/// How long a freshly installed CLI may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// The file that marks an install as finished.
const MARKER: &str = ".finished";

/// A CLI that can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Anthropic's Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
}

/// The package and version that provide a program.
struct AgentPin {
    agent: Agent,
    /// The name of the program and of its cache folder.
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// Whether the package needs its own install script.
    script: bool,
}

impl AgentPin {
    /// The name of the folder in the cache.
    fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// The versions everything is tested against: the one place to change them.
const PINS: [AgentPin; 4] = [
    AgentPin {
        agent: Agent::Claude,
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.197",
        script: true,
    },
    AgentPin {
        agent: Agent::Codex,
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        script: false,
    },
    AgentPin {
        agent: Agent::Gemini,
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        script: false,
    },
    AgentPin {
        agent: Agent::Opencode,
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        script: true,
    },
];

impl Agent {
    /// Every pinned CLI.
    pub(crate) const ALL: [Agent; 4] =
        [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode];

    /// The agent's short name, which is its program's name too.
    pub(crate) fn name(self) -> &'static str {
        self.pin().name
    }

    fn pin(self) -> &'static AgentPin {
        let pin = PINS.iter().find(|pin| pin.agent == self);
        pin.expect("every agent has a pin")
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.pin().version)
    }
}

impl std::str::FromStr for Agent {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let pin = PINS.iter().find(|pin| pin.name == name);
        let known = || PINS.map(|pin| pin.name).join(", ");
        pin.map(|pin| pin.agent)
            .with_context(|| format!("unknown agent {name:?}: expected one of {}", known()))
    }
}

/// The result for one agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentInstall {
    /// The agent.
    pub(crate) agent: Agent,
    /// Whether it can run, or why it can't.
    pub(crate) outcome: InstallOutcome,
}

/// How an install ended.
#[derive(Clone, Debug)]
pub(crate) enum InstallOutcome {
    /// An earlier run has installed this program.
    AlreadyInstalled(PathBuf),
    /// This run has installed this program.
    Fresh(PathBuf),
    /// The program is not available.
    Unavailable(UnavailableReason),
}

/// Why an agent could not be installed.
#[derive(Clone, Debug)]
pub(crate) enum UnavailableReason {
    /// npm can't be started.
    NoNpm(String),
    /// npm could not reach the registry; the first line of its output.
    NoRegistry(String),
    /// npm did not end in time.
    TooSlow(Duration),
    /// npm failed for another reason; the first line of its output.
    NpmFailed(String),
    /// The program was installed but does not print the expected version.
    DoesNotRun(String),
}

impl fmt::Display for UnavailableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnavailableReason::NoNpm(text) => write!(f, "can't start npm: {text}"),
            UnavailableReason::NoRegistry(text) => {
                write!(f, "npm can't reach the registry: {text}")
            }
            UnavailableReason::TooSlow(limit) => {
                write!(f, "npm did not end within {} s and was killed", limit.as_secs())
            }
            UnavailableReason::NpmFailed(text) => write!(f, "npm install failed: {text}"),
            UnavailableReason::DoesNotRun(text) => {
                write!(f, "installed, but it does not run: {text}")
            }
        }
    }
}

/// Installs each of `which` that is missing, and prints the results to stderr.
///
/// Only a problem with the cache folder itself is an error. A failure of npm, the registry or a
/// package is an [`InstallOutcome::Unavailable`].
pub(crate) fn install(which: &[Agent]) -> anyhow::Result<Vec<AgentInstall>> {
    let cache = cache_dir()?;
    fs::create_dir_all(&cache).with_context(|| format!("can't create {}", cache.display()))?;
    sweep(&cache);

    let mut all = Vec::with_capacity(which.len());
    let mut offline = None;
    for &agent in which {
        let outcome = install_one(agent, &cache, offline.as_ref())?;
        match &outcome {
            InstallOutcome::AlreadyInstalled(program) => {
                eprintln!("agents: {agent} is at {}", program.display());
            }
            InstallOutcome::Fresh(program) => {
                eprintln!("agents: {agent} installed at {}", program.display());
            }
            InstallOutcome::Unavailable(why) => {
                eprintln!("agents: *** {agent} IS NOT AVAILABLE: {why} ***");
                if matches!(why, UnavailableReason::NoNpm(_) | UnavailableReason::NoRegistry(_)) {
                    offline = Some(why.clone());
                }
            }
        }
        all.push(AgentInstall { agent, outcome });
    }
    Ok(all)
}

/// Returns whether an earlier run has installed this agent.
pub(crate) fn is_installed(agent: Agent) -> bool {
    cache_dir().is_ok_and(|cache| is_finished(&cache.join(agent.pin().folder())))
}

/// Returns `$KENNEL_AGENTS_DIR`, or `.agents` in the workspace.
pub(crate) fn cache_dir() -> anyhow::Result<PathBuf> {
    let dir = match std::env::var_os("KENNEL_AGENTS_DIR") {
        Some(dir) if !dir.is_empty() => PathBuf::from(dir),
        _ => workspace().join(".agents"),
    };
    std::path::absolute(dir).context("there is no working directory")
}

/// Installs `agent` unless it is installed, or an earlier agent has shown that npm or the registry
/// is not available.
fn install_one(
    agent: Agent,
    cache: &Path,
    offline: Option<&UnavailableReason>,
) -> anyhow::Result<InstallOutcome> {
    let pin = agent.pin();
    let folder = pin.folder();
    let home = cache.join(&folder);
    if is_finished(&home) {
        return Ok(InstallOutcome::AlreadyInstalled(program_in(&home, pin)));
    }
    if let Some(why) = offline {
        return Ok(InstallOutcome::Unavailable(why.clone()));
    }

    eprintln!("agents: installing {agent} from npm ...");
    let staging = cache.join(staging_name(&folder, std::process::id()));
    remove_all(&staging)?;
    fs::create_dir(&staging).with_context(|| format!("can't create {}", staging.display()))?;
    let tried = npm_install(pin, &staging)?.and_then(|()| check(pin, &staging));
    if let Err(why) = tried {
        remove_all(&staging)?;
        return Ok(InstallOutcome::Unavailable(why));
    }

    fs::write(staging.join(MARKER), format!("{}@{}\n", pin.package, pin.version))
        .with_context(|| format!("can't write in {}", staging.display()))?;
    put_in_place(&staging, &home)?;
    Ok(InstallOutcome::Fresh(program_in(&home, pin)))
}

fn is_finished(home: &Path) -> bool {
    home.join(MARKER).is_file()
}

fn program_in(home: &Path, pin: &AgentPin) -> PathBuf {
    home.join("node_modules/.bin").join(pin.name)
}

/// The name of the folder that process `pid` installs into.
fn staging_name(folder: &str, pid: u32) -> String {
    format!(".{folder}.tmp-{pid}")
}

/// Renames `staging` to `home`. An install that another process finished meanwhile stays.
fn put_in_place(staging: &Path, home: &Path) -> anyhow::Result<()> {
    if fs::rename(staging, home).is_ok() {
        return Ok(());
    }
    if is_finished(home) {
        return remove_all(staging);
    }
    // The folder exists but is not finished: something else has created it.
    remove_all(home)?;
    fs::rename(staging, home)
        .with_context(|| format!("can't rename {} to {}", staging.display(), home.display()))
}

/// Removes the incomplete installs of processes that have ended.
fn sweep(cache: &Path) {
    let Ok(entries) = fs::read_dir(cache) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((_, pid)) = name.to_str().and_then(|name| name.rsplit_once(".tmp-")) else {
            continue;
        };
        let gone = pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists();
        if gone && Path::new("/proc/self").exists() {
            // A leftover that can't be removed only takes space.
            remove_all(&entry.path()).ok();
        }
    }
}

/// Removes a folder, if it exists.
fn remove_all(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("can't remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Runs `npm install` of `pin` into `staging`.
fn npm_install(pin: &AgentPin, staging: &Path) -> anyhow::Result<Result<(), UnavailableReason>> {
    let log = staging.join("npm.log");
    let spec = format!("{}@{}", pin.package, pin.version);
    let project = format!(r#"{{"private":true,"allowScripts":{{"{spec}":{}}}}}"#, pin.script);
    fs::write(staging.join("package.json"), project)
        .with_context(|| format!("can't write in {}", staging.display()))?;
    let mut npm = Command::new("npm");
    npm.arg("install")
        .arg("--prefix")
        .arg(staging)
        .args(["--no-audit", "--no-fund", "--no-save"])
        // See the top of this file.
        .arg("--include=optional")
        .arg(format!("--ignore-scripts={}", !pin.script))
        // A pinned version that is in npm's own cache needs no registry.
        .arg("--prefer-offline")
        // Fails within seconds if the registry does not answer.
        .args(["--fetch-retries=1", "--fetch-retry-mintimeout=1000"])
        .arg(&spec)
        .current_dir(staging);
    let status = match run(&mut npm, &log, NPM_LIMIT)? {
        Ended::Exited(status) => status,
        Ended::NotStarted(error) => return Ok(Err(UnavailableReason::NoNpm(error.to_string()))),
        Ended::TimedOut => return Ok(Err(UnavailableReason::TooSlow(NPM_LIMIT))),
    };
    if status.success() {
        return Ok(Ok(()));
    }
    let output = read(&log);
    let network = [
        "ENOTFOUND",
        "ECONNREFUSED",
        "ECONNRESET",
        "ETIMEDOUT",
        "EAI_AGAIN",
        "ENETUNREACH",
        "EHOSTUNREACH",
        "ERR_SOCKET_TIMEOUT",
    ];
    // npm prints the code and the reason first.
    let errors = output.lines().filter(|line| line.starts_with("npm err"));
    let brief = errors.take(4).collect::<Vec<_>>().join(" | ");
    Ok(Err(if network.iter().any(|code| output.contains(code)) {
        UnavailableReason::NoRegistry(brief)
    } else {
        UnavailableReason::NpmFailed(format!("{status}: {brief}"))
    }))
}

/// Asks the installed program for its version: a stub without its native part fails here.
fn check(pin: &AgentPin, staging: &Path) -> Result<(), UnavailableReason> {
    let log = staging.join("version.log");
    let scratch = staging.join("version-home");
    let failed = |text: String| Err(UnavailableReason::DoesNotRun(text));
    if let Err(error) = fs::create_dir(&scratch) {
        return failed(error.to_string());
    }
    let mut program = Command::new(program_in(staging, pin));
    program
        .arg("--version")
        .env("HOME", &scratch)
        .env("CODEX_HOME", &scratch)
        .env("CLAUDE_CONFIG_DIR", &scratch)
        .env("XDG_CONFIG_HOME", scratch.join("config"))
        .env("XDG_DATA_HOME", scratch.join("data"))
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .env("XDG_STATE_HOME", scratch.join("state"))
        .current_dir(&scratch);
    let ended = run(&mut program, &log, VERSION_LIMIT);
    let output = read(&log);
    remove_all(&scratch).ok();
    match ended {
        Ok(Ended::Exited(status)) if status.success() && output.contains(pin.version) => Ok(()),
        Ok(Ended::Exited(status)) => failed(format!("--version: {status}: {output}")),
        Ok(Ended::NotStarted(error)) => failed(error.to_string()),
        Ok(Ended::TimedOut) => failed("--version does not return".to_owned()),
        Err(error) => failed(format!("{error:#}")),
    }
}

/// How a command ended.
enum Ended {
    Exited(ExitStatus),
    NotStarted(io::Error),
    TimedOut,
}

/// Runs `command` in its own process group, with both outputs in `log`, for at most `limit`.
///
/// The output goes to a file and not through a pipe because a pipe stays open for as long as any
/// grandchild has it.
fn run(command: &mut Command, log: &Path, limit: Duration) -> anyhow::Result<Ended> {
    let out = File::create(log).with_context(|| format!("can't write {}", log.display()))?;
    let err = out.try_clone().context("can't duplicate a file descriptor")?;
    let started = command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return Ok(Ended::NotStarted(error)),
    };
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().context("can't wait for a child")? {
            return Ok(Ended::Exited(status));
        }
        if Instant::now() >= deadline {
            end_group(&mut child).context("can't end a child")?;
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Kills the group that `child` leads, install scripts included, then reaps `child`.
///
/// The child is not reaped yet, so its pid can't belong to another process.
fn end_group(child: &mut Child) -> io::Result<()> {
    let group = child.id().to_string();
    // The builtin `kill` of the shell: there may be no program of that name.
    Command::new("sh")
        .args(["-c", r#"kill -s KILL -- "-$1""#, "sh", &group])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok();
    child.kill()?;
    child.wait().map(drop)
}

/// Returns the important part of a command's output.
fn read(log: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(log) {
        // This text only explains another failure, so an error here is ignored.
        file.take(1 << 20).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_one_pin_and_a_name_that_parses_back() {
        for agent in Agent::ALL {
            assert_eq!(PINS.iter().filter(|pin| pin.agent == agent).count(), 1);
            assert_eq!(agent.name().parse::<Agent>().unwrap(), agent);
        }
        assert!("emacs".parse::<Agent>().is_err());
    }
}
