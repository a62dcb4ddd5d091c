//! Checks some behaviours from outside, through `/proc`: if a behaviour did not do what its name
//! states, every test of the supervisor that uses it would pass for the wrong reason.
//!
//! Every test ends what it started, by pid, and waits for conditions with a deadline.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-agent");
const TIMEOUT: Duration = Duration::from_secs(20);

/// A folder for one test; dropping it removes it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fake-agent-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir(&path).expect("make a folder for the test");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// An agent that runs, and all that it started.
struct Agent {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    folder: Folder,
}

impl Agent {
    fn start(args: &[&str]) -> Self {
        let folder = Folder::new();
        let mut child = Command::new(PROGRAM)
            .args(args)
            .env("FAKE_AGENT_PIDS", folder.file("pids"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the agent");
        let output = BufReader::new(child.stdout.take().expect("a pipe from the agent"));
        Self { child, output, folder }
    }

    /// Starts and waits until the behaviour is up.
    fn ready(args: &[&str]) -> Self {
        let mut agent = Self::start(args);
        assert_eq!(agent.line(), "ready\n", "{args:?}");
        agent
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read a line");
        line
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid fits")
    }

    /// All that ever recorded, with their roles.
    fn recorded(&self) -> Vec<(i32, String)> {
        let text = fs::read_to_string(self.folder.file("pids")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let (pid, role) = line.split_once(' ').expect("a pid and a role");
                (pid.parse().expect("a pid"), role.to_owned())
            })
            .collect()
    }

    /// The pids of one role.
    fn pids(&self, role: &str) -> Vec<i32> {
        let all = self.recorded().into_iter();
        all.filter(|(_, its)| its == role).map(|(pid, _)| pid).collect()
    }

    /// The one process of a role.
    fn only(&self, role: &str) -> i32 {
        let pids = self.pids(role);
        assert_eq!(pids.len(), 1, "{role}: {pids:?}");
        pids[0]
    }

    /// Processes of which all lived at one moment. One look is not enough where some end and others
    /// begin meanwhile; but a process that exists in two scans existed between them.
    fn living_at_one_time(&self) -> Vec<i32> {
        let first_look = self.living();
        first_look.into_iter().filter(|&pid| lives(pid)).collect()
    }

    fn living(&self) -> Vec<i32> {
        let all: HashSet<i32> = self.recorded().into_iter().map(|(pid, _)| pid).collect();
        all.into_iter().filter(|&pid| lives(pid)).collect()
    }
}

impl Drop for Agent {
    /// Repeats until a scan finds no process: a bomb starts new ones meanwhile.
    fn drop(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let living = self.living();
            if living.is_empty() || Instant::now() > deadline {
                break;
            }
            living.into_iter().for_each(end);
            self.child.try_wait().ok();
        }
        // The agent may exist although `/proc` shows no live process: see `lives`.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Kills a process of this test: its identity is checked again with a pidfd open, so that the pid
/// can't be reused.
fn end(pid: i32) {
    send(pid, Signal::KILL);
}

fn send(pid: i32, signal: Signal) {
    let pid_of = Pid::from_raw(pid).expect("a pid above zero");
    let Ok(handle) = pidfd_open(pid_of, PidfdFlags::empty()) else {
        return;
    };
    if lives(pid) {
        pidfd_send_signal(&handle, signal).ok();
    }
}

/// Returns whether a process runs this program. A zombie has none, and neither has, seen from
/// outside, a process whose first thread has ended.
fn lives(pid: i32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe"));
    program.is_ok_and(|program| program == Path::new(PROGRAM))
}

/// The fields of `/proc/PID/stat`.
#[derive(Debug)]
struct Stat {
    state: char,
    parent: i32,
    session: i32,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?.chars().next()?;
    let parent = words.next()?.parse().ok()?;
    let session = words.nth(1)?.parse().ok()?;
    Some(Stat { state, parent, session })
}

fn living_stat(pid: i32) -> Stat {
    stat(pid).unwrap_or_else(|| panic!("process {pid} has ended"))
}

/// Waits until a condition holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a behaviour to its end.
fn run(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).stdin(Stdio::null()).output().expect("run the agent")
}

#[test]
fn double_fork_leaves_the_parent() {
    let agent = Agent::ready(&["double-fork"]);
    let daemon = agent.only("daemon");
    let seen = living_stat(daemon);
    assert_ne!(seen.parent, agent.pid());
    assert_ne!(seen.session, living_stat(agent.pid()).session);
    assert_ne!(seen.session, daemon, "a daemon leads no session");
    assert!(lives(agent.pid()));
}

#[test]
fn a_daemon_survives_the_agent() {
    for behaviour in ["double-fork-exit", "env-i-exit"] {
        let mut agent = Agent::ready(&[behaviour]);
        let code = agent.child.wait().expect("wait for the agent").code();
        assert_eq!(code, Some(0), "{behaviour}");
        assert!(lives(agent.only("daemon")), "{behaviour}");
    }
}

#[test]
fn env_i_has_no_environment() {
    let agent = Agent::ready(&["env-i"]);
    let daemon = agent.only("daemon");
    let environment = fs::read(format!("/proc/{daemon}/environ")).expect("its environment");
    assert!(environment.is_empty(), "{environment:?}");
    assert_ne!(living_stat(daemon).parent, agent.pid());
}

#[test]
fn a_chain_has_one_child_per_process() {
    for (behaviour, sessions) in [("chain", 1), ("chain-setsid", 6)] {
        let agent = Agent::ready(&[behaviour, "5"]);
        let links = agent.pids("link");
        assert_eq!(links.len(), 5);
        let parents: HashMap<i32, i32> =
            links.iter().map(|&link| (living_stat(link).parent, link)).collect();
        let mut last = agent.pid();
        for _ in 0..5 {
            last = parents[&last];
        }
        let all = links.into_iter().chain([agent.pid()]);
        let distinct: HashSet<i32> = all.map(|pid| living_stat(pid).session).collect();
        assert_eq!(distinct.len(), sessions, "{behaviour}");
    }
}

#[test]
fn a_storm_leaves_all_its_daemons() {
    let mut agent = Agent::ready(&["daemonize-storm", "20"]);
    agent.child.wait().expect("wait for the agent");
    let daemons = agent.pids("daemon");
    assert_eq!(daemons.len(), 20);
    assert!(daemons.into_iter().all(lives));
}

#[test]
fn report_is_json() {
    let output = Command::new(PROGRAM)
        .args(["report", "odd \"argument\"\n"])
        .env_clear()
        .env("ODD", "\\ \t \u{1} é")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .expect("run the agent");
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    assert_eq!(report["argv"][1], "report");
    assert_eq!(report["argv"][2], "odd \"argument\"\n");
    assert_eq!(report["cwd"], "/");
    assert_eq!(report["env"], serde_json::json!({ "ODD": "\\ \t \u{1} é" }));
    assert_eq!(report["fds"]["0"], "/dev/null");
    let fds = report["fds"].as_object().expect("an object");
    let own = format!("/proc/{}/fd", report["pid"]);
    assert!(fds.values().all(|target| target != &own), "{fds:?}");
    assert_eq!(report["ppid"], std::process::id());
    assert_eq!(report["isatty"], serde_json::json!([false, false, false]));
    let files = report["limits"]["RLIMIT_NOFILE"].as_array();
    assert_eq!(files.map(Vec::len), Some(2));
    assert!(report["cgroup"].as_str().is_some_and(|path| path.starts_with('/')));
}

#[test]
fn a_second_lock_collides() {
    let folder = Folder::new();
    let (path, log) = (folder.file("lock"), folder.file("log"));
    let [path, log] = [&path, &log].map(|name| name.to_str().expect("a plain name"));
    let first = Agent::ready(&["lock", path, log]);
    let second = run(&["lock", path, log]);
    assert_eq!(second.status.code(), Some(70));
    let first_pid = first.pid();
    drop(first);
    assert_eq!(run(&["lock", path, log, "0"]).status.code(), Some(0));
    let text = fs::read_to_string(log).expect("the log");
    let events: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(events, ["start", "COLLISION", "start", "end"]);
    assert!(text.starts_with(&format!("start {first_pid}\n")), "{text}");
}

#[test]
fn work_is_numbered_alone_and_leaves_a_daemon() {
    let folder = Folder::new();
    let (path, log) = (folder.file("lock"), folder.file("log"));
    let [path, log] = [&path, &log].map(|name| name.to_str().expect("a plain name"));
    let mut agent = Agent::ready(&["work", path, log]);
    for number in 0..30 {
        assert_eq!(agent.line(), format!("line {number}\n"));
    }
    assert!(lives(agent.only("daemon")));
    assert_eq!(run(&["work", path, log]).status.code(), Some(70));
    drop(agent);
    let mut agent = Agent::ready(&["work", path, log, "7"]);
    assert_eq!(agent.child.wait().expect("wait for the agent").code(), Some(7));
    assert!(lives(agent.only("daemon")));
    let text = fs::read_to_string(log).expect("the log");
    let events: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(events, ["start", "COLLISION", "start", "end"]);
}

#[test]
fn alone_holds_its_lock_with_its_whole_tree() {
    let folder = Folder::new();
    let (lock, log) = (folder.file("lock"), folder.file("log"));
    let [lock_name, log_name] =
        [&lock, &log].map(|path| path.to_str().expect("a plain path").to_owned());
    let alone = ["alone", &lock_name, &log_name];
    let agent = Agent::start(&[&alone[..], &["with-daemon", "lines", "2", "1", "6"]].concat());
    let daemon = || agent.pids("daemon");
    eventually("the log has its last line", || {
        fs::read_to_string(&log).is_ok_and(|log| log.ends_with(" 6\n"))
    });
    let held = |pid: i32| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives");
        descriptors.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == lock))
    };
    assert!(held(daemon()[0]), "the daemon without environment holds the lock as well");
    let second = run(&[&alone[..], &["exit", "0"]].concat());
    assert_eq!(second.status.code(), Some(70));
    let text = fs::read_to_string(&log).expect("the log");
    let events: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(events, ["start", "end", "COLLISION"], "{text}");
}

