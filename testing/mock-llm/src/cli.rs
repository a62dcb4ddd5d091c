//! How the real CLIs are run against the mock: one non-interactive turn each, with nothing of the
//! user's configuration, no telemetry, no update, and no connection except to the mock.
//!
//! All of this was found by experiment, with the versions that the tests install. What each needs:
//!
//! - **claude** takes everything from its environment. As root it refuses to skip its permission
//!   prompts unless `IS_SANDBOX=1`.
//! - **codex** takes the provider from a file. It looks for plugins on GitHub and on another host
//!   unless those features are off. Compressed requests are a feature that is on by default; they
//!   were not seen with a provider like this one, and the mock would refuse them, so that is off
//!   too.
//! - **gemini** needs a file that selects the login method for the key in its environment.
//!   With no model named it first asks a model which model to take; with one named it doesn't.
//! - **opencode** has the Anthropic provider built in, so that it loads nothing for it. It does
//!   install a package into each of its configuration folders at every start, in the background,
//!   unless a lock file there marks this as done. With no title given it asks for one, in a call of
//!   its own and at the same time as the first real one. It reads a list of every model that there
//!   is, which is a third of the time that it takes to start: here the list is empty.
//!
//! All of them read their standard input if it isn't a terminal: codex and opencode to its end,
//! claude for three seconds. Give them `/dev/null`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::server::Server;

/// The prompt of every run. The mock ignores it.
const PROMPT: &str = "hi";

/// The key for an API that ignores it.
const KEY: &str = "dummy";

/// A real agent CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cli {
    /// Anthropic's Claude Code, over Anthropic Messages.
    Claude,
    /// OpenAI's Codex, over OpenAI Responses.
    Codex,
    /// Google's Gemini CLI, over Gemini.
    Gemini,
    /// opencode, over Anthropic Messages.
    Opencode,
}

/// One run of a CLI: everything that a process needs to be started with.
///
/// Standard input has to be at its end from the beginning, see [`Invocation::command`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment: nothing is to be inherited besides.
    pub env: BTreeMap<OsString, OsString>,
    /// The folder to run in.
    pub cwd: PathBuf,
}

impl Invocation {
    /// The command that runs the CLI directly.
    pub fn command(&self) -> Command {
        let (program, arguments) = self.argv.split_first().expect("there is a program");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.cwd)
            .stdin(Stdio::null());
        command
    }

    fn arg(&mut self, arguments: &[&str]) {
        self.argv.extend(arguments.iter().map(OsString::from));
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.env.insert(name.into(), value.as_ref().to_owned());
    }
}

impl Cli {
    /// All of them.
    pub const ALL: [Cli; 4] = [Cli::Claude, Cli::Codex, Cli::Gemini, Cli::Opencode];

    /// The name of the program.
    pub fn name(&self) -> &'static str {
        match self {
            Cli::Claude => "claude",
            Cli::Codex => "codex",
            Cli::Gemini => "gemini",
            Cli::Opencode => "opencode",
        }
    }

    /// Prepares a run of `program` in `scenario`, with `home` as its home folder.
    ///
    /// This writes the configuration files below `home`, which need not exist yet, and creates the
    /// folder to run in, which is `home/work`. A second run in the same `home` finds the sessions
    /// of the first.
    ///
    /// It is an error if the server does not know the scenario, or its command.
    pub fn invocation(
        &self,
        program: &Path,
        base: &Server,
        scenario: &str,
        home: &Path,
    ) -> io::Result<Invocation> {
        check(base, scenario)?;
        let url = base.base_url(scenario);
        let home = std::path::absolute(home)?;
        let mut run = Invocation {
            argv: vec![std::path::absolute(program)?.into()],
            env: BTreeMap::new(),
            cwd: home.join("work"),
        };
        let temp = home.join("tmp");
        fs::create_dir_all(&run.cwd)?;
        fs::create_dir_all(&temp)?;

        // Two of the programs are scripts for the first `node` in `PATH`.
        run.set("PATH", std::env::var_os("PATH").unwrap_or_default());
        run.set("HOME", &home);
        run.set("TMPDIR", temp);
        run.set("SHELL", "/bin/bash");
        run.set("LANG", "C.UTF-8");
        run.set("TERM", "xterm-256color");
        run.set("NO_COLOR", "1");
        run.set("XDG_CONFIG_HOME", home.join(".config"));
        run.set("XDG_DATA_HOME", home.join(".local/share"));
        run.set("XDG_STATE_HOME", home.join(".local/state"));
        run.set("XDG_CACHE_HOME", home.join(".cache"));
        match self {
            Cli::Claude => claude(&mut run, &url, &home),
            Cli::Codex => codex(&mut run, &url, &home)?,
            Cli::Gemini => gemini(&mut run, &url, &home)?,
            Cli::Opencode => opencode(&mut run, &url, &home)?,
        }
        Ok(run)
    }
}

