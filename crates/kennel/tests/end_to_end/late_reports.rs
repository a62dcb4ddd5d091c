//! No ghost sessions: a resume is requested four times at once, exceeds its deadline, has a
//! worktree, and its processes report an hour later. The result is one failed session and nothing
//! else.

use std::fs;
use std::process::Command;
use std::time::Duration;

use kennel_testing::{Ended, Faults, Pen, Running, Scene, Who, alive, eventually, signal};
use serde_json::{Value, json};

use crate::launch_and_cancel::{assert_cleaned, scene_with_points};
use crate::worktrees::Repo;

const TIMEOUT: Duration = Duration::from_secs(20);
/// How long the agent may take until it is ready.
const READY_TIMEOUT: &str = "2m";
/// Just after that.
const OVERDUE: Duration = Duration::from_secs(130);
const HOUR: Duration = Duration::from_secs(3600);

/// The agent's first launch becomes ready and ends. Every other launch stores its environment for
/// the test and never becomes ready. Its escaped child (own session, double fork, ignores TERM)
/// waits for an hour and then reports.
const AGENT: &str = r#"
if [ ! -e "$WORK/again" ]; then exec "$WORK/../kennel" report ready; fi
echo $KENNEL_SESSION >> "$WORK/launches"
setsid sh -c 'sh "$WORK/escaped" < /dev/null > /dev/null 2>&1 &'
env > "$WORK/draft" && mv "$WORK/draft" "$WORK/env"
exec "$WORK/../fake-agent" ignore-term 2
"#;
const ESCAPED: &str = r#"
trap '' TERM INT HUP
echo $$ > "$WORK/draft2" && mv "$WORK/draft2" "$WORK/escaped.pid"
while [ ! -e "$WORK/hour" ]; do sleep 0.02; done
"$WORK/../kennel" report ready; echo $? > "$WORK/late"
"#;

/// The session under test and its scene.
struct Scenario<'a> {
    scene: &'a Scene,
    faults: &'a Faults,
    repo: Repo<'a>,
    /// The session.
    id: String,
}

impl<'a> Scenario<'a> {
    /// Creates a session that was ready once and has ended.
    #[track_caller]
    fn new(scene: &'a Scene, faults: &'a Faults) -> Self {
        let repo = Repo::new(scene);
        fs::write(scene.path("work/escaped"), ESCAPED).expect("a file");
        let flags = ["-d", "--wait-ready", "--worktree", "--name", "x", "--grace", "100ms"];
        let ready = ["--ready", "report", "--ready-timeout", READY_TIMEOUT];
        let work = format!("WORK={}", scene.path("work").display());
        let script = format!("export {work}; {AGENT}");
        let first = repo.run(&[&flags[..], &ready].concat(), &script);
        assert_eq!(first.code, 0, "{first:?}");
        let id = first.stdout.trim_end().to_owned();
        assert_eq!(scene.wait_phase("x", "cleaned")["ready"], "ready");
        repo.assert_settled();
        fs::write(scene.path("work/again"), "").expect("a file");
        Self { scene, faults, repo, id }
    }

    /// Sends four resume requests at once.
    fn resume_four_times(&self) -> Vec<Running> {
        let resume = || Running::start(self.scene.kennel(&["resume", "-d", "--wait-ready", "x"]));
        (0..4).map(|_| resume()).collect()
    }

    /// Waits until the resumed agent and its escaped child run, and all clients wait.
    #[track_caller]
    fn wait_up(&self, clients: &[Running]) {
        eventually("the agent is up", || self.scene.path("work/env").exists());
        eventually("a process has escaped", || self.scene.path("work/escaped.pid").exists());
        eventually("all clients wait", || clients.iter().all(waits));
        // Earlier requests were received before this one.
        let list = self.scene.call_ok(&["ps"]);
        assert!(list.contains("starting"), "{list}");
    }

    /// The launch that never became ready.
    fn resumed(&self) -> String {
        format!("{}_2", self.id)
    }

    /// Checks for one failed session, no process, no worktree, and the same answer for all clients.
    #[track_caller]
    fn assert_failed(&self, answers: &[Ended]) {
        // Exactly when the answer arrives.
        self.scene.assert_nothing_left();
        self.repo.assert_settled();
        assert_eq!(answers.len(), 4);
        for answer in answers {
            assert_eq!((answer.code, answer.stdout.as_str()), (208, ""), "{answer:?}");
            assert!(answer.stderr.contains("x was not ready within 2m"), "{answer:?}");
            assert_eq!(answer.stderr, answers[0].stderr);
        }
        self.assert_one();
    }

