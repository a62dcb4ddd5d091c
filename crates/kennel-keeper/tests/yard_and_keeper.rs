//! Yard and keepers with a daemon that does nothing but what a test says.
//!
//! This program is all three: started by cargo it is the test, which starts itself as the yard, which starts
//! it as the daemon. The daemon runs one scene, and says by its exit code whether all was well.

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

/// A test inside of the daemon.
type Scene = fn(&mut Daemon);

const SCENES: &[(&str, Scene)] = &[
    ("a_launch_runs_to_its_end_and_waits_for_the_release", runs_to_its_end),
    ("a_launch_that_is_dismissed_never_runs", dismissed),
    ("a_program_that_is_not_there_is_told_with_its_code", not_there),
    ("a_stop_reaches_those_who_left", stop_reaches_all),
    ("a_killed_keeper_leaves_nothing_to_the_yard", killed_keeper),
    ("orphans_are_asked_to_end_before_they_are_killed", orphans_are_asked_first),
    ("anyone_may_ask_and_only_a_daemon_grants", anyone_may_ask),
    ("what_is_said_before_the_program_runs_is_not_lost", said_early),
    ("who_is_refused_is_the_only_one_to_hear_of_it", refused_alone),
    ("without_a_daemon_the_lease_runs_out", lease),
    ("a_tethered_launch_ends_with_its_owner", tether),
    ("a_launch_in_which_nothing_goes_on_is_ended_as_idle", time::truly_idle),
    ("a_child_that_computes_in_silence_is_not_idle", time::computes_in_silence),
    ("a_launch_that_starts_processes_is_not_idle", time::starts_processes),
    ("input_at_the_last_moment_keeps_a_launch", time::input_at_the_last_moment),
    ("a_limit_of_zero_is_off_and_costs_nothing", time::zero_is_off),
    ("a_launch_that_takes_too_long_is_ended_with_all_of_its_tree", time::too_long),
    ("a_launch_that_prints_nothing_for_too_long_is_ended", time::silent),
    ("limits_of_time_hold_without_a_daemon", time::without_a_daemon),
    ("a_report_that_is_passed_on_keeps_a_launch", time::reports_count),
    ("a_stop_that_takes_long_is_no_limits_doing", time::a_stop_is_no_limit),
    ("a_keeper_tells_how_long_its_gate_is_open", time::how_long_it_is_open),
    ("a_keeper_sees_to_one_launch_after_another", reuse::one_after_another),
    ("who_comes_late_does_not_end_up_with_another_launch", reuse::not_reached_by_the_former_way),
    ("a_spare_keeper_goes_with_its_daemon", reuse::goes_with_its_daemon),
    ("a_keeper_in_a_namespace_is_not_used_again", reuse::the_init_of_a_namespace_is_not_used_again),
    ("limits_that_can_not_be_had_are_refused_or_told", resources::refused_or_told),
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
        let YardReport::Forked { key: 7, pid } = self.yard_says() else { panic!("not forked") };
        let keeper = Some(KeeperClient::over(ours));
        let mut launch = Launch { folder: order.folder.clone(), lock: path, keeper, pid };
        assert!(matches!(launch.says(), KeeperReport::Hello { .. }));
        launch
    }

    /// Gives another launch to a keeper that is free.
    #[track_caller]
    fn give(&mut self, keeper: &mut Launch, order: &LaunchOrder) {
        let (memfd, lock, path) = prepared(order);
        let client = keeper.keeper.as_ref().unwrap();
        client.send_with(&KeeperRequest::Keep, &[memfd.as_fd(), lock.as_fd()]).unwrap();
        (keeper.folder, keeper.lock) = (order.folder.clone(), path);
        assert!(matches!(keeper.says(), KeeperReport::Hello { .. }));
    }

    fn yard_says(&mut self) -> YardReport {
        loop {
            if let Some((report, _)) = self.yard.receive().unwrap() {
                return report;
            }
            wait(self.yard.as_fd());
        }
    }

    fn keeper_ended(&mut self, launch: &mut Launch) -> (String, Vec<String>) {
        // One that has done its work waits for more, as long as there is a daemon.
        launch.keeper = None;
        match self.yard_says() {
            YardReport::KeeperEnded { pid, how, left } => {
                assert_eq!(pid, launch.pid);
                assert!(launch.is_lock_free(), "its lock went with it");
                (how, left)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// An order, and the lock of its launch.
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
    assert!(rustix::event::poll(&mut fds, Some(&timeout)).unwrap() > 0, "nothing is said");
}

impl Launch {
    #[track_caller]
    fn says(&mut self) -> KeeperReport {
        says(self.keeper.as_ref().unwrap()).0
    }

    fn tell(&self, request: &KeeperRequest) {
        self.keeper.as_ref().unwrap().send(request).unwrap();
    }

    /// Connects to it as anybody would. It listens soon after its greeting.
    #[track_caller]
    fn visit(&self) -> KeeperClient {
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

    /// From Go to the open gate.
    #[track_caller]
    fn run(&mut self) -> i32 {
        self.tell(&KeeperRequest::Go);
        let (born, descriptors) = says(self.keeper.as_ref().unwrap());
        let KeeperReport::Born { identity, .. } = born else { panic!("{born:?}") };
        assert_eq!(descriptors.len(), 1, "the agent's handle");
        self.tell(&KeeperRequest::Open);
        assert_eq!(self.says(), KeeperReport::Running);
        identity.pid
    }

    #[track_caller]
    fn gone(&mut self) -> kennel_keeper::protocol::Outcome {
        loop {
            if let KeeperReport::Gone(outcome) = self.says() {
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
fn says(keeper: &KeeperClient) -> (KeeperReport, Vec<OwnedFd>) {
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
    // 0-2, daemon, listener, lock, outcome, the ground, a folder or two; nothing else of the yard's. While it
    // prepares there may be another one for a moment.
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", launch.pid)).unwrap().count();
    reuse::until("it has let go of what is the yard's", || descriptors() <= 10);
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
    launch.tell(&KeeperRequest::Release);
    assert_eq!(daemon.keeper_ended(&mut launch), ("exited with code 0".into(), Vec::new()));
}

fn dismissed(daemon: &mut Daemon) {
    let ran = daemon.home.join("ran");
    let script = format!("touch {}", ran.display());
    for (name, late) in [("a", false), ("b", true)] {
        let order = daemon.order(name, &script);
        let mut launch = daemon.fork(&order);
        if late {
            launch.tell(&KeeperRequest::Go);
            assert!(matches!(launch.says(), KeeperReport::Born { .. }));
        }
        launch.tell(&KeeperRequest::Dismiss);
        let outcome = launch.gone();
        assert_eq!((outcome.status, outcome.cause), (None, Cause::Dismissed));
        launch.tell(&KeeperRequest::Release);
        daemon.keeper_ended(&mut launch);
    }
    // A daemon that vanishes says no as well.
    let order = daemon.order("c", &script);
    let mut launch = daemon.fork(&order);
    launch.tell(&KeeperRequest::Go);
    assert!(matches!(launch.says(), KeeperReport::Born { .. }));
    launch.keeper = None;
    daemon.keeper_ended(&mut launch);
    let outcome = OutcomeFile::read(&launch.folder.join("outcome")).unwrap().unwrap();
    assert_eq!((outcome.status, outcome.cause), (None, Cause::Dismissed));
    assert!(!ran.exists());
}

fn not_there(daemon: &mut Daemon) {
    let mut order = daemon.order("a", "");
    order.argv = vec!["/no/such/program".into()];
    let mut launch = daemon.fork(&order);
    launch.tell(&KeeperRequest::Go);
    assert!(matches!(launch.says(), KeeperReport::Born { .. }));
    launch.tell(&KeeperRequest::Open);
    let outcome = launch.gone();
    let Cause::Failed { code: 204, why } = outcome.cause else { panic!("{outcome:?}") };
    assert!(why.contains("/no/such/program"), "{why}");
    launch.tell(&KeeperRequest::Release);
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
    launch.tell(&KeeperRequest::Stop { grace: Some(Duration::from_millis(200)) });
    assert_eq!(launch.says(), KeeperReport::Ending);
    let outcome = launch.gone();
    assert!(matches!(outcome.status, Some(Status::Signal { signal: 9, .. })), "{outcome:?}");
    assert_eq!(outcome.cause, Cause::Stopped);
    assert!(!exists(daemonized));
    launch.tell(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

/// TERM first, so that they can put things away; who does not heed it is killed before long.
fn orphans_are_asked_first(daemon: &mut Daemon) {
    let home = daemon.home.display().to_string();
    let deaf = "trap \"\" TERM; echo deaf; while :; do sleep 1000; done";
    // Nobody reads any more what a shell says of its children.
    let tidy = format!(
        "trap \": > {home}/tidied; exit\" TERM; echo tidy; exec 2> /dev/null; while :; do sleep 0.01; done"
    );
    let script = format!("(setsid sh -c '{deaf}' &); (setsid sh -c '{tidy}' &); exec sleep 1000");
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
    assert!(below.iter().all(|pid| !exists(*pid)), "one survives");
    assert!(daemon.home.join("tidied").exists(), "it was not asked");
    assert!((1..10).contains(&since.elapsed().as_secs()), "{:?}", since.elapsed());
    // And the yard sleeps.
    let (yard, before) = (rustix::process::getppid().unwrap().as_raw_pid(), ticks());
    std::thread::sleep(Duration::from_millis(500));
    assert!(ticks() - before <= 2, "the yard {yard} is busy");
}

/// The CPU time of the yard, our parent, in ticks.
fn ticks() -> u64 {
    let yard = rustix::process::getppid().unwrap().as_raw_pid();
    let stat = fs::read_to_string(format!("/proc/{yard}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Everyone below a process.
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
    // One after the other: what one death leaves in the yard must not strike at others at the next.
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
        assert!(exists(bystander_agent) && exists(bystander.pid), "none of the dead one's");
    }
    bystander.tell(&KeeperRequest::Kill);
    bystander.gone();
    bystander.tell(&KeeperRequest::Release);
    daemon.keeper_ended(&mut bystander);
}

fn anyone_may_ask(daemon: &mut Daemon) {
    let order = daemon.order("a", "read line; echo got $line; sleep 1000");
    let mut launch = daemon.fork(&LaunchOrder { stdin: Stdin::Pipe, ..order });
    launch.tell(&KeeperRequest::Go);
    assert!(matches!(launch.says(), KeeperReport::Born { .. }));
    let client = launch.visit();
    client.send(&KeeperRequest::Status).unwrap();
    let KeeperReport::State(state) = says(&client).0 else { panic!("no state") };
    assert_eq!(state.stage, LaunchStage::Gated);
    client.send(&KeeperRequest::Open).unwrap();
    assert!(matches!(says(&client).0, KeeperReport::Refused(_)), "not without a hello");
    client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
    assert!(matches!(says(&client).0, KeeperReport::Hello { version: 1, .. }));
    client.send(&KeeperRequest::Open).unwrap();
    assert!(matches!(says(&client).0, KeeperReport::Refused(_)), "not even then");
    launch.tell(&KeeperRequest::Open);
    assert_eq!(launch.says(), KeeperReport::Running);
    assert_eq!(says(&client).0, KeeperReport::Running);
    client.send(&KeeperRequest::Follow).unwrap();
    client.send(&KeeperRequest::Input(b"it\n".to_vec())).unwrap();
    assert_eq!(says(&client).0, KeeperReport::InputTaken(3));
    assert_eq!(says(&client).0, KeeperReport::Grown(7));
    assert_eq!(launch.output(), b"got it\n");
    client.send(&KeeperRequest::Members).unwrap();
    let KeeperReport::Members(members) = says(&client).0 else { panic!("no members") };
    assert!(!members.is_empty());
    client.send(&KeeperRequest::Kill).unwrap();
    while !matches!(says(&client).0, KeeperReport::Gone(_)) {}
    launch.gone();
    launch.tell(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
    assert!(matches!(client.receive(), Err(KeeperClientError::Closed)));
}

/// Before Go, and before the gate is opened.
fn said_early(daemon: &mut Daemon) {
    let order = daemon.order("a", "cat; sleep 1000");
    let order = LaunchOrder { stdin: Stdin::Pipe, tethered: true, ..order };
    let mut launch = daemon.fork(&order);
    let owner = launch.visit();
    let say = |request: &KeeperRequest| {
        owner.send(request).unwrap();
        owner.send(&KeeperRequest::Status).unwrap();
        while !matches!(says(&owner).0, KeeperReport::State(_)) {}
    };
    say(&KeeperRequest::Hello { version: 1, role: PeerRole::Owner });
    say(&KeeperRequest::Input(b"early ".to_vec()));
    launch.tell(&KeeperRequest::Go);
    assert!(matches!(launch.says(), KeeperReport::Born { .. }));
    say(&KeeperRequest::Input(b"bird".to_vec()));
    say(&KeeperRequest::CloseInput);
    say(&KeeperRequest::Follow);
    launch.tell(&KeeperRequest::Open);
    while !matches!(says(&owner).0, KeeperReport::Grown(10)) {}
    assert_eq!(launch.output(), b"early bird");
    drop(owner);
    assert_eq!(launch.gone().cause, Cause::OwnerGone, "it was seen to come");
    launch.tell(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

fn refused_alone(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&order);
    launch.run();
    let [types, asks] = [launch.visit(), launch.visit()];
    for client in [&types, &asks] {
        client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
        assert!(matches!(says(client).0, KeeperReport::Hello { .. }));
    }
    types.send(&KeeperRequest::Input(b"x".to_vec())).unwrap();
    assert!(matches!(says(&types).0, KeeperReport::Refused(_)), "it has no standard input");
    asks.send(&KeeperRequest::Status).unwrap();
    let answer = says(&asks).0;
    assert!(matches!(answer, KeeperReport::State(_)), "{answer:?}");
    launch.tell(&KeeperRequest::Kill);
    launch.gone();
    launch.tell(&KeeperRequest::Release);
    daemon.keeper_ended(&mut launch);
}

fn lease(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&LaunchOrder { lease: Some(Duration::from_millis(300)), ..order });
    launch.run();
    // A new daemon takes over: no lease runs out while it is there.
    let again = KeeperClient::connect(&launch.folder).unwrap();
    again.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Daemon }).unwrap();
    assert!(matches!(says(&again).0, KeeperReport::Hello { .. }));
    again.send(&KeeperRequest::Status).unwrap();
    let (KeeperReport::State(state), descriptors) = says(&again) else { panic!("no state") };
    assert_eq!((state.stage, descriptors.len()), (LaunchStage::Running, 1));
    launch.keeper = None;
    drop(again);
    let begun = Instant::now();
    daemon.keeper_ended(&mut launch);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let outcome = OutcomeFile::read(&launch.folder.join("outcome")).unwrap().unwrap();
    assert_eq!(outcome.cause, Cause::LeaseOver);
}

fn tether(daemon: &mut Daemon) {
    for stays in [false, true] {
        let order = daemon.order(if stays { "b" } else { "a" }, "sleep 1000");
        let mut launch = daemon.fork(&LaunchOrder { tethered: true, ..order });
        launch.run();
        let owner = KeeperClient::connect(&launch.folder).unwrap();
        owner.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Owner }).unwrap();
        assert!(matches!(says(&owner).0, KeeperReport::Hello { .. }));
        if stays {
            owner.send(&KeeperRequest::Untether).unwrap();
            owner.send(&KeeperRequest::Status).unwrap();
            assert!(matches!(says(&owner).0, KeeperReport::State(_)));
            drop(owner);
            launch.tell(&KeeperRequest::Status);
            let KeeperReport::State(state) = launch.says() else { panic!("no state") };
            assert_eq!(state.stage, LaunchStage::Running);
            launch.tell(&KeeperRequest::Kill);
            assert_eq!(launch.gone().cause, Cause::Stopped);
        } else {
            drop(owner);
            assert_eq!(launch.gone().cause, Cause::OwnerGone);
        }
        launch.tell(&KeeperRequest::Release);
        daemon.keeper_ended(&mut launch);
    }
}
