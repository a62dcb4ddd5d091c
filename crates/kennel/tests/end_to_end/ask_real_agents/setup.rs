//! A scene with a real agent and a scripted provider.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kennel_testing::{Ended, Pen, Process, Running, Scene, Who, installed_agent};
use mock_llm::{Cli, Kind, Request, Server};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use serde_json::Value;

/// The grace of a stop: a tool's leftovers ignore TERM, so the stop takes all of it.
const GRACE: [&str; 2] = ["--grace", "500ms"];
/// The file that a returning tool waits for.
pub(super) const GO: &str = "work/go";

/// A scene with a real agent: one member and a scripted provider.
pub(super) struct RealAgentScene {
    pub(super) scene: Scene,
    pub(super) server: Server,
    pub(super) cli: Cli,
    program: PathBuf,
    /// The mark in the command line of every process of its tools, and of no other.
    mark: String,
}

/// The result of a prompt.
#[derive(Debug)]
pub(super) struct PromptResult {
    pub(super) code: i32,
    pub(super) verdict: String,
    pub(super) answer: String,
    pub(super) conversation: Option<String>,
    pub(super) launches: usize,
    /// All of it.
    pub(super) whole: Value,
}

impl RealAgentScene {
    pub(super) fn open(cli: Cli, who: Who, pen: Pen) -> Option<Self> {
        let program = installed_agent(cli.name())?;
        let scene = Scene::new(who, pen)?;
        let mark = unique_mark();
        let commands = [("stay", stays(&mark)), ("leak", leaks(&mark, &scene.path(GO)))];
        let server = Server::start(commands).expect("a mock on loopback");
        let program = scene.within_reach(&program);
        fs::create_dir(scene.path("bin")).expect("mkdir");
        symlink(&program, scene.path("bin").join(cli.name())).expect("a link");
        let agent_scene = Self { scene, server, cli, program, mark };
        // Creates its folder with its configuration.
        let _environment = agent_scene.environment("ok");
        let folder = agent_scene.home().join("work");
        let folder = folder.to_str().expect("a plain path");
        let mut args = vec!["member", "add", "anna", "--agent", cli.name(), "--cwd", folder];
        args.extend(["--permissions", "all"]);
        args.extend(match cli {
            Cli::Claude => &[][..],
            Cli::Codex => &["--arg", "--skip-git-repo-check"],
            // Otherwise they ask a model which model to use, and for a title.
            Cli::Gemini => &["--model", "gemini-2.5-flash"],
            Cli::Opencode => &["--arg", "--title=mock"],
        });
        agent_scene.scene.call_ok(&args);
        Some(agent_scene)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scene.path("agent")
    }