    /// Checks that there was one launch and that it is over.
    #[track_caller]
    fn assert_one(&self) {
        let sessions = self.scene.sessions();
        let ids: Vec<_> = sessions.iter().map(|session| session["id"].clone()).collect();
        assert_eq!(ids, [self.id.clone(), self.resumed()], "one launch for all");
        let launches = fs::read_to_string(self.scene.path("work/launches")).expect("a list");
        assert_eq!(launches, format!("{}\n", self.resumed()), "it ran once");
        let resumed = self.scene.session(&self.resumed());
        assert_eq!(resumed["phase"], "cleaned", "{resumed:#}");
        assert_eq!(resumed["reason"]["kind"], "not_ready", "{resumed:#}");
        assert_eq!(resumed["ready"], "missed", "{resumed:#}");
        assert_cleaned(self.scene, &self.resumed());
        let escaped = fs::read_to_string(self.scene.path("work/escaped.pid")).expect("its pid");
        assert!(!alive(escaped.trim_end().parse().expect("a pid")), "the escaped process lives");
    }

    /// An hour later, reports use everything that the agent knew.
    #[track_caller]
    fn assert_late_is_refused(&self) {
        let before = self.scene.sessions();
        self.faults.set_clock(OVERDUE * 2 + HOUR);
        fs::write(self.scene.path("work/hour"), "").expect("a file");
        let late = Running::start(self.posting_ready()).wait();
        assert!(
            late.stdout.contains("\n403 {") && late.stdout.contains("\"code\":\"spent\""),
            "{late:?}"
        );
        // The last one also carries the mark of the launch, so Kennel may end it after it has read
        // the reason.
        let knows = |name: &str| ["KENNEL_SESSION", "KENNEL_TOKEN"].contains(&name);
        for (report, marked) in [
            (&["ready"][..], false),
            (&["busy"], false),
            (&["title", "boo"], false),
            (&["progress", "9"], true),
        ] {
            let mut command = self.scene.kennel(&[&["report"], report].concat());
            let environment = self.environment().into_iter();
            command.envs(environment.filter(|(name, _)| marked || knows(name)));
            let late = Running::start(command).wait();
            assert_eq!((late.code, late.stdout.as_str()), (1, ""), "{late:?}");
            assert!(late.stderr.contains("too late for a report"), "{late:?}");
        }
        self.scene.assert_nothing_left_soon();
        assert_eq!(self.scene.sessions(), before, "nothing has changed");
        self.assert_one();
        self.repo.assert_settled();
        assert!(!self.scene.path("work/late").exists(), "a late report was accepted");
        self.assert_refusals_are_on_record(5);
        // Later launches are not affected either.
        signal(self.scene.daemon().expect("a daemon"), "KILL");
        assert_eq!(self.scene.sessions(), before, "for the next daemon");
    }

    #[track_caller]
    fn assert_refusals_are_on_record(&self, count: usize) {
        let text = self.scene.call_ok(&["events", "--json"]);
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let refused: Vec<_> = events.filter(|event| event["kind"] == "report_refused").collect();
        assert_eq!(refused.len(), count, "{refused:#?}");
        let ended = self.scene.session(&self.resumed())["ended_at"].clone();
        let hour =
            |time: &Value| time.as_str().and_then(|time| time.get(11..13)?.parse::<u32>().ok());
        let ended = hour(&ended).expect("its end");
        for event in &refused {
            assert_eq!(event["session"], Value::from(self.resumed()), "{event:#}");
            let at = hour(&event["time"]).expect("when");
            assert_ne!(at, ended, "by the clock it is an hour later: {event:#}");
        }
    }

