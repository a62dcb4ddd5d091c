//! The real agent CLIs through `kennel run`, against a mock of their model APIs.
//!
//! The agent's shell tool starts processes that escape it: new session, dead parent, empty
//! environment, TERM ignored. However the run ends, none may survive. The test observes this from
//! outside: every process of a tool has a number of its test in its command line, and all start in
//! the cgroup of the scene.
//!
//! The test finds the CLIs where `cargo xtask agents` installs them, and skips missing ones with a
//! message.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kennel_testing::{
    AgentUse, Ended, Pen, Process, Running, Scene, Who, eventually, includes_agent,
    installed_agent, signal,
};
use mock_llm::{Cli, Server};
use rustix::process::{Pid, getsid};

/// An escaping process that the tool starts, identified by how many seconds it sleeps. All of them
/// end by themselves if everything else fails.
struct Stray {
    seconds: u32,
    /// Whether its environment, and so every cookie, is empty.
    bare: bool,
    /// The shell command that starts it; `SLEEP` stands for the sleep.
    line: &'static str,
}

const STRAYS: [Stray; 4] = [
    Stray { seconds: 291, bare: false, line: "(setsid sh -c 'nohup SLEEP &')" },
    Stray { seconds: 292, bare: true, line: "(env -i setsid sh -c 'SLEEP &')" },
    Stray { seconds: 293, bare: true, line: "(env -i setsid SLEEP &)" },
    Stray { seconds: 294, bare: false, line: r#"(setsid sh -c 'trap "" TERM INT HUP; SLEEP &')"# },
];

/// How long the tool itself runs in the foreground.
const FOREGROUND: u32 = 299;

/// One stray ignores TERM, so every stop takes the whole grace. All strays stay, so every exit
/// takes the whole linger.
const FLAGS: [&str; 4] = ["--grace", "500ms", "--linger", "500ms"];

/// What the tool does after it has started its strays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It returns once the test has seen them, so that the agent can succeed.
    Return,
    /// It runs until it is ended.
    Stay,
}

/// Which run of which CLI.
#[derive(Clone, Copy)]
struct Case {
    cli: Cli,
    who: Who,
    pen: Pen,
}

impl Case {
    /// The CLI exits by itself while the processes that its tool left are running.
    fn success(self) {
        let Some(agent_run) = AgentRun::start(self, Then::Return) else {
            return;
        };
        fs::write(agent_run.scene.path(GO), "").expect("a file in the scene");
        let ended = agent_run.end();
        assert_eq!(ended.code, 0, "{ended:?}");
        // The mock's answer to the tool's result shows that the CLI finished its turn.
        assert!(ended.stdout.contains("tool done"), "{ended:?}");
    }

    /// `kennel run` gets a signal while the tool runs.
    fn stop(self, name: &str) {
        let Some(agent_run) = AgentRun::start(self, Then::Stay) else {
            return;
        };
        agent_run.run.signal(name);
        let ended = agent_run.end();
        // Each CLI has its own exit code for being stopped. Kennel's own failures are 201 and
        // above.
        assert!((0..=200).contains(&ended.code), "{ended:?}");
    }

    /// The CLI is killed from outside while its tool runs.
    fn kill_of_the_agent(self) {
        let Some(agent_run) = AgentRun::start(self, Then::Stay) else {
            return;
        };
        signal(agent_run.agent().expect("it runs"), "KILL");
        let ended = agent_run.end();
        assert_eq!(ended.code, 128 + 9, "{ended:?}");
    }

    /// `kennel run` itself is killed while the tool runs, so no client waits for the end.
    fn kill_of_kennel(self) {
        let Some(agent_run) = AgentRun::start(self, Then::Stay) else {
            return;
        };
        agent_run.run.signal("KILL");
        let ended = agent_run.run.wait();
        assert_eq!(ended.code, -9, "{ended:?}");
        eventually("the tool's processes end", || marked(&agent_run.mark).is_empty());
        agent_run.scene.assert_nothing_left_soon();
    }
}

/// A real CLI that runs under Kennel in a scene.
struct AgentRun {
    scene: Scene,
    server: Server,
    run: Running,
    /// The digits after the decimal point in the seconds of every sleep of this run, and of no
    /// other.
    mark: String,
    then: Then,
}

/// The file that a returning tool waits for.
const GO: &str = "work/go";

impl AgentRun {
    /// Starts the CLI and waits until its strays run. Returns `None` with a message if that is
    /// impossible here.
    fn start(case: Case, then: Then) -> Option<Self> {
        if !includes_agent(case.cli.name(), AgentUse::Foreground) {
            return None;
        }
        let program = installed_agent(case.cli.name())?;
        let scene = Scene::new(case.who, case.pen)?;
        let mark = unique_mark();
        let script = script(&mark, then, &scene.path(GO));
        let server = Server::start([("tool", script)]).expect("a mock on loopback");
        let run = Running::start(command(&scene, case.cli, &program, &server));
        let agent_run = Self { scene, server, run, mark, then };
        Some(agent_run.wait_for_strays())
    }

    /// Waits until the tool and its strays run, with the strays out of the agent's reach. Otherwise
    /// the test would show nothing.
    fn wait_for_strays(mut self) -> Self {
        eventually("the tool and its strays run", || self.strays_run() || self.run.has_ended());
        if self.run.has_ended() {
            let requests = self.server.requests();
            panic!("too early: {:?}\n{requests:?}", self.run.wait());
        }
        self
    }