#[test]
fn kills_only_its_parent() {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "\"$0\" kill-parent & wait", PROGRAM]).stdout(Stdio::null());
    let folder = Folder::new();
    let pids = folder.file("pids");
    let mut shell = shell.env("FAKE_AGENT_PIDS", &pids).spawn().expect("a shell");
    let status = shell.wait().expect("it ends");
    assert_eq!(status.signal(), Some(9), "{status}");
    let text = fs::read_to_string(&pids).expect("the agent's pid");
    let (agent, _) = text.split_once(' ').expect("PID ROLE");
    let agent = agent.parse().expect("a pid");
    assert!(lives(agent), "it continues");
    end(agent);
}

#[test]
fn flood_writes_exactly_the_requested_bytes() {
    let output = run(&["flood", "200000"]).stdout;
    assert_eq!(output.len(), 200_000);
    for (number, line) in output.chunks(64).enumerate() {
        let expected = format!("{number:063}\n");
        assert_eq!(line, &expected.as_bytes()[..line.len()], "line {number}");
    }
    assert_eq!(run(&["flood", "10", "4"]).stdout, b"000\n001\n00");
}

#[test]
fn a_bomb_keeps_its_bound_and_ends() {
    const MAX: usize = 12;
    for (behaviour, own_sessions) in [("bomb", true), ("bomb-plain", false)] {
        let mut agent = Agent::ready(&[behaviour, "12", "4"]);
        let common = living_stat(agent.pid()).session;
        let mut killed = HashSet::new();
        let mut most = 0;
        // On a busy machine it takes a while until the bomb has grown and replaced what was killed.
        while agent.child.try_wait().expect("wait for the agent").is_none()
            && (most <= MAX / 2 || killed.len() <= 2 * MAX)
        {
            let together = agent.living_at_one_time();
            assert!(together.len() <= MAX, "{behaviour}: {together:?}");
            most = most.max(together.len());
            let others = together.iter().copied().filter(|&pid| pid != agent.pid());
            let victims: Vec<i32> = others.take(3).collect();
            for &pid in &victims {
                let apart = stat(pid).is_none_or(|seen| seen.session != common);
                assert!(apart || !own_sessions, "{pid} is in the session of the test");
                end(pid);
            }
            killed.extend(victims);
        }
        assert!(most > MAX / 2, "{behaviour}: no more than {most} at a time");
        assert!(killed.len() > MAX, "{behaviour}: the killed are not replaced");
        let ended = agent.child.wait().expect("wait for the agent");
        assert_eq!(ended.code(), Some(0), "{behaviour}");
        eventually("the bomb ends by itself", || agent.living().is_empty());
    }
}

