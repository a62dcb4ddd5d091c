//! Yard and keepers with a daemon that is controlled by a test.
//!
//! This program has three roles: cargo starts it as the test, which starts itself as the yard,
//! which starts it as the daemon. The daemon runs one scene, and exits with the result.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use kennel_keeper::protocol::{
    Cause, KeeperReport, KeeperRequest, LaunchOrder, LaunchStage, OutcomeFile, PeerRole, Stdin,
    YardReport, YardRequest,
};
use kennel_keeper::yard::{self, YardConfig};
use kennel_keeper::{KeeperClient, KeeperClientError, YardClient};
use kennel_pen::wire::Channel;
use kennel_pen::wire::WireMessage;
use kennel_pen::{HomeId, PenId, PenName, Status};
use kennel_types::PenKind;
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

#[path = "yard_and_keeper/resources.rs"]
mod resources;
#[path = "yard_and_keeper/reuse.rs"]
mod reuse;
#[path = "yard_and_keeper/time.rs"]
mod time;

/// A test that runs in the daemon.
type Scene = fn(&mut Daemon);

const SCENES: &[(&str, Scene)] = &[
    ("a_launch_runs_to_its_end_and_waits_for_the_release", runs_to_its_end),
    ("a_launch_that_is_dismissed_never_runs", dismissed),
    ("a_missing_program_is_reported_with_its_code", missing_program),
    ("a_stop_reaches_processes_that_left_the_session", stop_reaches_all),
    ("nothing_is_left_of_a_killed_keeper", killed_keeper),
    ("orphans_get_term_before_they_are_killed", orphans_get_term_first),
    ("any_client_may_send_requests_and_only_a_daemon_grants", any_client_may_send_requests),
    ("requests_before_the_program_runs_are_not_lost", early_requests),
    ("only_the_sender_of_a_refused_request_is_notified", only_the_sender_is_refused),
    ("without_a_daemon_the_lease_runs_out", lease),
    ("a_tethered_launch_ends_with_its_owner", tethered),
    ("a_launch_without_activity_is_ended_as_idle", time::truly_idle),
    ("a_child_that_computes_in_silence_is_not_idle", time::computes_in_silence),
    ("a_launch_that_starts_processes_is_not_idle", time::starts_processes),
    ("input_at_the_last_moment_keeps_a_launch_running", time::input_at_the_last_moment),
    ("a_limit_of_zero_is_off_and_costs_nothing", time::zero_is_off),
    ("a_launch_that_takes_too_long_is_ended_with_all_of_its_tree", time::too_long),
    ("a_launch_that_prints_nothing_for_too_long_is_ended", time::silent),
    ("time_limits_hold_without_a_daemon", time::without_a_daemon),
    ("a_report_that_is_passed_on_keeps_a_launch_running", time::reports_count),
    ("a_slow_stop_is_not_caused_by_a_time_limit", time::a_stop_is_not_a_time_limit),
    ("a_keeper_reports_how_long_its_gate_has_been_open", time::how_long_it_is_open),
    ("a_keeper_takes_one_launch_after_another", reuse::one_after_another),
    (
        "a_late_client_does_not_reach_the_next_launch",
        reuse::a_late_client_does_not_reach_the_next_launch,
    ),
    ("a_free_keeper_exits_with_its_daemon", reuse::exits_with_its_daemon),
    ("a_keeper_in_a_namespace_is_not_used_again", reuse::the_init_of_a_namespace_is_not_used_again),
    ("impossible_limits_are_refused_or_reported", resources::refused_or_reported),
];

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_default();
    let home = || PathBuf::from(std::env::args_os().nth(1).expect("the home"));
    match name.to_str() {
        Some("kennel-yard") => {
            let home_id = HomeId::parse("0123456789abcdef").unwrap();
            let config = YardConfig { home: home(), home_id, resumed: None };
            yard::run(config).expect("a yard");
            ExitCode::SUCCESS
        }
        Some("kennel-daemon") => {
            let scene = std::env::var("SCENE").unwrap();
            let (_, run) = SCENES.iter().find(|(name, _)| *name == scene).expect("a scene");
            let mut daemon = Daemon::new(home());
            run(&mut daemon);
            fs::write(daemon.home.join("passed"), "").unwrap();
            daemon.yard.send(&YardRequest::Leave).unwrap();
            ExitCode::SUCCESS
        }
        _ => run_all(),
    }
}

