//! One run of a real agent.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use kennel_agents::{Agent, AttemptEnd, EndedBy, FinishedAttempt, OutputStream, ProcessEnd};
use kennel_types::AgentSettings;
use mock_llm::{Cli, Server};
use serde_json::{Value, json};

use crate::scenarios::{Scenario, ScenarioConversation, ScenarioEnvironment};
use crate::scrub::Scrub;

/// How long a run may take. One agent gives up after five minutes, another never does.
const LIMIT: Duration = Duration::from_secs(400);

/// How often the end of a run is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// An installed agent.
pub(crate) struct Program {
    pub(crate) cli: Cli,
    pub(crate) agent: Agent,
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

/// Returns the version of a program.
pub(crate) fn version(program: &Path, agent: &Agent) -> anyhow::Result<String> {
    let output = Command::new(program).args(agent.version_args()).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("can't be started: {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    agent.read_version(&text).with_context(|| format!("no version in {text:?}"))
}

/// Runs a scenario and writes its output to files. Returns a summary in one line.
pub(crate) fn record(
    program: &Program,
    scenario: &Scenario,
    folder: &Path,
) -> anyhow::Result<String> {
    let scene = tempfile::Builder::new().prefix("kennel-record-").tempdir()?;
    let home = scene.path().join("home");
    let server = Server::start(mock_llm::Commands::default())?;
    let port = server.port();
    let conversation = conversation(program, scenario, &server, &home)?;
    let command = command(program, scenario, conversation.as_deref(), &server, &home)?;
    let server = (scenario.world != ScenarioEnvironment::NotListening).then_some(server);
    let ran = Ran::through(command, program.agent.name(), scene.path())?;
    let calls = server.map_or(0, |server| server.requests().len());
    let finished = ran.read(&program.agent);

    let scrub = Scrub::new(&home, &program.path, port);
    let meta = json!({
        "cli": program.cli.name(),
        "version": program.version,
        "scenario": scenario.name,
        "mock": scenario.mock,
        "argv": ran.argv,
        "end": end_of(ran.status),
        "because": if ran.timed_out { "timed_out" } else { "itself" },
        "seconds": ran.seconds,
        "api_calls": calls,
    });
    fs::create_dir_all(folder)?;
    fs::write(folder.join("stdout"), scrub.clean(&ran.stdout))?;
    fs::write(folder.join("stderr"), scrub.clean(&ran.stderr))?;
    let meta = serde_json::to_string_pretty(&meta)?;
    fs::write(folder.join("meta.json"), scrub.clean(meta.as_bytes()) + "\n")?;
    let verdict = &finished.judged.verdict;
    Ok(format!("{} by {:?}, after {} s", verdict.kind, verdict.source, ran.seconds))
}

/// Returns the conversation that the run resumes.
fn conversation(
    program: &Program,
    scenario: &Scenario,
    server: &Server,
    home: &Path,
) -> anyhow::Result<Option<String>> {
    match scenario.conversation {
        ScenarioConversation::New => Ok(None),
        ScenarioConversation::Stale if program.cli == Cli::Opencode => {
            Ok(Some("ses_e2356bc01ffe8YrzXB0zp9zzzz".to_owned()))
        }
        ScenarioConversation::Stale => Ok(Some("11111111-2222-4333-8444-555555555555".to_owned())),
        ScenarioConversation::Former => {
            let command = command(program, scenario, None, server, home)?;
            let scene = tempfile::Builder::new().prefix("kennel-record-").tempdir()?;
            let former =
                Ran::through(command, program.agent.name(), scene.path())?.read(&program.agent);
            former.judged.conversation.context("the former run reported no conversation").map(Some)
        }
    }
}

/// Returns Kennel's command, with an environment for the mock.
fn command(
    program: &Program,
    scenario: &Scenario,
    conversation: Option<&str>,
    server: &Server,
    home: &Path,
) -> anyhow::Result<Command> {
    let surroundings = program.cli.invocation(&program.path, server, scenario.mock, home)?;
    let settings = AgentSettings {
        agent: program.agent.name().to_owned(),
        // Without a model it would ask a model to choose one.
        model: (program.cli == Cli::Gemini).then(|| "gemini-2.5-flash".to_owned()),
        turns: scenario.turns,
        permissions: scenario.permissions,
        args: scenario.args.iter().map(|arg| (*arg).to_owned()).collect(),
        ..AgentSettings::default()
    };
    let invocation = program.agent.one_shot(&settings, conversation)?;
    let mut command = Command::new(&program.path);
    command
        .arg0(&invocation.argv[0])
        .args(&invocation.argv[1..])
        .env_clear()
        .envs(invocation.env)
        .envs(&surroundings.env)
        .current_dir(&surroundings.cwd);
    match scenario.world {
        ScenarioEnvironment::Default | ScenarioEnvironment::NotListening => {}
        ScenarioEnvironment::NoSandbox => {
            command.env_remove("IS_SANDBOX");
        }
        ScenarioEnvironment::Untrusted if program.cli == Cli::Gemini => {
            let path = home.join(".gemini/settings.json");
            let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
            settings["security"]["folderTrust"]["enabled"] = json!(true);
            fs::write(&path, settings.to_string())?;
        }
        ScenarioEnvironment::Untrusted => {}
    }
    Ok(command)
}

/// A finished run.
struct Ran {
    argv: Vec<String>,
    status: ExitStatus,
    timed_out: bool,
    seconds: u64,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ran {
    /// Runs the command to its end. The streams are files, because a grandchild would keep a pipe
    /// open.
    fn through(mut command: Command, name: &str, scene: &Path) -> anyhow::Result<Self> {
        let [prompt, stdout, stderr] = ["prompt", "stdout", "stderr"].map(|name| scene.join(name));
        fs::write(&prompt, "Say hello.\n")?;
        command
            .stdin(File::open(&prompt)?)
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .process_group(0);
        // The path of the program on this machine.
        let words = std::iter::once(OsStr::new(name)).chain(command.get_args());
        let argv: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let began = Instant::now();
        let mut child = command.spawn().context("can't be started")?;
        let (status, timed_out) = wait(&mut child, began + LIMIT)?;
        let seconds = began.elapsed().as_secs();
        let (stdout, stderr) = (fs::read(stdout)?, fs::read(stderr)?);
        Ok(Self { argv, status, timed_out, seconds, stdout, stderr })
    }

    fn read(&self, agent: &Agent) -> FinishedAttempt {
        let mut reader = agent.reader();
        reader.read(OutputStream::Stdout, &self.stdout, &mut |_| {});
        reader.read(OutputStream::Stderr, &self.stderr, &mut |_| {});
        let ended_by = if self.timed_out { EndedBy::TimedOut } else { EndedBy::Itself };
        let end = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => ProcessEnd::Exited(code),
            (_, Some(signal)) => ProcessEnd::Signaled(signal),
            _ => ProcessEnd::Unknown,
        };
        reader.finish(&AttemptEnd { end, ended_by }, &mut |_| {})
    }
}

fn end_of(status: ExitStatus) -> Value {
    match (status.code(), status.signal()) {
        (Some(code), _) => json!({ "exited": code }),
        (_, signal) => json!({ "signaled": signal }),
    }
}

/// Waits for the end, or ends the run at the limit. Returns whether the limit was exceeded.
fn wait(child: &mut Child, deadline: Instant) -> anyhow::Result<(ExitStatus, bool)> {
    loop {
        if let Some(status) = child.try_wait()? {
            end_group(child.id())?;
            return Ok((status, false));
        }
        if Instant::now() >= deadline {
            end_group(child.id())?;
            return Ok((child.wait()?, true));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Kills the rest of the run's process group.
fn end_group(group: u32) -> anyhow::Result<()> {
    // The shell's built-in `kill`, because there may be no such program. An empty group is not an
    // error.
    let script = r#"kill -s KILL -- "-$1" 2>/dev/null; true"#;
    let status = Command::new("sh").args(["-c", script, "sh", &group.to_string()]).status()?;
    ensure!(status.success(), "can't end group {group}: {status}");
    Ok(())
}