fn claude(run: &mut Invocation, url: &str, home: &Path) {
    run.arg(&["-p", PROMPT, "--output-format", "json"]);
    run.arg(&["--dangerously-skip-permissions"]);
    run.set("IS_SANDBOX", "1");
    run.set("CLAUDE_CONFIG_DIR", home.join(".claude"));
    run.set("ANTHROPIC_BASE_URL", url);
    run.set("ANTHROPIC_API_KEY", KEY);
    run.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    run.set("DISABLE_AUTOUPDATER", "1");
    run.set("DISABLE_TELEMETRY", "1");
    run.set("DISABLE_ERROR_REPORTING", "1");
}

fn codex(run: &mut Invocation, url: &str, home: &Path) -> io::Result<()> {
    run.arg(&["exec", "--json", "--skip-git-repo-check", PROMPT]);
    let config = home.join(".codex");
    run.set("CODEX_HOME", &config);
    run.set("MOCK_LLM_KEY", KEY);
    // A string of JSON is a string of TOML too.
    let url = Value::from(format!("{url}/v1"));
    write(
        &config.join("config.toml"),
        &format!(
            r#"model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = {url}
env_key = "MOCK_LLM_KEY"
wire_api = "responses"

[analytics]
enabled = false

[features]
enable_request_compression = false
apps = false
plugins = false
remote_plugin = false
"#
        ),
    )
}

fn gemini(run: &mut Invocation, url: &str, home: &Path) -> io::Result<()> {
    run.arg(&["-p", PROMPT, "--output-format", "json", "--yolo"]);
    run.arg(&["--model", "gemini-2.5-flash"]);
    let config = home.join(".gemini");
    run.set("GEMINI_API_KEY", KEY);
    run.set("GOOGLE_GEMINI_BASE_URL", url);
    // Where an administrator's settings would be.
    run.set("GEMINI_CLI_SYSTEM_SETTINGS_PATH", config.join("system.json"));
    let settings = json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" },
            "folderTrust": { "enabled": false },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
    });
    write(&config.join("settings.json"), &settings.to_string())
}

fn opencode(run: &mut Invocation, url: &str, home: &Path) -> io::Result<()> {
    run.arg(&["run", "--format", "json", "--title", "mock", PROMPT]);
    run.set("OPENCODE_DISABLE_AUTOUPDATE", "1");
    run.set("OPENCODE_DISABLE_MODELS_FETCH", "1");
    run.set("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
    run.set("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    let models = home.join(".config/models.json");
    run.set("OPENCODE_MODELS_PATH", &models);
    write(&models, "{}")?;
    let config = home.join(".config/opencode");
    let settings = json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": "mock/mock-model",
        "small_model": "mock/mock-model",
        "permission": { "bash": "allow", "edit": "allow", "external_directory": "allow" },
        "provider": { "mock": {
            "npm": "@ai-sdk/anthropic",
            "name": "mock",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": KEY },
            "models": { "mock-model": {
                "name": "mock-model",
                "limit": { "context": 100_000, "output": 8_000 },
                "tool_call": true,
            } },
        } },
    });
    // The state after the package for plugins was installed.
    let lock = json!({ "packages": { "": { "dependencies": { "@opencode-ai/plugin": "*" } } } });
    fs::create_dir_all(config.join("node_modules"))?;
    write(&config.join("package-lock.json"), &lock.to_string())?;
    write(&config.join("opencode.json"), &settings.to_string())
}

/// Writes a file and the folder that it is in.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Whether the server has an answer for the scenario.
fn check(server: &Server, scenario: &str) -> io::Result<()> {
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let parsed: Scenario =
        scenario.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    match parsed {
        Scenario::Shell { command, .. } if server.commands().get(&command).is_none() => {
            Err(bad(format!("unknown command {command:?}")))
        }
        _ if !scenario.bytes().all(is_path_byte) => {
            Err(bad(format!("{scenario:?} cannot be a part of a URL")))
        }
        _ => Ok(()),
    }
}

/// Whether a URL's path may have this byte in one of its segments, as it is.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:@+=,;!$&'()*".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_the_server_does_not_know_is_refused() {
        let server = Server::start([("mine", "true")]).unwrap();
        for good in ["ok", "bash:mine@a", "bashbg:sleep", "err:500:ra1"] {
            check(&server, good).unwrap();
        }
        for bad in ["", "nonsense", "bash:nothing", "ok@a/b", "ok@a b", "ok@%"] {
            assert!(check(&server, bad).is_err(), "{bad:?}");
        }
    }
}