    /// Writes the agent's configuration for a scenario and returns its environment.
    pub(super) fn environment(&self, scenario: &str) -> BTreeMap<OsString, OsString> {
        let home = self.home();
        let invocation = self.cli.invocation(&self.program, &self.server, scenario, &home);
        let mut env = invocation.expect("its configuration can be written").env;
        // Otherwise they retry for minutes and have no variable for that. (Opencode follows the
        // provider.)
        match self.cli {
            Cli::Codex => {
                let knobs = "request_max_retries = 1\nstream_max_retries = 1\nwire_api";
                self.edit_configuration("wire_api", knobs);
            }
            Cli::Gemini => {
                let knobs = r#""general":{"maxAttempts":1,"retryFetchErrors":false,"#;
                self.edit_configuration(r#""general":{"#, knobs);
                if scenario.starts_with("err:") {
                    // Its second process does nothing else and takes another second.
                    env.insert("GEMINI_CLI_NO_RELAUNCH".into(), "true".into());
                }
            }
            Cli::Claude | Cli::Opencode => {}
        }
        self.scene.give_all(&home);
        let path = std::env::var("PATH").expect("a PATH");
        let path = format!("{}:{path}", self.scene.path("bin").display());
        env.insert("PATH".into(), path.into());
        env
    }

    /// The file with its provider's address, if it has one.
    fn configuration(&self) -> Option<PathBuf> {
        let file = match self.cli {
            Cli::Claude => return None,
            Cli::Codex => ".codex/config.toml",
            Cli::Gemini => ".gemini/settings.json",
            Cli::Opencode => ".config/opencode/opencode.json",
        };
        Some(self.home().join(file))
    }

    fn edit_configuration(&self, from: &str, to: &str) {
        let file = self.configuration().expect("it has one");
        let text = fs::read_to_string(&file).expect("its configuration");
        assert!(text.contains(from), "{from} in {text}");
        fs::write(&file, text.replace(from, to)).expect("written");
    }

    /// The command for a prompt to a provider at a closed port.
    pub(super) fn command_to_closed_port(&self, port: u16, args: &[&str]) -> Command {
        let mut command = self.command("ok@closed", args);
        let (live, dead) = (format!(":{}/", self.server.port()), format!(":{port}/"));
        match self.cli {
            Cli::Claude | Cli::Gemini => {
                for (name, value) in self.environment("ok@closed") {
                    let value = value.to_str().expect("plain text").replace(&live, &dead);
                    command.env(name, value);
                }
            }
            Cli::Codex | Cli::Opencode => self.edit_configuration(&live, &dead),
        }
        command
    }

    pub(super) fn command(&self, scenario: &str, args: &[&str]) -> Command {
        let flags = ["ask", "--json", "--pen", self.scene.pen_name()];
        let mut command = self.scene.kennel(&[&flags, &GRACE[..], args].concat());
        command.envs(self.environment(scenario));
        command
    }

    /// The command for Claude Code's interactive screen, past its first questions.
    pub(super) fn chat(&self, args: &[&str]) -> Command {
        let folder = self.home().join("work");
        let answered = serde_json::json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": { "approved": ["dummy"], "rejected": [] },
            "projects": { folder.to_str().expect("a plain path"): { "hasTrustDialogAccepted": true } },
        });
        fs::create_dir_all(self.home().join(".claude")).expect("mkdir");
        fs::write(self.home().join(".claude/.claude.json"), answered.to_string()).expect("written");
        let flags = ["chat", "--pen", self.scene.pen_name()];
        let mut command = self.scene.kennel(&[&flags, &GRACE[..], args].concat());
        command.envs(self.environment("ok@chat"));
        command
    }

    pub(super) fn start(&self, scenario: &str, args: &[&str]) -> Running {
        Running::start(self.command(scenario, args))
    }

    #[track_caller]
    pub(super) fn ask(&self, scenario: &str, args: &[&str]) -> PromptResult {
        self.reported(self.start(scenario, args).wait())
    }

    #[track_caller]
    pub(super) fn reported(&self, ended: Ended) -> PromptResult {
        let whole: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {ended:?}\n{}", self.scene.logs()));
        let text = |name: &str| whole[name].as_str().map(ToOwned::to_owned);
        let session = text("session").expect("a session");
        PromptResult {
            code: ended.code,
            verdict: text("verdict").expect("a verdict"),
            answer: text("answer").unwrap_or_default(),
            conversation: text("conversation"),
            launches: self.launches(&session),
            whole,
        }
    }

    fn launches(&self, session: &str) -> usize {
        let inspected = self.scene.call_json(&["inspect", session, "--json"]);
        inspected["launches"].as_array().expect("launches").len()
    }

    pub(super) fn member(&self) -> Value {
        self.scene.call_json(&["member", "show", "anna", "--json"])
    }

    /// The requests to the model in this scenario.
    pub(super) fn requests(&self, scenario: &str) -> Vec<Request> {
        let model = [Kind::Anthropic, Kind::Responses, Kind::Gemini].map(Some);
        let mut asked = self.server.requests();
        asked.retain(|it| it.scenario == scenario && model.contains(&it.kind));
        asked
    }

    /// The number of requests to the model in this scenario.
    pub(super) fn calls(&self, scenario: &str) -> usize {
        self.requests(scenario).len()
    }

    /// The live processes that the tools started.
    pub(super) fn marked(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").expect("/proc can be listed");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut processes: Vec<_> = pids.filter_map(Process::look).collect();
        processes.retain(|process| process.command.contains(&self.mark));
        processes
    }

    /// The seconds of its tools' running sleeps.
    pub(super) fn sleepers(&self) -> Vec<u32> {
        let seconds = |process: Process| {
            let rest = process.command.strip_prefix("sleep ")?;
            rest.split('.').next()?.parse().ok()
        };
        let mut all: Vec<u32> = self.marked().into_iter().filter_map(seconds).collect();
        all.sort_unstable();
        all
    }

    /// The files in which the agent itself keeps a conversation.
    pub(super) fn files_of(&self, conversation: &str) -> Vec<PathBuf> {
        let (part, end) = match self.cli {
            Cli::Claude | Cli::Codex => (conversation, ".jsonl"),
            Cli::Gemini => (&conversation[..8], ".jsonl"),
            // All conversations are in one file.
            Cli::Opencode => ("opencode", ".db"),
        };
        let mut found = Vec::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("our own folder").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) if name.contains(part) && name.ends_with(end) => {
                        found.push(entry.path());
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Deletes a conversation of the agent.
    pub(super) fn lose(&self, conversation: &str) {
        let files = self.files_of(conversation);
        assert!(!files.is_empty(), "{conversation}");
        for file in files {
            fs::remove_file(&file).expect("removed");
            for beside in ["-wal", "-shm"] {
                let mut name = file.clone().into_os_string();
                name.push(beside);
                // Only a database has such files.
                fs::remove_file(name).ok();
            }
        }
    }

    /// Checks that nothing is left, and that Kennel reports nothing either.
    #[track_caller]
    pub(super) fn close(self) {
        assert_eq!(self.marked(), [], "of its tools");
        self.scene.assert_nothing_left_soon();
        let member = self.member();
        assert_eq!((&member["busy_with"], &member["waiting"]), (&Value::Null, &0.into()));
        let strays = self.scene.call_json(&["strays", "--json"]);
        assert_eq!(strays["strays"], Value::Array(Vec::new()), "{strays:#}");
        self.scene.stop_daemon();
    }
}

/// Digits that no other running test has.
fn unique_mark() -> String {
    static SCENES: AtomicU32 = AtomicU32::new(0);
    let agent_scene = SCENES.fetch_add(1, Ordering::Relaxed);
    format!("{:08}{agent_scene:03}", std::process::id())
}

/// Two processes that escape the tool, one without an environment; both ignore TERM.
fn escapes(mark: &str) -> String {
    let sleep = |seconds: u32| format!("sleep {seconds}.{mark} >/dev/null 2>&1 </dev/null");
    format!(
        "(setsid sh -c 'trap \"\" TERM INT HUP; {} &'); (env -i setsid sh -c '{} &')",
        sleep(281),
        sleep(282)
    )
}

fn stays(mark: &str) -> String {
    format!("{}; sleep 289.{mark}", escapes(mark))
}

fn leaks(mark: &str, go: &Path) -> String {
    let wait = format!("until [ -e {} ]; do sleep 0.1; done", go.display());
    format!("{}; timeout 120 sh -c '{wait}'; echo returned", escapes(mark))
}

/// A port that is reserved but closed.
pub(super) fn dead_port() -> (OwnedFd, u16) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let address = getsockname(&socket).expect("its own name");
    let address = SocketAddr::try_from(address).expect("an address of the internet");
    (socket, address.port())
}
