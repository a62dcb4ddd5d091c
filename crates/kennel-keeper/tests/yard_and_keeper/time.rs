//! Time limits, with real agents and a real clock. They are short here, so checks are frequent.

use kennel_pen::HostSupport;

use super::*;

const LIMIT: Duration = Duration::from_secs(1);

/// Returns the kinds of pen that are possible here, each with a name for its session.
fn pens() -> Vec<(&'static str, PenKind)> {
    let home = HomeId::random().unwrap();
    let mut pens = vec![("subtree", PenKind::Subtree)];
    match HostSupport::survey(&home).cgroup() {
        Ok(_) => pens.push(("cgroup", PenKind::Cgroup)),
        Err(why) => eprintln!("SKIPPED in a cgroup: {why}"),
    }
    pens
}

/// Waits this long, in which no report of an end may arrive.
#[track_caller]
fn lives_for(launch: &Launch, how_long: Duration) {
    let until = Instant::now() + how_long;
    let keeper = launch.keeper.as_ref().unwrap();
    loop {
        while let Some((report, _)) = keeper.receive().unwrap() {
            let fine = matches!(report, KeeperReport::State(_) | KeeperReport::InputTaken(_));
            assert!(fine, "{report:?}");
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let timeout = rustix::event::Timespec {
            tv_sec: left.as_secs().try_into().unwrap(),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds = [PollFd::new(keeper, PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&timeout)).unwrap();
    }
}

/// Returns the order in this kind of pen, with a name that no other test has.
fn in_pen(order: LaunchOrder, kind: PenKind) -> LaunchOrder {
    let name = PenName::random(order.name.home.clone()).unwrap();
    LaunchOrder { kind, name, ..order }
}

impl Launch {
    fn settle(&mut self, daemon: &mut Daemon) {
        self.send(&KeeperRequest::Release);
        daemon.keeper_ended(self);
    }

    fn wait_output(&self, wanted: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let text = String::from_utf8(self.output()).unwrap();
            if text.contains(wanted) {
                return text;
            }
            assert!(Instant::now() < deadline, "{text:?} lacks {wanted:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub(super) fn truly_idle(daemon: &mut Daemon) {
    for (name, kind) in pens() {
        let order = daemon.order(name, "sleep 1000");
        let mut launch = daemon.fork(&LaunchOrder { idle: Some(LIMIT), ..in_pen(order, kind) });
        launch.run();
        let begun = Instant::now();
        assert_eq!(launch.next_report(), KeeperReport::Ending);
        assert!(begun.elapsed() >= LIMIT - Duration::from_millis(100), "{:?}", begun.elapsed());
        let outcome = launch.gone();
        assert_eq!(outcome.cause, Cause::Idle, "{name}");
        assert!(matches!(outcome.status, Some(Status::Signal { signal: 15, .. })), "{outcome:?}");
        let written = OutcomeFile::read(&launch.folder.join("outcome")).unwrap();
        assert_eq!(written, Some(outcome));
        launch.settle(daemon);
    }
}

pub(super) fn computes_in_silence(daemon: &mut Daemon) {
    for (name, kind) in pens() {
        let stop = daemon.home.join(format!("{name}-stop"));
        // The agent sleeps. A process that it started computes, without output or children.
        let script =
            format!("setsid sh -c 'while [ ! -e {} ]; do :; done' & wait; exit 5", stop.display());
        let order = daemon.order(name, &script);
        let mut launch = daemon.fork(&LaunchOrder { idle: Some(LIMIT), ..in_pen(order, kind) });
        launch.run();
        lives_for(&launch, LIMIT * 3);
        fs::write(&stop, "").unwrap();
        let outcome = launch.gone();
        assert_eq!((outcome.status, outcome.cause), (Some(Status::Code(5)), Cause::Ended));
        launch.settle(daemon);
    }
}

pub(super) fn starts_processes(daemon: &mut Daemon) {
    for (name, kind) in pens() {
        let stop = daemon.home.join(format!("{name}-stop"));
        // Short processes that use hardly any CPU, and have exited at every check.
        let fifo = daemon.home.join(format!("{name}-fifo"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        let script = format!(
            "while [ ! -e {} ]; do /bin/true; read -t 0.3 x <> {}; done; exit 5",
            stop.display(),
            fifo.display()
        );
        let mut order = daemon.order(name, "");
        order.argv = ["/bin/bash", "-c", &script].map(OsString::from).to_vec();
        let mut launch = daemon.fork(&LaunchOrder { idle: Some(LIMIT), ..in_pen(order, kind) });
        launch.run();
        lives_for(&launch, LIMIT * 3);
        fs::write(&stop, "").unwrap();
        let outcome = launch.gone();
        assert_eq!((outcome.status, outcome.cause), (Some(Status::Code(5)), Cause::Ended));
        launch.settle(daemon);
    }
}

/// Input arrives around the moment of the verdict. If it was taken, the session continues.
pub(super) fn input_at_the_last_moment(daemon: &mut Daemon) {
    let launches = (0..12).map(|round: u32| {
        let order = daemon.order(&format!("a{round}"), "exec sleep 1000");
        daemon.fork(&LaunchOrder { idle: Some(LIMIT), stdin: Stdin::Pipe, ..order })
    });
    let mut launches = launches.collect::<Vec<_>>();
    let is_saved = |(round, launch): (usize, &mut Launch)| {
        launch.send(&KeeperRequest::Go);
        assert!(matches!(launch.next_report(), KeeperReport::Born { .. }));
        let client = launch.connect();
        client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
        assert!(matches!(next_report(&client).0, KeeperReport::Hello { .. }));
        launch.send(&KeeperRequest::Open);
        assert_eq!(launch.next_report(), KeeperReport::Running);
        let verdict = Instant::now() + LIMIT;
        assert_eq!(next_report(&client).0, KeeperReport::Running);
        let around = Duration::from_millis(4 * round as u64);
        let at = verdict - Duration::from_millis(30) + around;
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let sent = Instant::now();
        client.send(&KeeperRequest::Input(b"x".to_vec())).unwrap();
        // Reported in the order in which it happened.
        let is_saved = next_report(&client).0 == KeeperReport::InputTaken(1);
        if is_saved {
            let ending = next_report(&client).0;
            assert_eq!((ending, sent.elapsed() >= LIMIT), (KeeperReport::Ending, true), "{round}");
        }
        is_saved
    };
    let saved = std::thread::scope(|scope| {
        let threads =
            launches.iter_mut().enumerate().map(|each| scope.spawn(move || is_saved(each)));
        let threads = threads.collect::<Vec<_>>();
        threads.into_iter().map(|t| t.join().unwrap()).filter(|saved| *saved).count()
    });
    assert!(saved > 0, "no input was in time");
    for mut launch in launches {
        assert_eq!(launch.gone().cause, Cause::Idle);
        launch.settle(daemon);
    }
}

pub(super) fn zero_is_off(daemon: &mut Daemon) {
    let off = Some(Duration::ZERO);
    for (name, limit) in [("a", off), ("b", None)] {
        let order = daemon.order(name, "sleep 1000");
        let order = LaunchOrder { timeout: limit, idle: limit, silence: limit, ..order };
        let mut launch = daemon.fork(&order);
        launch.run();
        // It wakes up once, to give memory back when the agent has run for a second.
        lives_for(&launch, Duration::from_millis(1500));
        let woken = || {
            let text = fs::read_to_string(format!("/proc/{}/status", launch.pid)).unwrap();
            let line = text.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let before = woken();
        lives_for(&launch, LIMIT);
        assert_eq!(woken(), before, "a keeper at rest does not wake up");
        launch.send(&KeeperRequest::Kill);
        assert_eq!(launch.gone().cause, Cause::Stopped);
        launch.settle(daemon);
    }
}

pub(super) fn too_long(daemon: &mut Daemon) {
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo pid $$ done; while :; do sleep 1; done' &) ; \
                  while :; do sleep 1; done";
    for (name, kind) in pens() {
        let order = daemon.order(name, script);
        let (timeout, grace) = (Some(LIMIT), Duration::from_millis(300));
        let mut launch = daemon.fork(&LaunchOrder { timeout, grace, ..in_pen(order, kind) });
        launch.run();
        let begun = Instant::now();
        let text = launch.wait_output("done");
        let left: i32 = text.split(' ').nth(1).unwrap().parse().unwrap();
        let outcome = launch.gone();
        let took = begun.elapsed();
        assert!(took >= LIMIT + grace - Duration::from_millis(100), "{took:?}");
        assert_eq!(outcome.cause, Cause::TimedOut, "{name}");
        assert!(matches!(outcome.status, Some(Status::Signal { signal: 9, .. })), "{outcome:?}");
        assert!(!exists(left));
        launch.settle(daemon);
    }
}

pub(super) fn silent(daemon: &mut Daemon) {
    // Busy, but without output.
    let script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done; while :; do :; done";
    let order = daemon.order("a", script);
    let mut launch = daemon.fork(&LaunchOrder { silence: Some(LIMIT), ..order });
    launch.run();
    launch.wait_output("6");
    let last = Instant::now();
    assert_eq!(launch.next_report(), KeeperReport::Ending);
    let took = last.elapsed();
    assert!(took >= LIMIT - Duration::from_millis(100), "{took:?}");
    assert_eq!(launch.gone().cause, Cause::Silent);
    launch.settle(daemon);
}

pub(super) fn without_a_daemon(daemon: &mut Daemon) {
    let hour = Some(Duration::from_secs(3600));
    for cause in [Cause::TimedOut, Cause::Idle, Cause::Silent] {
        let name = format!("{cause:?}").to_lowercase();
        let on = |limit: Cause| (cause == limit).then_some(LIMIT);
        let order = LaunchOrder {
            lease: hour,
            timeout: on(Cause::TimedOut),
            idle: on(Cause::Idle),
            silence: on(Cause::Silent),
            ..daemon.order(&name, "sleep 1000")
        };
        let mut launch = daemon.fork(&order);
        launch.run();
        launch.keeper = None;
        daemon.keeper_ended(&mut launch);
        let outcome = OutcomeFile::read(&launch.folder.join("outcome")).unwrap().unwrap();
        assert_eq!(outcome.cause, cause);
    }
}

pub(super) fn reports_count(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&LaunchOrder { idle: Some(LIMIT), ..order });
    launch.run();
    for _ in 0..6 {
        lives_for(&launch, LIMIT / 2);
        launch.send(&KeeperRequest::Touch);
    }
    let last = Instant::now();
    let client = KeeperClient::connect(&launch.folder).unwrap();
    client.send(&KeeperRequest::Hello { version: 1, role: PeerRole::Client }).unwrap();
    assert!(matches!(next_report(&client).0, KeeperReport::Hello { .. }));
    client.send(&KeeperRequest::Touch).unwrap();
    assert!(
        matches!(next_report(&client).0, KeeperReport::Refused(_)),
        "only the daemon may report activity"
    );
    assert_eq!(launch.gone().cause, Cause::Idle);
    assert!(last.elapsed() >= LIMIT);
    launch.settle(daemon);
}

pub(super) fn a_stop_is_not_a_time_limit(daemon: &mut Daemon) {
    let order = daemon.order("a", "trap '' TERM; echo up; while :; do sleep 1; done");
    let (timeout, grace) = (Some(LIMIT), LIMIT * 2);
    let mut launch = daemon.fork(&LaunchOrder { timeout, idle: Some(LIMIT), grace, ..order });
    launch.run();
    launch.wait_output("up");
    launch.send(&KeeperRequest::Stop { grace: None });
    assert_eq!(launch.gone().cause, Cause::Stopped, "the limits passed while it was being stopped");
    launch.settle(daemon);
}

pub(super) fn how_long_it_is_open(daemon: &mut Daemon) {
    let order = daemon.order("a", "sleep 1000");
    let mut launch = daemon.fork(&order);
    let ask = |launch: &mut Launch| {
        launch.send(&KeeperRequest::Status);
        let KeeperReport::State(state) = launch.next_report() else { panic!("no state") };
        state.open_for_ms
    };
    assert_eq!(ask(&mut launch), None);
    launch.run();
    let opened = Instant::now();
    lives_for(&launch, Duration::from_millis(50));
    let open_for = ask(&mut launch).unwrap();
    let between = 50..=u64::try_from(opened.elapsed().as_millis()).unwrap() + 1000;
    assert!(between.contains(&open_for), "{open_for} {between:?}");
    launch.send(&KeeperRequest::Kill);
    launch.gone();
    launch.settle(daemon);
}