#[test]
fn a_hop_changes_its_pid_and_ends() {
    let mut agent = Agent::ready(&["hop", "3"]);
    assert_eq!(agent.child.wait().expect("wait for the agent").code(), Some(0));
    eventually("there are generations", || agent.pids("hop").len() > 10);
    // Generations change so fast that a scan may miss them; the end of the output is certain.
    let mut rest = Vec::new();
    agent.output.read_to_end(&mut rest).expect("read to the end");
    eventually("all have ended", || agent.living().is_empty());
}

#[test]
fn ignore_term_survives_sigterm() {
    let agent = Agent::ready(&["ignore-term", "2"]);
    let all: Vec<i32> = agent.living();
    assert_eq!(all.len(), 3);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        all.iter().for_each(|&pid| send(pid, signal));
    }
    let pending = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut lines = status.lines();
        !lines.any(|line| line == "ShdPnd:\t0000000000000000")
    };
    eventually("the signals are taken", || !all.iter().any(pending));
    assert!(all.into_iter().all(lives));
}

#[test]
fn stop_self_stays_stopped() {
    let agent = Agent::ready(&["stop-self"]);
    let stopped = |pid| stat(pid).is_some_and(|seen| seen.state == 'T');
    assert!(stopped(agent.only("leaf")));
    eventually("the agent stops", || stopped(agent.pid()));
    let watchdog = agent.only("watchdog");
    end(agent.pid());
    end(agent.only("leaf"));
    eventually("the watchdog ends with the processes that it watches", || !lives(watchdog));
}