    /// Everything that the agent was given.
    fn environment(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.scene.path("work/env")).expect("its environment");
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let ours = pairs.filter(|(name, _)| name.starts_with("KENNEL_"));
        ours.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn variable(&self, name: &str) -> String {
        let all = self.environment();
        let found = all.into_iter().find(|(other, _)| other == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    }

    /// Sends a report with the token, without Kennel's own program.
    fn posting_ready(&self) -> Command {
        let token = self.variable("KENNEL_TOKEN");
        let report = json!({"report": "ready", "session": self.resumed(), "token": token});
        self.posting("/v1/report", &report)
    }

    fn posting(&self, path: &str, body: &Value) -> Command {
        let mut command = self.scene.command(&self.scene.path("fake-agent"));
        let socket = self.scene.kennel_home().join("kennel.sock");
        command.arg("post").arg(socket).args([path, &body.to_string()]);
        command
    }
}

/// Whether a client has sent its request and waits for the answer: then it is in poll(2), and only
/// then with signals read through a descriptor.
fn waits(client: &Running) -> bool {
    let pid = client.pid();
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let polls = ["7 ", "271 "].iter().any(|number| call.starts_with(number));
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    polls && links.any(|link| link.as_os_str() == "anon_inode:[signalfd]")
}

fn finished(clients: Vec<Running>) -> Vec<Ended> {
    clients.into_iter().map(Running::wait).collect()
}

/// R1, R2: with real processes and real git.
fn a_slow_resume_leaves_no_ghost(who: Who, pen: Pen) {
    let Some((scene, faults)) = scene_with_points(who, pen) else { return };
    let scenario = Scenario::new(&scene, &faults);
    let clients = scenario.resume_four_times();
    scenario.wait_up(&clients);
    faults.set_clock(OVERDUE);
    scenario.assert_failed(&finished(clients));
    scenario.assert_late_is_refused();
    scene.stop_daemon();
}

#[test]
fn a_slow_resume_leaves_no_ghost_session_as_root_in_a_cgroup_pen() {
    a_slow_resume_leaves_no_ghost(Who::Root, Pen::Cgroup);
}

#[test]
fn a_slow_resume_leaves_no_ghost_as_root_in_a_subtree_pen() {
    a_slow_resume_leaves_no_ghost(Who::Root, Pen::Subtree);
}

#[test]
fn a_slow_resume_leaves_no_ghost_as_another_user_in_a_cgroup_pen() {
    a_slow_resume_leaves_no_ghost(Who::Other, Pen::Cgroup);
}

#[test]
fn a_slow_resume_leaves_no_ghost_as_another_user_in_a_subtree_pen() {
    a_slow_resume_leaves_no_ghost(Who::Other, Pen::Subtree);
}

/// The daemon is killed on the way: the clients ask its successor and get the same answer.
fn a_slow_resume_leaves_no_ghost_over_a_crash(who: Who, pen: Pen, point: &str) {
    let Some((scene, faults)) = scene_with_points(who, pen) else { return };
    let scenario = Scenario::new(&scene, &faults);
    let early = point.starts_with("daemon.launch");
    if early {
        faults.arm(point);
    }
    let clients = scenario.resume_four_times();
    if !early {
        scenario.wait_up(&clients);
        faults.arm(point);
        faults.set_clock(OVERDUE);
    }
    let held = faults.wait_reached(point, TIMEOUT);
    let held = held.unwrap_or_else(|| panic!("{point} is not passed\n{}", scene.logs()));
    signal(held, "KILL");
    faults.disarm(point);
    eventually("there is another daemon", || scene.daemon().is_some_and(|pid| pid != held));
    if early {
        scenario.wait_up(&clients);
    }
    // It responds, so it has seen the new time.
    let session = scene.session(&scenario.resumed());
    if session["wanted"] == "running" {
        faults.set_clock(OVERDUE * 2);
    }
    scenario.assert_failed(&finished(clients));
    scenario.assert_late_is_refused();
    scene.stop_daemon();
}

#[test]
fn a_daemon_that_is_killed_while_it_launches_leaves_no_ghost() {
    for (who, pen) in [(Who::Root, Pen::Cgroup), (Who::Other, Pen::Subtree)] {
        a_slow_resume_leaves_no_ghost_over_a_crash(who, pen, "daemon.launch.running");
    }
}

#[test]
fn a_daemon_that_is_killed_at_the_deadline_leaves_no_ghost() {
    for point in ["daemon.ready.overdue", "daemon.stop.send"] {
        a_slow_resume_leaves_no_ghost_over_a_crash(Who::Other, Pen::Subtree, point);
    }
}

#[test]
fn a_daemon_that_is_killed_while_it_cleans_up_leaves_no_ghost() {
    for point in ["daemon.exit.gone", "daemon.worktree.remove", "daemon.record.outcome"] {
        a_slow_resume_leaves_no_ghost_over_a_crash(Who::Other, Pen::Subtree, point);
    }
}

/// Four identical requests, as from a web page.
#[test]
fn four_requests_over_the_socket_get_the_same_answer() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    let scenario = Scenario::new(&scene, &faults);
    let path = std::env::var("PATH").expect("a path");
    let request = json!({
        "after": scenario.id, "env": {"PATH": path}, "by": "a page",
    });
    let path = "/v1/sessions/x/resume?until=ready";
    let mut clients: Vec<_> =
        (0..4).map(|_| Running::start(scenario.posting(path, &request))).collect();
    for client in &mut clients {
        client.wait_line("asked");
    }
    eventually("the agent is up", || {
        assert!(!clients[0].has_ended(), "{:?}", clients.remove(0).wait());
        scene.path("work/env").exists()
    });
    scene.call_ok(&["ps"]);
    faults.set_clock(OVERDUE);
    let answers = finished(clients);
    scene.assert_nothing_left();
    for answer in &answers {
        assert_eq!((answer.code, &answer.stdout), (0, &answers[0].stdout), "{answer:?}");
    }
    let text = answers[0].stdout.strip_prefix("asked\n200 ").expect("an answer");
    let session: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(session["id"], Value::from(scenario.resumed()), "{session:#}");
    assert_eq!(session["reason"]["kind"], "not_ready", "{session:#}");
    assert_eq!(session["ready"], "missed", "{session:#}");
    scenario.assert_one();
    scenario.repo.assert_settled();
    scene.stop_daemon();
}
