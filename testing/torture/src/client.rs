//! A client: it runs the real program, and records the answers.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use kennel_testing::{Ended, HttpClient, HttpResponse, Running, Scene, Who};

use crate::call::{ClientCall, ReportToken, TortureVerb};
use crate::ledger::Ledger;
use crate::processes::witness_folder;
use crate::run_arguments::{RunArguments, WorktreeFlag};

/// A call that takes longer counts as hanging: no process is paused for more than two seconds.
const HANG_TIMEOUT: Duration = Duration::from_secs(25);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(4);

/// A client of the torture test.
pub(crate) struct TortureClient<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    /// The prefix of its sessions' names; a number follows.
    pub(crate) prefix: String,
    /// The pens that the scene supports.
    pub(crate) pens: &'a [&'static str],
    /// When the client ends; calls that still wait then are abandoned.
    pub(crate) until: Instant,
}

/// When a call is abandoned.
#[derive(Debug, Clone, Copy)]
enum CallTimeout {
    /// When it hangs.
    Hang,
    /// At the end of the epoch: it may take as long as a session runs.
    EpochEnd,
}

impl TortureClient<'_> {
    /// Makes calls until the time is over.
    pub(crate) fn run(&self, rng: &mut Rng) {
        let mut number = 0;
        while Instant::now() < self.until {
            let call_plan = ClientCall::draw(rng, self.pens);
            self.ledger.count(call_plan.verb.name());
            if call_plan.disconnect_after_ms.is_some() {
                self.ledger.count("clients that disconnect");
            }
            number += 1;
            self.perform(&call_plan, number);
        }
    }

    fn perform(&self, call_plan: &ClientCall, number: u32) {
        if let TortureVerb::Run(arguments) = &call_plan.verb {
            let name = format!("{}n{number}", self.prefix);
            self.ledger.open().ask(&name, arguments);
            return self.ask_for(&name, arguments, call_plan.disconnect_after_ms);
        }
        let Some(name) = self.ledger.open().target(call_plan.target) else { return };
        let disconnect_after = call_plan.disconnect_after_ms;
        match &call_plan.verb {
            TortureVerb::Run(_) => {}
            TortureVerb::Retry => self.retry(&name, disconnect_after),
            TortureVerb::Stop { now } => self.stop(&name, *now, disconnect_after),
            TortureVerb::StopByHttp => self.stop_by_http(&name),
            TortureVerb::StopAll => {
                // `--all` may include sessions that are created during the call.
                self.ledger.open().note_all(|it| it.stop = true);
                self.call(&["stop", "--all"], disconnect_after);
                self.ledger.open().note_all(|it| it.stop = true);
            }
            TortureVerb::Signal(signal) => {
                self.ledger.note(&name, |it| {
                    it.signals.insert(*signal);
                });
                self.call(&["signal", &name, &signal.to_string()], disconnect_after);
            }
            TortureVerb::Send { end } => {
                self.ledger.note(&name, |it| it.typed = true);
                let end = if *end { &["--eof"][..] } else { &[] };
                self.call(&[&["send", &name, "hello", "--enter"], end].concat(), disconnect_after);
            }
            TortureVerb::Logs { follow: false } => {
                drop(self.call(&["logs", &name], disconnect_after))
            }
            TortureVerb::Logs { follow: true } => {
                self.start(
                    self.scene.kennel(&["logs", "-f", &name]),
                    disconnect_after,
                    CallTimeout::EpochEnd,
                );
            }
            TortureVerb::Wait => self.wait(&name, disconnect_after),
            TortureVerb::Resume(times) => self.resume(&name, *times, disconnect_after),
            TortureVerb::Remove { force } => self.remove(&name, *force, disconnect_after),
            TortureVerb::Prune => {
                self.ledger.open().note_all(|it| it.removal = true);
                self.call(&["prune"], disconnect_after);
                self.ledger.open().note_all(|it| it.removal = true);
            }
            TortureVerb::Forget => {
                self.ledger.note(&name, |it| it.forgotten = true);
                self.call(&["forget", &name], disconnect_after);
            }
            TortureVerb::Strays { end: false } => {
                drop(self.call(&["strays", "--json"], disconnect_after))
            }
            TortureVerb::Strays { end: true } => {
                drop(self.call(&["strays", "--end"], disconnect_after))
            }
            TortureVerb::List => drop(self.call(&["ps", "-a", "--json"], disconnect_after)),
            TortureVerb::ListByHttp => self.list_by_http(),
            TortureVerb::Inspect => drop(self.call(&["inspect", &name], disconnect_after)),
            TortureVerb::Events => drop(self.call(&["events", "--json"], disconnect_after)),
            TortureVerb::Worktrees => drop(self.call(&["worktrees", "--json"], disconnect_after)),
            TortureVerb::Restart => drop(self.call(&["daemon", "restart"], disconnect_after)),
            TortureVerb::Report(token) => self.report(&name, *token, call_plan.target),
            TortureVerb::Nonsense => self.send_invalid_request(),
        }
    }

    /// Runs `kennel ARGS…` until it answers or the client disconnects.
    fn call(&self, args: &[&str], disconnect_after_ms: Option<u32>) -> Option<Ended> {
        self.start(self.scene.kennel(args), disconnect_after_ms, CallTimeout::Hang)
    }

    fn start(
        &self,
        command: Command,
        disconnect_after_ms: Option<u32>,
        timeout: CallTimeout,
    ) -> Option<Ended> {
        let shown = format!("{:?}", command.get_args().skip(2).collect::<Vec<_>>());
        let begun = Instant::now();
        let mut running = Running::start(command);
        let disconnect_after =
            disconnect_after_ms.map(|ms| begun + Duration::from_millis(ms.into()));
        let leaves = match timeout {
            CallTimeout::Hang => None,
            CallTimeout::EpochEnd => Some(self.until),
        };
        while !running.has_ended() {
            let now = Instant::now();
            if disconnect_after.is_some_and(|at| now > at) || leaves.is_some_and(|at| now > at) {
                return None; // dropping it kills it
            }
            if now > begun + HANG_TIMEOUT {
                self.ledger.wrong(format!("hangs for {HANG_TIMEOUT:?}: {shown}"));
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
        let ended = running.wait();
        if ended.code < 0 || ended.stderr.contains("panicked") {
            self.ledger.wrong(format!("crashed: {shown}: {ended:?}"));
        }
        if ended.code == 207 {
            self.ledger.count("answers of 207");
            self.ledger.open().internal.push(format!("{shown}: {}", ended.stderr.trim_end()));
        }
        Some(ended)
    }

    fn ask_for(&self, name: &str, arguments: &RunArguments, disconnect_after_ms: Option<u32>) {
        let flags = arguments.flags(name, self.scene.pen_name());
        let argv = arguments.argv(name, &self.scene.path(""), &witness_folder(self.scene));
        let words: Vec<&str> =
            ["run"].into_iter().chain(flags.iter().map(String::as_str)).chain(["--"]).collect();
        let mut command = self.scene.kennel(&words);
        command.args(argv);
        if arguments.worktree != WorktreeFlag::No {
            command.current_dir(self.scene.path("work/repo"));
        }
        let timeout = match arguments.foreground {
            true => CallTimeout::EpochEnd,
            // The call may wait for a session that never ends and never becomes ready.
            false if arguments.ready.is_some_and(|ready| ready.wait) => CallTimeout::EpochEnd,
            false => CallTimeout::Hang,
        };
        let Some(ended) = self.start(command, disconnect_after_ms, timeout) else { return };
        let id = ended.stdout.trim_end().to_owned();
        let denied = ended.stderr.contains("nothing was started");
        self.ledger.note(name, |it| {
            it.denied = denied;
            if arguments.foreground {
                it.codes.push(("run", ended.code));
            } else if ended.code == 0 {
                it.answered.insert(id);
            }
        });
    }

    fn retry(&self, name: &str, disconnect_after_ms: Option<u32>) {
        let arguments =
            self.ledger.open().requested.get(name).map(|requested| requested.arguments.clone());
        if let Some(arguments) =
            arguments.filter(|arguments| arguments.keyed && !arguments.foreground)
        {
            self.ask_for(name, &arguments, disconnect_after_ms);
        }
    }

    fn stop(&self, name: &str, now: bool, disconnect_after_ms: Option<u32>) {
        let resumes = self.begin_stop(name);
        let now = if now { &["--now"][..] } else { &[] };
        let ended = self.call(&[&["stop", name], now].concat(), disconnect_after_ms);
        let ended_well = ended.is_some_and(|ended| ended.code == 0);
        self.ledger.note(name, |it| it.stopped |= ended_well && it.resumes == resumes);
    }

    /// Records the stop request; returns how often the session had been resumed.
    fn begin_stop(&self, name: &str) -> u32 {
        let mut resumes = 0;
        self.ledger.note(name, |it| {
            it.stop = true;
            resumes = it.resumes;
        });
        resumes
    }

    fn stop_by_http(&self, name: &str) {
        if self.scene.who == Who::Other {
            return; // only its owner may use the socket
        }
        self.begin_stop(name);
        let path = format!("/v1/sessions/{name}/stop");
        // A daemon that is killed meanwhile does not answer.
        self.request("POST", &path, r#"{"grace_ms":100}"#).ok();
    }

    fn list_by_http(&self) {
        let listed = self.request("GET", "/v1/sessions?all=true", "");
        match listed {
            // 503: the daemon shuts down.
            Ok(answer) if answer.status >= 500 && answer.status != 503 => {
                self.ledger.wrong(format!("GET /v1/sessions: {answer:?}"));
            }
            _ => {}
        }
    }

    /// Sends one request over a new connection, as a program does that is not `kennel`.
    fn request(&self, method: &str, target: &str, body: &str) -> anyhow::Result<HttpResponse> {
        let mut client = HttpClient::connect(&self.scene.kennel_home())?;
        client.request(method, target, body.as_bytes())
    }

    fn send_invalid_request(&self) {
        let answer = self.request("POST", "/v1/sessions", r#"{"spec":7}"#);
        if let Ok(answer) = answer
            && !(400..500).contains(&answer.status)
        {
            self.ledger.wrong(format!("an invalid request was answered with {answer:?}"));
        }
    }

    fn wait(&self, name: &str, disconnect_after_ms: Option<u32>) {
        let waiting = self.scene.kennel(&["wait", name]);
        let Some(ended) = self.start(waiting, disconnect_after_ms, CallTimeout::EpochEnd) else {
            return;
        };
        self.ledger.note(name, |it| it.codes.push(("wait", ended.code)));
    }

    fn resume(&self, name: &str, times: u32, disconnect_after_ms: Option<u32>) {
        self.ledger.note(name, |it| {
            it.resumes += times;
            it.stopped = false;
        });
        thread::scope(|scope| {
            for _ in 0..times {
                scope.spawn(|| {
                    let ended = self.call(&["resume", "-d", "--queue", name], disconnect_after_ms);
                    if let Some(ended) = ended.filter(|ended| ended.code == 0) {
                        let id = ended.stdout.trim_end().to_owned();
                        self.ledger.note(name, |it| {
                            it.launches.insert(id);
                        });
                    }
                });
            }
        });
    }

    fn remove(&self, name: &str, force: bool, disconnect_after_ms: Option<u32>) {
        self.ledger.note(name, |it| {
            it.removal = true;
            it.stop |= force;
        });
        let force = if force { &["--force"][..] } else { &[] };
        self.call(&[&["rm", name], force].concat(), disconnect_after_ms);
    }

    /// A report with a token that is not the launch's own must be refused.
    fn report(&self, name: &str, token: ReportToken, target: u32) {
        let id_of = |name: &str| {
            let record = self.ledger.open();
            record.requested.get(name).and_then(|it| it.answered.first().cloned())
        };
        let Some(id) = id_of(name) else { return };
        let read = |id: &str| fs::read_to_string(self.scene.session_folder(id).join("token")).ok();
        let secret = match token {
            ReportToken::Own => read(&id),
            ReportToken::Foreign => {
                let other = self.ledger.open().target(target + 1);
                let other = other.filter(|other| other != name).and_then(|other| id_of(&other));
                other.filter(|other| *other != id).and_then(|other| read(&other))
            }
            ReportToken::Invented => Some("0123456789abcdef0123456789abcdef".to_owned()),
        };
        let Some(secret) = secret.filter(|secret| secret.len() == 32) else { return };
        let mut command = self.scene.kennel(&["report", "busy"]);
        command.env("KENNEL_SESSION", &id).env("KENNEL_TOKEN", secret);
        let ended = self.start(command, None, CallTimeout::Hang);
        if let (Some(ended), false) = (ended, token == ReportToken::Own)
            && ended.code == 0
        {
            self.ledger.wrong(format!("a report to {id} with a {token:?} token was accepted"));
        }
    }
}
