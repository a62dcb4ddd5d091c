//! Measures the time from the command to the agent's first call of its provider, and the memory:
//! the real Claude Code, directly and through `kennel ask`, against a mock of its provider.
//!
//! Claude Code takes about half a second, with a variation that hides Kennel's share: so the same
//! is measured with an agent that calls its provider first of all, and the target is for that
//! difference.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_agents::Agent;
use kennel_types::{AgentSettings, Permissions};
use mock_llm::{Cli, Commands, Server};
use rustix::process::{Pid, Signal, kill_process};

use super::super::BenchRun;
use super::super::home::{BenchHome, LONG, program};
use super::super::process::ProcessMemory;
use super::super::turns::{Contender, take_turns};
use crate::agent;
use crate::launch::print_measured;
use crate::stats::nanoseconds;
use crate::target::Target;
use crate::worker::Rounds;

/// Section 1.
pub(in super::super) fn section(run: &mut BenchRun) -> Result<()> {
    println!("1. from the command to the agent's first call of its provider");
    let Some(program) = kennel_testing::installed_agent("claude") else {
        println!("  skipped: run `cargo xtask agents claude` first\n");
        return Ok(());
    };
    let home = run.home("first-call")?;
    let setup = AgentSetup::new(run.folder.join("claude"), &program)?;
    compare(&home, &setup, "claude", if run.quick { 5 } else { 21 })?;
    let quick = AgentSetup::new(run.folder.join("quick"), &agent::path()?)?;
    let more = compare(&home, &quick, "at once", 51)?;
    let what = "ask: more time to the first call of the provider";
    run.targets.push(Target::at_most(what, more, 20.0, "ms"));
    measure_memory(run, &home, &setup)?;
    println!();
    home.stop()?;
    Ok(())
}

/// Prints both times; returns by how many milliseconds Kennel's is longer.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
fn compare(home: &BenchHome, setup: &AgentSetup, name: &'static str, turns: usize) -> Result<f64> {
    let mut contenders: Vec<Box<dyn Contender + '_>> = vec![
        Box::new(ByHand { name, setup }),
        Box::new(ThroughKennel { name, setup, home: &home.folder }),
    ];
    let measured = take_turns(&mut contenders, Rounds { warm_up: 2, turns, batch: 1 })?;
    drop(contenders);
    let by_hand = measured[0].time();
    print_measured(&measured, &[("by hand", by_hand)]);
    let more = (measured[1].time().median() as f64 - by_hand.median() as f64) / 1e6;
    println!("  more through Kennel, of the medians: {more:.2} ms");
    Ok(more)
}

/// The agent's configuration and its provider, which all runs share.
struct AgentSetup {
    server: Server,
    program: PathBuf,
    folder: PathBuf,
    calls: Receiver<Instant>,
}

/// Sends the time of each call of the provider.
struct CallNotifier(Sender<Instant>);

impl Write for CallNotifier {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A line is written in parts; the first part counts.
        if line.contains(&b'{') {
            self.0.send(Instant::now()).ok();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AgentSetup {
    fn new(folder: PathBuf, program: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("bin"))?;
        symlink(program, folder.join("bin/claude"))?;
        let (bell, calls) = channel();
        let server = Server::start_at(0, Commands::default(), CallNotifier(bell))?;
        // The script of the fake agent.
        fs::write(folder.join("script"), format!("call 127.0.0.1:{} ok done\n", server.port()))?;
        Ok(Self { server, program: program.to_owned(), folder, calls })
    }

    /// Returns the agent's environment for a scenario of its provider.
    fn environment(&self, scenario: &str) -> Result<BTreeMap<OsString, OsString>> {
        let home = self.folder.join("home");
        let invocation = Cli::Claude.invocation(&self.program, &self.server, scenario, &home)?;
        let mut env = invocation.env;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut all = self.folder.join("bin").into_os_string();
        all.push(":");
        all.push(path);
        env.insert("PATH".into(), all);
        env.insert("FAKE_CLAUDE".into(), self.folder.clone().into_os_string());
        Ok(env)
    }

    fn cwd(&self) -> PathBuf {
        self.folder.join("home/work")
    }

    /// Returns the time of the next call.
    fn call(&self) -> Result<Instant> {
        self.calls.recv_timeout(LONG).context("the provider was not called")
    }

    /// Waits for the end of a run, and discards its other calls.
    fn wait_for_end(&self, mut child: Child) -> Result<()> {
        let status = child.wait()?;
        ensure!(status.success(), "it ended with {status}");
        while self.calls.try_recv().is_ok() {}
        Ok(())
    }
}

fn settings() -> AgentSettings {
    AgentSettings {
        agent: "claude".into(),
        permissions: Permissions::All,
        ..AgentSettings::default()
    }
}

/// The agent, as a script runs it.
struct ByHand<'a> {
    name: &'static str,
    setup: &'a AgentSetup,
}

