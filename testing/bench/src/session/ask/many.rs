//! Prompts many members at once; the agent answers as soon as it has started.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_agents::Agent;
use kennel_types::api::{CreateMemberRequest, CreateRequest, OsText};
use kennel_types::{
    AgentSettings, AgentSpec, DEFAULT_LEASE, DEFAULT_LINGER, DEFAULT_OUTPUT_LIMIT, SessionSpec,
};
use serde_json::Value;

use super::super::home::{BenchHome, joined};
use super::super::{BenchRun, process};
use crate::agent;
use crate::target::Target;

/// How many members there are.
const MEMBERS: usize = 50;

/// Section 3.
#[expect(clippy::cast_precision_loss, reason = "some hundreds")]
pub(in super::super) fn section(run: &mut BenchRun) -> Result<()> {
    let prompts = if run.quick { 2 } else { 10 };
    println!("3. {MEMBERS} members prompted at once, {prompts} prompts each");
    let home = run.home("many")?;
    let agents = MemberAgents::new(run.folder.join("agents"))?;
    agents.add_members(&home)?;
    for_all_members(|member| agents.ask(&home, member))?; // warms up
    let bare =
        timed(|| for_all_members(|member| (0..prompts).try_for_each(|_| agents.by_hand(member))))?;
    let daemon = home.daemon()?;
    let before = (process::cpu_nanoseconds(daemon)?, process::cpu_nanoseconds(home.yard)?);
    let asked = timed(|| {
        for_all_members(|member| (0..prompts).try_for_each(|_| agents.ask(&home, member)))
    })?;
    let all = (MEMBERS * prompts) as f64;
    let cpu = |pid: i32, before: u64| -> Result<f64> {
        Ok(process::cpu_nanoseconds(pid)?.saturating_sub(before) as f64 / 1e6 / all)
    };
    let (daemon_cpu, yard_cpu) = (cpu(daemon, before.0)?, cpu(home.yard, before.1)?);
    println!("  the agent directly  {:>8.0} a second", all / bare.as_secs_f64());
    println!("  prompts answered    {:>8.0} a second", all / asked.as_secs_f64());
    println!("  CPU of a prompt: daemon {daemon_cpu:.2} ms, yard {yard_cpu:.2} ms\n");
    agents.check(prompts)?;
    let figure = format!("{all} prompts, never two at once");
    run.targets.push(Target::holds("ask: every prompt is one launch", figure, true));
    home.stop()?;
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

/// Runs `work` for all members at once.
fn for_all_members(work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..MEMBERS).map(|member| scope.spawn(move || work(member))).collect();
        all.into_iter().try_for_each(joined)
    })
}

/// An agent for each member: the fake agent, under the name of a real one.
struct MemberAgents {
    folder: PathBuf,
    path: String,
}

impl MemberAgents {
    fn new(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(folder.join("bin"))?;
        fs::copy(agent::path()?, folder.join("bin/claude"))?;
        for member in 0..MEMBERS {
            let member = folder.join(member.to_string());
            fs::create_dir(&member)?;
            fs::write(member.join("script"), "ok done\n")?;
        }
        let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
        Ok(Self { folder, path })
    }

    fn member(&self, member: usize) -> PathBuf {
        self.folder.join(member.to_string())
    }

    fn add_members(&self, home: &BenchHome) -> Result<()> {
        let mut client = home.connect()?;
        for member in 0..MEMBERS {
            let settings = AgentSettings { agent: "claude".into(), ..AgentSettings::default() };
            let cwd = text(&self.member(member))?;
            let member = CreateMemberRequest { name: format!("m{member}"), settings, cwd };
            client.send("POST", "/v1/members", &serde_json::to_vec(&member)?)?;
        }
        Ok(())
    }

    /// Sends one prompt, and waits for its verdict.
    fn ask(&self, home: &BenchHome, member: usize) -> Result<()> {
        let mut client = home.connect()?;
        let folder = self.member(member);
        let agent = AgentSpec { member: Some(format!("m{member}")), ..AgentSpec::default() };
        let spec = SessionSpec {
            linger: DEFAULT_LINGER,
            lease: Some(DEFAULT_LEASE),
            output_limit: DEFAULT_OUTPUT_LIMIT,
            asked_by: "kennel-bench".to_owned(),
            agent: Some(Box::new(agent)),
            ..SessionSpec::default()
        };
        let env = [("PATH", OsStr::new(&self.path)), ("FAKE_CLAUDE", folder.as_os_str())];
        let request = CreateRequest {
            spec,
            env: env
                .iter()
                .map(|(name, value)| (OsText::Plain((*name).into()), OsText::from(*value)))
                .collect(),
            cwd: OsText::from(folder.as_os_str()),
            umask: 0o022,
            prompt: Some("hi".to_owned()),
            ..CreateRequest::default()
        };
        let session: Value =
            client.post("/v1/sessions?until=accepted", &serde_json::to_vec(&request)?)?;
        let id = session["session"].as_str().context("a session has an id")?;
        let over: Value = client.get(&format!("/v1/sessions/{id}/wait"))?;
        let verdict = &over["judged"]["verdict"]["kind"];
        ensure!(*verdict == "succeeded", "a prompt was not answered: {over}");
        Ok(())
    }

    /// Runs the agent without Kennel.
    fn by_hand(&self, member: usize) -> Result<()> {
        let settings = AgentSettings { agent: "claude".into(), ..AgentSettings::default() };
        let invocation = Agent::of(&settings)?.one_shot(&settings, None)?;
        let folder = self.member(member);
        let mut command = Command::new(self.folder.join("bin/claude"));
        command.args(&invocation.argv[1..]).env_clear().env("PATH", &self.path);
        command.env("FAKE_CLAUDE", &folder).current_dir(&folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().context("the fake agent")?;
        child.stdin.take().context("a pipe")?.write_all(b"hi")?;
        let status = child.wait()?;
        ensure!(status.success(), "the fake agent ended with {status}");
        Ok(())
    }

    /// Checks that each agent was launched once for each prompt, and never twice at the same time.
    fn check(&self, prompts: usize) -> Result<()> {
        for member in 0..MEMBERS {
            let log = fs::read_to_string(self.member(member).join("log"))?;
            ensure!(
                !log.contains("COLLISION"),
                "two launches at the same time of member {member}: {log}"
            );
            let starts = log.lines().filter(|line| line.starts_with("start ")).count();
            // Once to warm up, then as often directly as through Kennel.
            ensure!(starts == 1 + 2 * prompts, "{starts} launches of member {member}");
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<String> {
    Ok(path.to_str().context("the path is not UTF-8")?.to_owned())
}