#[test]
fn a_zombie_stays() {
    let agent = Agent::ready(&["zombie"]);
    let zombie = living_stat(agent.only("zombie"));
    assert_eq!((zombie.state, zombie.parent), ('Z', agent.pid()));
}

#[test]
fn the_first_thread_ends_alone() {
    let mut agent = Agent::ready(&["thread-leader-exit"]);
    assert_eq!(living_stat(agent.pid()).state, 'Z');
    assert!(agent.child.try_wait().expect("ask").is_none(), "it lives");
}

#[test]
fn another_program_runs_in_its_own_session() {
    let agent = Agent::ready(&["fork-exec-other", PROGRAM, "sleep"]);
    let other = agent.only("other");
    assert_eq!(living_stat(other).session, other);
    assert_eq!(run(&["fork-exec-other", "/nonexistent"]).status.code(), Some(67));
}

#[test]
fn exits_with_the_requested_status() {
    assert_eq!(run(&["exit", "37"]).status.code(), Some(37));
    assert_eq!(run(&["die"]).status.code(), Some(1));
    // PIPE is ignored and SEGV handled by std; 40 is a real-time signal.
    for signal in [1, 6, 9, 11, 13, 15, 29, 40] {
        let status = run(&["signal", &signal.to_string()]).status;
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert!(!status.core_dumped(), "{status}");
    }
}

#[test]
fn bad_usage_names_the_value() {
    for args in [
        &["nonsense"][..],
        &["sleep", "nonsense"],
        &["sleep", "1", "nonsense"],
        &["children", "nonsense"],
        &["bomb", "5", "nonsense"],
        &["nest-cgroup", "../nonsense"],
        &["flood", "1", "nonsense"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("nonsense"), "{args:?}: {text}");
    }
}

#[test]
fn reports_a_failed_move() {
    for behaviour in ["move-cgroup", "move-cgroup-child"] {
        let output = run(&[behaviour, "/nonexistent"]);
        assert_eq!(output.status.code(), Some(65), "{behaviour}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("/nonexistent"));
    }
}

#[test]
fn echo_and_line_copy_their_input() {
    for (behaviour, expected) in [("echo", &b"one\ntwo"[..]), ("cat-tty-line", b"got:one\n")] {
        let mut child = Command::new(PROGRAM)
            .arg(behaviour)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the agent");
        let mut input = child.stdin.take().expect("a pipe to the agent");
        input.write_all(b"one\ntwo").expect("write to the agent");
        drop(input);
        let output = child.wait_with_output().expect("wait for the agent");
        assert_eq!(output.stdout, expected, "{behaviour}");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_marker_is_printed_completely() {
    let mut agent = Agent::start(&["marker", "KENNEL-PID 42"]);
    assert_eq!(agent.line(), "KENNEL-PID 42\n");
    assert_eq!(agent.line(), "ready\n");
}