impl Contender for ByHand<'_> {
    fn name(&self) -> String {
        format!("{}, by hand", self.name)
    }

    fn round(&mut self) -> Result<u64> {
        let env = self.setup.environment("ok")?;
        let invocation = Agent::of(&settings())?.one_shot(&settings(), None)?;
        let mut command = Command::new(self.setup.folder.join("bin/claude"));
        command.args(&invocation.argv[1..]).env_clear().envs(&env).envs(invocation.env);
        command.current_dir(self.setup.cwd()).stdin(Stdio::piped()).stdout(Stdio::null());
        let begun = Instant::now();
        let mut child = command.spawn().context("claude")?;
        child.stdin.take().context("a pipe")?.write_all(b"hi")?;
        let took = self.setup.call()?.duration_since(begun);
        self.setup.wait_for_end(child)?;
        Ok(nanoseconds(took))
    }
}

/// The agent through Kennel.
struct ThroughKennel<'a> {
    name: &'static str,
    setup: &'a AgentSetup,
    home: &'a Path,
}

impl ThroughKennel<'_> {
    fn command(&self, scenario: &str) -> Result<Command> {
        let mut command = Command::new(program()?);
        command.arg("--home").arg(self.home);
        command.args(["ask", "--agent", "claude", "--permissions", "all", "--cwd"]);
        command.arg(self.setup.cwd()).arg("hi");
        command.env_clear().envs(self.setup.environment(scenario)?);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }
}

impl Contender for ThroughKennel<'_> {
    fn name(&self) -> String {
        format!("{}, kennel ask", self.name)
    }

    fn round(&mut self) -> Result<u64> {
        let mut command = self.command("ok")?;
        let begun = Instant::now();
        let child = command.spawn().context("kennel ask")?;
        let took = self.setup.call()?.duration_since(begun);
        self.setup.wait_for_end(child)?;
        Ok(nanoseconds(took))
    }
}

/// Measures the memory of Kennel's processes and of the agent's for one prompt, while the agent
/// waits for its provider.
#[expect(clippy::cast_precision_loss, reason = "kilobytes")]
fn measure_memory(run: &mut BenchRun, home: &BenchHome, setup: &AgentSetup) -> Result<()> {
    let mut command = ThroughKennel { name: "", setup, home: &home.folder }.command("hang")?;
    let mut asking = command.spawn().context("kennel ask")?;
    setup.call()?;
    // Its memory still grows for a moment.
    std::thread::sleep(Duration::from_secs(1));
    let client = asking.id().cast_signed();
    // A keeper without a child is a spare one.
    let (mut keepers, mut tree) = (Vec::new(), Vec::new());
    for keeper in home.ask_yard(false)?.1 {
        let below = below(keeper)?;
        if !below.is_empty() {
            keepers.push(keeper);
            tree.extend(below);
        }
    }
    let sum = |pids: &[i32]| -> Result<(u64, u64)> {
        let all = pids.iter().map(|&pid| ProcessMemory::of(pid)).collect::<Result<Vec<_>>>()?;
        let dirty = all.iter().map(|memory| memory.private_dirty_kb).sum();
        Ok((dirty, all.iter().map(|memory| memory.resident_kb).sum()))
    };
    let own = sum(&[&[client], &keepers[..]].concat())?;
    let shared = sum(&[home.daemon()?, home.yard])?;
    let agent = sum(&tree)?;
    for (name, (dirty, resident)) in
        [("kennel ask and keeper", own), ("daemon and yard", shared), ("the agent", agent)]
    {
        println!("  {name:<24}{dirty:>9} kB private dirty, {resident:>9} kB resident");
    }
    ensure!(agent.0 > 0, "no agent was seen");
    let share = own.0 as f64 / agent.0 as f64 * 100.0;
    let what = "ask: memory of a prompt's own processes, of the agent's";
    run.targets.push(Target::at_most(what, share, 2.0, "%"));
    // Not INT, which a shell in the background makes its programs ignore.
    kill_process(Pid::from_raw(client).context("a pid")?, Signal::TERM)?;
    asking.wait()?;
    Ok(())
}

/// Returns all descendants of a process.
fn below(ancestor: i32) -> Result<Vec<i32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // A process that has just ended has no parent.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        parents.extend(parent.and_then(|parent| Some((pid, parent.parse::<i32>().ok()?))));
    }
    let mut found = vec![ancestor];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.remove(0);
    Ok(found)
}