fn run_all() -> ExitCode {
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let list = std::env::args().any(|arg| arg == "--list");
    let ignored = std::env::args().any(|arg| arg == "--ignored");
    let mut failed = 0;
    for (name, _) in SCENES {
        if list {
            if !ignored {
                println!("{name}: test");
            }
            continue;
        }
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg0("kennel-yard").arg(home.path()).env("SCENE", name);
        let mut yard = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        let ended = loop {
            match yard.try_wait().unwrap() {
                Some(status) => break status.success(),
                None if Instant::now() > deadline || home.path().join("failed").exists() => {
                    yard.kill().unwrap();
                    yard.wait().unwrap();
                    break false;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let passed = ended && home.path().join("passed").exists();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u32::from(!passed);
    }
    ExitCode::from(u8::from(failed > 0))
}

struct Daemon {
    home: PathBuf,
    yard: YardClient,
}

struct Launch {
    folder: PathBuf,
    lock: PathBuf,
    keeper: Option<KeeperClient>,
    pid: i32,
}

impl Daemon {
    fn new(home: PathBuf) -> Self {
        let failed = home.join("failed");
        std::panic::set_hook(Box::new(move |info| {
            eprintln!("{info}");
            fs::write(&failed, info.to_string()).ok();
        }));
        let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).unwrap();
        Self { home, yard: YardClient::over(socket) }
    }

    fn order(&self, name: &str, script: &str) -> LaunchOrder {
        let folder = self.home.join(name);
        fs::create_dir(&folder).unwrap();
        let home = HomeId::parse("0123456789abcdef").unwrap();
        LaunchOrder {
            name: PenName { home, session: PenId::parse(name).unwrap() },
            token: "t".repeat(32),
            folder,
            argv: ["/bin/sh", "-c", script].map(OsString::from).to_vec(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
            umask: 0o22,
            limits: Vec::new(),
            kind: PenKind::Subtree,
            linger: Duration::from_millis(100),
            grace: Duration::from_secs(5),
            lease: None,
            tethered: false,
            terminal: None,
            stdin: Stdin::Null,
            output_limit: 1 << 20,
            timeout: None,
            idle: None,
            silence: None,
            memory: None,
            pids: None,
            cpu: None,
            best_effort: false,
            stop_signal: None,
            prompt: None,
        }
    }

    fn fork(&mut self, order: &LaunchOrder) -> Launch {
        let (memfd, lock, path) = prepared(order);
        let (ours, theirs): (OwnedFd, OwnedFd) = Channel::pair().unwrap();
        let descriptors = [memfd.as_fd(), lock.as_fd(), theirs.as_fd()];
        self.yard.send_with(&YardRequest::Fork { key: 7 }, &descriptors).unwrap();
        let YardReport::Forked { key: 7, pid } = self.yard_report() else { panic!("not forked") };
        let keeper = Some(KeeperClient::over(ours));
        let mut launch = Launch { folder: order.folder.clone(), lock: path, keeper, pid };
        assert!(matches!(launch.next_report(), KeeperReport::Hello { .. }));
        launch
    }

    /// Gives another launch to a free keeper.
    #[track_caller]
    fn give(&mut self, keeper: &mut Launch, order: &LaunchOrder) {
        let (memfd, lock, path) = prepared(order);
        let client = keeper.keeper.as_ref().unwrap();
        client.send_with(&KeeperRequest::Keep, &[memfd.as_fd(), lock.as_fd()]).unwrap();
        (keeper.folder, keeper.lock) = (order.folder.clone(), path);
        assert!(matches!(keeper.next_report(), KeeperReport::Hello { .. }));
    }

    fn yard_report(&mut self) -> YardReport {
        loop {
            if let Some((report, _)) = self.yard.receive().unwrap() {
                return report;
            }
            wait(self.yard.as_fd());
        }
    }

    fn keeper_ended(&mut self, launch: &mut Launch) -> (String, Vec<String>) {
        // A free keeper waits for another launch as long as it is connected to a daemon.
        launch.keeper = None;
        match self.yard_report() {
            YardReport::KeeperEnded { pid, how, left } => {
                assert_eq!(pid, launch.pid);
                assert!(launch.is_lock_free(), "its lock is free");
                (how, left)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the order in a memfd, the lock of its launch, and the session's folder.
fn prepared(order: &LaunchOrder) -> (File, File, PathBuf) {
    let memfd = rustix::fs::memfd_create("order", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut memfd = File::from(memfd);
    memfd.write_all(&order.encode()).unwrap();
    let path = order.folder.join("lock");
    let lock = File::create(&path).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    (memfd, lock, path)
}

#[track_caller]
fn wait(fd: impl AsFd) {
    let timeout = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    assert!(rustix::event::poll(&mut fds, Some(&timeout)).unwrap() > 0, "no message arrives");
}

impl Launch {
    #[track_caller]
    fn next_report(&mut self) -> KeeperReport {
        next_report(self.keeper.as_ref().unwrap()).0
    }

    fn send(&self, request: &KeeperRequest) {
        self.keeper.as_ref().unwrap().send(request).unwrap();
    }

    /// Connects to it as a client. It listens soon after its hello.
    #[track_caller]
    fn connect(&self) -> KeeperClient {
        use io::ErrorKind::{ConnectionRefused, NotFound};
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match KeeperClient::connect(&self.folder) {
                Err(error)
                    if matches!(error.kind(), NotFound | ConnectionRefused)
                        && Instant::now() < deadline => {}
                connected => return connected.unwrap(),
            }
        }
    }

    /// Runs the launch from `Go` to the open gate.
    #[track_caller]
    fn run(&mut self) -> i32 {
        self.send(&KeeperRequest::Go);
        let (born, descriptors) = next_report(self.keeper.as_ref().unwrap());
        let KeeperReport::Born { identity, .. } = born else { panic!("{born:?}") };
        assert_eq!(descriptors.len(), 1, "the agent's pidfd");
        self.send(&KeeperRequest::Open);
        assert_eq!(self.next_report(), KeeperReport::Running);
        identity.pid
    }

    #[track_caller]
    fn gone(&mut self) -> kennel_keeper::protocol::Outcome {
        loop {
            if let KeeperReport::Gone(outcome) = self.next_report() {
                return outcome;
            }
        }
    }

    fn is_lock_free(&self) -> bool {
        let lock = File::open(&self.lock).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    fn output(&self) -> Vec<u8> {
        let mut reader =
            kennel_keeper::journal::JournalReader::open(&self.folder.join("journal")).unwrap();
        let mut all = Vec::new();
        while let kennel_keeper::journal::JournalItem::Data { data, .. } = reader.next().unwrap() {
            all.extend_from_slice(data);
        }
        all
    }
}

#[track_caller]
fn next_report(keeper: &KeeperClient) -> (KeeperReport, Vec<OwnedFd>) {
    loop {
        if let Some(report) = keeper.receive().unwrap() {
            return report;
        }
        wait(keeper);
    }
}

fn name_of(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn runs_to_its_end(daemon: &mut Daemon) {
    let order = daemon.order("a", "echo out; echo err >&2; exit 7");
    let mut launch = daemon.fork(&order);
    assert_eq!(name_of(launch.pid), "kennel-keeper");
    let line = fs::read(format!("/proc/{}/cmdline", launch.pid)).unwrap();
    assert!(line.starts_with(b"kennel-keeper\0"), "{line:?}");
    // 0-2, daemon, listener, lock, outcome, cgroup, a folder or two, and nothing else of the yard.
    // While it prepares the launch, there may be another one for a moment.
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", launch.pid)).unwrap().count();
    reuse::until("it has closed the yard's descriptors", || descriptors() <= 10);
    assert!(!launch.is_lock_free());
    launch.run();
    let outcome = launch.gone();
    assert_eq!(outcome.status, Some(Status::Code(7)));
    assert_eq!(outcome.cause, Cause::Ended);
    assert_eq!(OutcomeFile::read(&launch.folder.join("outcome")).unwrap(), Some(outcome));
    let mut lines: Vec<_> = launch.output().split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort();
    assert_eq!(lines, [&b""[..], b"err", b"out"]);
    assert!(!launch.is_lock_free(), "it waits for the release");
    launch.send(&KeeperRequest::Release);
    assert_eq!(daemon.keeper_ended(&mut launch), ("exited with code 0".into(), Vec::new()));
}

fn dismissed(daemon: &mut Daemon) {
    let ran = daemon.home.join("ran");
    let script = format!("touch {}", ran.display());
    for (name, late) in [("a", false), ("b", true)] {
        let order = daemon.order(name, &script);
        let mut launch = daemon.fork(&order);
        if late {
            launch.send(&KeeperRequest::Go);
            assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
        }
        launch.send(&KeeperRequest::Dismiss);
        let outcome = launch.gone();
        assert_eq!((outcome.status, outcome.cause), (None, Cause::Dismissed));
        launch.send(&KeeperRequest::Release);
        daemon.keeper_ended(&mut launch);
    }
    // A daemon that disconnects also calls the launch off.
    let order = daemon.order("c", &script);
    let mut launch = daemon.fork(&order);
    launch.send(&KeeperRequest::Go);
    assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
    launch.keeper = None;
    daemon.keeper_ended(&mut launch);
    let outcome = OutcomeFile::read(&launch.folder.join("outcome")).unwrap().unwrap();
    assert_eq!((outcome.status, outcome.cause), (None, Cause::Dismissed));
    assert!(!ran.exists());
}

fn missing_program(daemon: &mut Daemon) {
    let mut order = daemon.order("a", "");
    order.argv = vec!["/no/such/program".into()];
    let mut launch = daemon.fork(&order);
    launch.send(&KeeperRequest::Go);
    assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
    launch.send(&KeeperRequest::Open);
    let outcome = launch.gone();
    let Cause::Failed { code: 204, why } = outcome.cause else { panic!("{outcome:?}") };
    assert!(why.contains("/no/such/program"), "{why}");
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

fn stop_reaches_all(daemon: &mut Daemon) {
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000' &) ; \
                  echo ready; sleep 1000";
    let order = daemon.order("a", script);
    let mut launch = daemon.fork(&order);
    launch.run();
    let ready = |output: &[u8]| output.iter().filter(|byte| **byte == b'\n').count() == 2;
    while !ready(&launch.output()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = String::from_utf8(launch.output()).unwrap();
    let daemonized: i32 = text.lines().find_map(|line| line.parse().ok()).unwrap();
    launch.send(&KeeperRequest::Stop { grace: Some(Duration::from_millis(200)) });
    assert_eq!(launch.next_report(), KeeperReport::Ending);
    let outcome = launch.gone();
    assert!(matches!(outcome.status, Some(Status::Signal { signal: 9, .. })), "{outcome:?}");
    assert_eq!(outcome.cause, Cause::Stopped);
    assert!(!exists(daemonized));
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

/// Orphans get TERM first, so that they can clean up. Those that ignore it are killed soon.
fn orphans_get_term_first(daemon: &mut Daemon) {
    let home = daemon.home.display().to_string();
    let ignores_term = "trap \"\" TERM; echo deaf; while :; do sleep 1000; done";
    // Nothing reads the shell's messages about its children any more.
    let tidy = format!(
        "trap \": > {home}/tidied; exit\" TERM; echo tidy; exec 2> /dev/null; while :; do sleep 0.01; done"
    );
    let script =
        format!("(setsid sh -c '{ignores_term}' &); (setsid sh -c '{tidy}' &); exec sleep 1000");
    let order = daemon.order("a", &script);
    let mut launch = daemon.fork(&order);
    let agent = launch.run();
    while launch.output().iter().filter(|byte| **byte == b'\n').count() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let below: Vec<i32> = descendants(launch.pid);
    assert!(below.len() >= 3 && below.contains(&agent), "{below:?}");
    let since = Instant::now();
    let pid = rustix::process::Pid::from_raw(launch.pid).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(daemon.keeper_ended(&mut launch), ("ended by signal 9".into(), Vec::new()));
    assert!(below.iter().all(|pid| !exists(*pid)), "an orphan survives");
    assert!(daemon.home.join("tidied").exists(), "it did not get TERM");
    assert!((1..10).contains(&since.elapsed().as_secs()), "{:?}", since.elapsed());
    // The yard sleeps.
    let (yard, before) = (rustix::process::getppid().unwrap().as_raw_pid(), ticks());
    std::thread::sleep(Duration::from_millis(500));
    assert!(ticks() - before <= 2, "the yard {yard} is busy");
}

/// Returns the CPU time of the yard, this process's parent, in ticks.
fn ticks() -> u64 {
    let yard = rustix::process::getppid().unwrap().as_raw_pid();
    let stat = fs::read_to_string(format!("/proc/{yard}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Returns all descendants of a process.
fn descendants(pid: i32) -> Vec<i32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = list.split_ascii_whitespace().map(|child| child.parse::<i32>().unwrap());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

fn killed_keeper(daemon: &mut Daemon) {
    let script = "(setsid sh -c 'env -i sh -c \"echo \\$\\$; exec sleep 1000\"' &) ; sleep 1000";
    let other = daemon.order("b", "sleep 1000");
    let mut bystander = daemon.fork(&other);
    let bystander_agent = bystander.run();
    // Several times: what one death leaves in the yard must not affect other keepers.
    for name in ["a", "c", "d"] {
        let order = daemon.order(name, script);
        let mut launch = daemon.fork(&order);
        let agent = launch.run();
        while !launch.output().ends_with(b"\n") {
            std::thread::sleep(Duration::from_millis(5));
        }
        let orphan: i32 = String::from_utf8(launch.output()).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(launch.pid).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
        assert_eq!(daemon.keeper_ended(&mut launch), ("ended by signal 9".into(), Vec::new()));
        assert!(!exists(agent) && !exists(orphan));
        assert!(exists(bystander_agent) && exists(bystander.pid), "other keepers are not affected");
    }
    bystander.send(&KeeperRequest::Kill);
    bystander.gone();
    bystander.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut bystander);
}

fn any_client_may_send_requests(daemon: &mut Daemon) {
    let order = daemon.order("a", "read line; echo got $line; sleep 1000");
    let mut launch = daemon.fork(&LaunchOrder { stdin: Stdin::Pipe, ..order });
    launch.send(&KeeperRequest::Go);
    assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
    let client = launch.connect();
    client.send(&KeeperRequest::Status).unwrap();
    let KeeperReport::State(state) = next_report(&client).0 else { panic!("no state") };
    assert_eq!(state.stage, LaunchStage::Gated);
    client.send(&KeeperRequest::Open).unwrap();
    assert!(matches!(next_report(&client).0, KeeperReport::Refused(_)), "a hello is required");
    client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
    assert!(matches!(next_report(&client).0, KeeperReport::Hello { version: 1, .. }));
    client.send(&KeeperRequest::Open).unwrap();
    assert!(
        matches!(next_report(&client).0, KeeperReport::Refused(_)),
        "only the daemon may send this"
    );
    launch.send(&KeeperRequest::Open);
    assert_eq!(launch.next_report(), KeeperReport::Running);
    assert_eq!(next_report(&client).0, KeeperReport::Running);
    client.send(&KeeperRequest::Follow).unwrap();
    client.send(&KeeperRequest::Input(b"it\n".to_vec())).unwrap();
    assert_eq!(next_report(&client).0, KeeperReport::InputTaken(3));
    assert_eq!(next_report(&client).0, KeeperReport::Grown(7));
    assert_eq!(launch.output(), b"got it\n");
    client.send(&KeeperRequest::Members).unwrap();
    let KeeperReport::Members(members) = next_report(&client).0 else { panic!("no members") };
    assert!(!members.is_empty());
    client.send(&KeeperRequest::Kill).unwrap();
    while !matches!(next_report(&client).0, KeeperReport::Gone(_)) {}
    launch.gone();
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
    assert!(matches!(client.receive(), Err(KeeperClientError::Closed)));
}

/// Requests before `Go`, and before the gate is opened.
fn early_requests(daemon: &mut Daemon) {
    let order = daemon.order("a", "cat; sleep 1000");
    let order = LaunchOrder { stdin: Stdin::Pipe, tethered: true, ..order };
    let mut launch = daemon.fork(&order);
    let owner = launch.connect();
    let send = |request: &KeeperRequest| {
        owner.send(request).unwrap();
        owner.send(&KeeperRequest::Status).unwrap();
        while !matches!(next_report(&owner).0, KeeperReport::State(_)) {}
    };
    send(&KeeperRequest::Hello { version: 1, role: PeerRole::Owner });
    send(&KeeperRequest::Input(b"early ".to_vec()));
    launch.send(&KeeperRequest::Go);
    assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
    send(&KeeperRequest::Input(b"bird".to_vec()));
    send(&KeeperRequest::CloseInput);
    send(&KeeperRequest::Follow);
    launch.send(&KeeperRequest::Open);
    while !matches!(next_report(&owner).0, KeeperReport::Grown(10)) {}
    assert_eq!(launch.output(), b"early bird");
    drop(owner);
    assert_eq!(launch.gone().cause, Cause::OwnerGone, "its connection was noticed");
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

fn only_the_sender_is_refused(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&order);
    launch.run();
    let [typing, other] = [launch.connect(), launch.connect()];
    for client in [&typing, &other] {
        client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
        assert!(matches!(next_report(client).0, KeeperReport::Hello { .. }));
    }
    typing.send(&KeeperRequest::Input(b"x".to_vec())).unwrap();
    assert!(matches!(next_report(&typing).0, KeeperReport::Refused(_)), "it has no standard input");
    other.send(&KeeperRequest::Status).unwrap();
    let answer = next_report(&other).0;
    assert!(matches!(answer, KeeperReport::State(_)), "{answer:?}");
    launch.send(&KeeperRequest::Kill);
    launch.gone();
    launch.send(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

fn lease(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&LaunchOrder { lease: Some(Duration::from_millis(300)), ..order });
    launch.run();
    // A new daemon connects: the lease does not run out while it is connected.
    let again = KeeperClient::connect(&launch.folder).unwrap();
    again.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Daemon }).unwrap();
    assert!(matches!(next_report(&again).0, KeeperReport::Hello { .. }));
    again.send(&KeeperRequest::Status).unwrap();
    let (KeeperReport::State(state), descriptors) = next_report(&again) else { panic!("no state") };
    assert_eq!((state.stage, descriptors.len()), (LaunchStage::Running, 1));
    launch.keeper = None;
    drop(again);
    let begun = Instant::now();
    daemon.keeper_ended(&mut launch);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let outcome = OutcomeFile::read(&launch.folder.join("outcome")).unwrap().unwrap();
    assert_eq!(outcome.cause, Cause::LeaseOver);
}

fn tethered(daemon: &mut Daemon) {
    for stays in [false, true] {
        let order = daemon.order(if stays { "b" } else { "a" }, "sleep 1000");
        let mut launch = daemon.fork(&LaunchOrder { tethered: true, ..order });
        launch.run();
        let owner = KeeperClient::connect(&launch.folder).unwrap();
        owner.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Owner }).unwrap();
        assert!(matches!(next_report(&owner).0, KeeperReport::Hello { .. }));
        if stays {
            owner.send(&KeeperRequest::Detach).unwrap();
            owner.send(&KeeperRequest::Status).unwrap();
            assert!(matches!(next_report(&owner).0, KeeperReport::State(_)));
            drop(owner);
            launch.send(&KeeperRequest::Status);
            let KeeperReport::State(state) = launch.next_report() else { panic!("no state") };
            assert_eq!(state.stage, LaunchStage::Running);
            launch.send(&KeeperRequest::Kill);
            assert_eq!(launch.gone().cause, Cause::Stopped);
        } else {
            drop(owner);
            assert_eq!(launch.gone().cause, Cause::OwnerGone);
        }
        launch.send(&KeeperRequest::Release);
        daemon.keeper_ended(&mut launch);
    }
}
