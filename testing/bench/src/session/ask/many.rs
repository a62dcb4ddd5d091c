//! Many members, all asked at once; the agent answers as soon as it is up.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_agents::Agent;
use kennel_types::api::{CreateRequest, NewMember, Text};
use kennel_types::{AgentSpec, Seat, SessionSpec, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT};
use serde_json::Value;

use super::super::home::{Home, joined};
use super::super::{Run, process};
use crate::agent;
use crate::target::Target;

/// How many members there are.
const MEMBERS: usize = 50;

/// Section 3.
#[expect(clippy::cast_precision_loss, reason = "some hundreds")]
pub(in super::super) fn section(run: &mut Run) -> Result<()> {
    let prompts = if run.quick { 2 } else { 10 };
    println!("3. {MEMBERS} members asked at once, {prompts} prompts each");
    let home = run.home("many")?;
    let desks = Desks::new(run.folder.join("desks"))?;
    desks.hire(&home)?;
    at_all_desks(|desk| desks.ask(&home, desk))?; // warms up
    let bare = timed(|| at_all_desks(|desk| (0..prompts).try_for_each(|_| desks.by_hand(desk))))?;
    let daemon = home.daemon()?;
    let before = (process::cpu_nanoseconds(daemon)?, process::cpu_nanoseconds(home.yard)?);
    let asked =
        timed(|| at_all_desks(|desk| (0..prompts).try_for_each(|_| desks.ask(&home, desk))))?;
    let all = (MEMBERS * prompts) as f64;
    let cpu = |pid: i32, before: u64| -> Result<f64> {
        Ok(process::cpu_nanoseconds(pid)?.saturating_sub(before) as f64 / 1e6 / all)
    };
    let (daemon_cpu, yard_cpu) = (cpu(daemon, before.0)?, cpu(home.yard, before.1)?);
    println!("  the agent by hand   {:>8.0} a second", all / bare.as_secs_f64());
    println!("  prompts answered    {:>8.0} a second", all / asked.as_secs_f64());
    println!("  CPU of a prompt: daemon {daemon_cpu:.2} ms, yard {yard_cpu:.2} ms\n");
    desks.check(prompts)?;
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

/// Does something at all desks at once.
fn at_all_desks(work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..MEMBERS).map(|desk| scope.spawn(move || work(desk))).collect();
        all.into_iter().try_for_each(joined)
    })
}

/// An agent of its own for each member: the fake one, under the name of a real one.
struct Desks {
    folder: PathBuf,
    path: String,
}

impl Desks {
    fn new(folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(folder.join("bin"))?;
        fs::copy(agent::path()?, folder.join("bin/claude"))?;
        for desk in 0..MEMBERS {
            let desk = folder.join(desk.to_string());
            fs::create_dir(&desk)?;
            fs::write(desk.join("script"), "ok done\n")?;
        }
        let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
        Ok(Self { folder, path })
    }

    fn desk(&self, desk: usize) -> PathBuf {
        self.folder.join(desk.to_string())
    }

    fn hire(&self, home: &Home) -> Result<()> {
        let mut client = home.connect()?;
        for desk in 0..MEMBERS {
            let seat = Seat { agent: "claude".into(), ..Seat::default() };
            let cwd = text(&self.desk(desk))?;
            let member = NewMember { name: format!("m{desk}"), seat, cwd };
            client.tell("POST", "/v1/members", &serde_json::to_vec(&member)?)?;
        }
        Ok(())
    }

    /// One prompt, until its verdict is known.
    fn ask(&self, home: &Home, desk: usize) -> Result<()> {
        let mut client = home.connect()?;
        let folder = self.desk(desk);
        let agent = AgentSpec { member: Some(format!("m{desk}")), ..AgentSpec::default() };
        let spec = SessionSpec {
            linger: USUAL_LINGER,
            lease: Some(USUAL_LEASE),
            output_limit: USUAL_OUTPUT,
            asked_by: "kennel-bench".to_owned(),
            agent: Some(Box::new(agent)),
            ..SessionSpec::default()
        };
        let env = [("PATH", OsStr::new(&self.path)), ("FAKE_CLAUDE", folder.as_os_str())];
        let request = CreateRequest {
            spec,
            env: env
                .iter()
                .map(|(name, value)| (Text::Plain((*name).into()), Text::from(*value)))
                .collect(),
            cwd: Text::from(folder.as_os_str()),
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

    /// The same without Kennel.
    fn by_hand(&self, desk: usize) -> Result<()> {
        let seat = Seat { agent: "claude".into(), ..Seat::default() };
        let invocation = Agent::of(&seat)?.one_shot(&seat, None)?;
        let folder = self.desk(desk);
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

    /// Each was launched as often as it was asked, and never beside itself.
    fn check(&self, prompts: usize) -> Result<()> {
        for desk in 0..MEMBERS {
            let log = fs::read_to_string(self.desk(desk).join("log"))?;
            ensure!(!log.contains("COLLISION"), "two at once at desk {desk}: {log}");
            let starts = log.lines().filter(|line| line.starts_with("start ")).count();
            // Once to warm up, and as often by hand as through Kennel.
            ensure!(starts == 1 + 2 * prompts, "{starts} launches at desk {desk}");
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<String> {
    Ok(path.to_str().context("a path that is no text")?.to_owned())
}