    fn strays_run(&self) -> bool {
        let asked = self.server.requests();
        if !asked.iter().any(|request| !request.tools.is_empty()) {
            return false; // don't walk over /proc before there is something to find
        }
        let processes = all_processes();
        let Some(agent) = self.agent_among(&processes) else {
            return false;
        };
        let sleeper = |seconds: u32| {
            let command = format!("sleep {seconds}.{}", self.mark);
            processes.iter().find(|process| process.command == command)
        };
        let foreground = self.then == Then::Return || sleeper(FOREGROUND).is_some();
        foreground
            && STRAYS.iter().all(|stray| {
                sleeper(stray.seconds).is_some_and(|process| {
                    !descends(process, agent, &processes)
                        && session(process.pid) != session(agent)
                        && stray.bare != has_cookie(process.pid)
                })
            })
    }

    /// The agent's pid.
    fn agent(&self) -> Option<i32> {
        self.agent_among(&all_processes())
    }

    /// The keeper's first child: later, orphans become its children too.
    fn agent_among(&self, processes: &[Process]) -> Option<i32> {
        let keeper = self.scene.keeper()?;
        let children = processes.iter().filter(|process| process.parent == keeper);
        children
            .filter_map(|child| Some((start_time(child.pid)?, child.pid)))
            .min()
            .map(|(_, pid)| pid)
    }

    /// Waits until Kennel ends. From then on nothing may be left.
    #[track_caller]
    fn end(self) -> Ended {
        let ended = self.run.wait();
        assert_eq!(marked(&self.mark), [], "after {ended:?}");
        self.scene.assert_nothing_left();
        ended
    }
}

/// Runs this CLI under `kennel run` in the scene, with the tool call as the mock's answer.
fn command(scene: &Scene, cli: Cli, program: &Path, server: &Server) -> Command {
    let home = scene.path("agent");
    let program = scene.within_reach(program);
    let invocation = cli
        .invocation(&program, server, "bash:tool", &home)
        .expect("its configuration can be written");
    scene.give_all(&home);
    let argv = invocation.argv.iter();
    let argv: Vec<&str> = argv.map(|word| word.to_str().expect("text")).collect();
    let mut command = scene.run_command(&FLAGS, &argv);
    // The scene clears the environment, so this adds what the CLI needs.
    command.envs(&invocation.env).current_dir(&invocation.cwd);
    command
}

/// The script that the shell tool runs.
fn script(mark: &str, then: Then, go: &Path) -> String {
    let mut lines: Vec<String> = STRAYS
        .iter()
        .map(|stray| {
            // If the stray held a pipe of the tool open, the CLI would wait for the stray.
            let sleep = format!("sleep {}.{mark} >/dev/null 2>&1 </dev/null", stray.seconds);
            stray.line.replace("SLEEP", &sleep)
        })
        .collect();
    lines.push(match then {
        Then::Stay => format!("sleep {FOREGROUND}.{mark}"),
        // No `$(…)`: gemini refuses commands that contain it.
        Then::Return => format!(
            "timeout {FOREGROUND} sh -c 'until [ -e {} ]; do sleep 0.1; done'; echo returned",
            go.display()
        ),
    });
    lines.join("; ")
}

/// Digits that no other run has, in this process or another live one.
fn unique_mark() -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let agent_run = RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{:08}{agent_run:03}", std::process::id())
}

/// Every process of the machine.
fn all_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc can be listed");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::look)
        .collect()
}

/// Every process on the machine that belongs to the run with this mark.
fn marked(mark: &str) -> Vec<Process> {
    let mut processes = all_processes();
    processes.retain(|process| process.command.contains(mark));
    processes
}

/// Whether parents lead from the process to this ancestor.
fn descends(process: &Process, ancestor: i32, all: &[Process]) -> bool {
    let mut parent = process.parent;
    while let Some(next) = all.iter().find(|other| other.pid == parent) {
        if next.pid == ancestor {
            return true;
        }
        parent = next.parent;
    }
    false
}

/// The start time of the process, in the kernel's clock ticks.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    behind_the_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn session(pid: i32) -> Option<Pid> {
    getsid(Pid::from_raw(pid)).ok()
}

/// Whether the environment that the process started with contains the cookie.
fn has_cookie(pid: i32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable.starts_with(b"KENNEL_HOME_ID="))
}

/// All five ways to end a run, for each of these cases.
macro_rules! cases {
    ($($name:ident: $cli:ident as $who:ident in $pen:ident;)+) => {$(
        mod $name {
            use super::*;

            const CASE: Case = Case { cli: Cli::$cli, who: Who::$who, pen: Pen::$pen };

            #[test]
            fn nothing_is_left_when_the_agent_succeeds() {
                CASE.success();
            }

            #[test]
            fn nothing_is_left_when_kennel_is_interrupted() {
                CASE.stop("INT");
            }

            #[test]
            fn nothing_is_left_when_kennel_is_terminated() {
                CASE.stop("TERM");
            }

            #[test]
            fn nothing_is_left_when_the_agent_is_killed() {
                CASE.kill_of_the_agent();
            }

            #[test]
            fn nothing_is_left_when_kennel_is_killed() {
                CASE.kill_of_kennel();
            }
        }
    )+};
}

cases! {
    claude_in_a_cgroup_pen: Claude as Root in Cgroup;
    claude_in_a_subtree_pen: Claude as Root in Subtree;
    claude_of_another_user_in_a_cgroup_pen: Claude as Other in Cgroup;
    claude_of_another_user_in_a_subtree_pen: Claude as Other in Subtree;
    codex_in_a_cgroup_pen: Codex as Root in Cgroup;
    codex_in_a_subtree_pen: Codex as Root in Subtree;
    gemini_in_a_subtree_pen: Gemini as Root in Subtree;
    opencode_in_a_cgroup_pen: Opencode as Root in Cgroup;
}
