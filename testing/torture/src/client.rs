//! One client: it calls the real program, and notes what it was answered.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use kennel_testing::{Ended, Running, Scene, Who};

use crate::act::{Act, Token, Verb};
use crate::http;
use crate::ledger::Ledger;
use crate::processes::witness_folder;
use crate::wish::{Wish, Worktree};

/// What takes longer, with nobody standing still for more than two seconds, hangs.
const HANGS: Duration = Duration::from_secs(25);
/// The pause between looks.
const LOOK_AGAIN: Duration = Duration::from_millis(4);

/// See the module.
pub(crate) struct Client<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) ledger: &'a Ledger,
    /// What its sessions are called, before their numbers.
    pub(crate) prefix: String,
    /// The pens that can be had.
    pub(crate) pens: &'a [&'static str],
    /// When it goes home: whoever would wait longer is left.
    pub(crate) until: Instant,
}

/// When a call is given up.
#[derive(Debug, Clone, Copy)]
enum Patience {
    /// Not before it hangs.
    Patient,
    /// It may go on for as long as a session does: at the end of the epoch.
    UntilTheEnd,
}

impl Client<'_> {
    /// Calls until the time is over.
    pub(crate) fn run(&self, rng: &mut Rng) {
        let mut number = 0;
        while Instant::now() < self.until {
            let act = Act::draw(rng, self.pens);
            self.ledger.count(act.verb.name());
            if act.vanishes_ms.is_some() {
                self.ledger.count("clients that vanish");
            }
            number += 1;
            self.perform(&act, number);
        }
    }

    fn perform(&self, act: &Act, number: u32) {
        if let Verb::Run(wish) = &act.verb {
            let name = format!("{}n{number}", self.prefix);
            self.ledger.open().ask(&name, wish);
            return self.ask_for(&name, wish, act.vanishes_ms);
        }
        let Some(name) = self.ledger.open().target(act.target) else { return };
        let vanishes = act.vanishes_ms;
        match &act.verb {
            Verb::Run(_) => {}
            Verb::Retry => self.retry(&name, vanishes),
            Verb::Stop { now } => self.stop(&name, *now, vanishes),
            Verb::StopByHttp => self.stop_by_http(&name),
            Verb::StopAll => {
                // Whoever comes to be meanwhile may be one of all.
                self.ledger.open().note_all(|it| it.stop = true);
                self.call(&["stop", "--all"], vanishes);
                self.ledger.open().note_all(|it| it.stop = true);
            }
            Verb::Signal(signal) => {
                self.ledger.note(&name, |it| {
                    it.signals.insert(*signal);
                });
                self.call(&["signal", &name, &signal.to_string()], vanishes);
            }
            Verb::Send { end } => {
                self.ledger.note(&name, |it| it.typed = true);
                let end = if *end { &["--eof"][..] } else { &[] };
                self.call(&[&["send", &name, "hello", "--enter"], end].concat(), vanishes);
            }
            Verb::Logs { follow: false } => drop(self.call(&["logs", &name], vanishes)),
            Verb::Logs { follow: true } => {
                self.start(
                    self.scene.kennel(&["logs", "-f", &name]),
                    vanishes,
                    Patience::UntilTheEnd,
                );
            }
            Verb::Wait => self.wait(&name, vanishes),
            Verb::Resume(times) => self.resume(&name, *times, vanishes),
            Verb::Remove { force } => self.remove(&name, *force, vanishes),
            Verb::Prune => {
                self.ledger.open().note_all(|it| it.removal = true);
                self.call(&["prune"], vanishes);
                self.ledger.open().note_all(|it| it.removal = true);
            }
            Verb::Forget => {
                self.ledger.note(&name, |it| it.forgotten = true);
                self.call(&["forget", &name], vanishes);
            }
            Verb::Strays { end: false } => drop(self.call(&["strays", "--json"], vanishes)),
            Verb::Strays { end: true } => drop(self.call(&["strays", "--end"], vanishes)),
            Verb::List => drop(self.call(&["ps", "-a", "--json"], vanishes)),
            Verb::ListByHttp => self.list_by_http(),
            Verb::Inspect => drop(self.call(&["inspect", &name], vanishes)),
            Verb::Events => drop(self.call(&["events", "--json"], vanishes)),
            Verb::Worktrees => drop(self.call(&["worktrees", "--json"], vanishes)),
            Verb::Restart => drop(self.call(&["daemon", "restart"], vanishes)),
            Verb::Report(token) => self.report(&name, *token, act.target),
            Verb::Nonsense => self.talk_nonsense(),
        }
    }

    /// `kennel ARGS…`, to its answer or to where the client vanishes.
    fn call(&self, args: &[&str], vanishes_ms: Option<u32>) -> Option<Ended> {
        self.start(self.scene.kennel(args), vanishes_ms, Patience::Patient)
    }

    fn start(
        &self,
        command: Command,
        vanishes_ms: Option<u32>,
        patience: Patience,
    ) -> Option<Ended> {
        let shown = format!("{:?}", command.get_args().skip(2).collect::<Vec<_>>());
        let begun = Instant::now();
        let mut running = Running::start(command);
        let vanishes = vanishes_ms.map(|ms| begun + Duration::from_millis(ms.into()));
        let leaves = match patience {
            Patience::Patient => None,
            Patience::UntilTheEnd => Some(self.until),
        };
        while !running.has_ended() {
            let now = Instant::now();
            if vanishes.is_some_and(|at| now > at) || leaves.is_some_and(|at| now > at) {
                return None; // killed as it is dropped
            }
            if now > begun + HANGS {
                self.ledger.wrong(format!("hangs for {HANGS:?}: {shown}"));
                return None;
            }
            thread::sleep(LOOK_AGAIN);
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

    fn ask_for(&self, name: &str, wish: &Wish, vanishes_ms: Option<u32>) {
        let flags = wish.flags(name, self.scene.pen_name());
        let argv = wish.argv(name, &self.scene.path(""), &witness_folder(self.scene));
        let words: Vec<&str> =
            ["run"].into_iter().chain(flags.iter().map(String::as_str)).chain(["--"]).collect();
        let mut command = self.scene.kennel(&words);
        command.args(argv);
        if wish.worktree != Worktree::No {
            command.current_dir(self.scene.path("work/repo"));
        }
        let patience = match wish.foreground {
            true => Patience::UntilTheEnd,
            // One that never ends and never is ready would be waited for.
            false if wish.ready.is_some_and(|ready| ready.wait) => Patience::UntilTheEnd,
            false => Patience::Patient,
        };
        let Some(ended) = self.start(command, vanishes_ms, patience) else { return };
        let id = ended.stdout.trim_end().to_owned();
        let denied = ended.stderr.contains("nothing was started");
        self.ledger.note(name, |it| {
            it.denied = denied;
            if wish.foreground {
                it.codes.push(("run", ended.code));
            } else if ended.code == 0 {
                it.answered.insert(id);
            }
        });
    }

    fn retry(&self, name: &str, vanishes_ms: Option<u32>) {
        let wish = self.ledger.open().asked.get(name).map(|asked| asked.wish.clone());
        if let Some(wish) = wish.filter(|wish| wish.keyed && !wish.foreground) {
            self.ask_for(name, &wish, vanishes_ms);
        }
    }

    fn stop(&self, name: &str, now: bool, vanishes_ms: Option<u32>) {
        let resumes = self.begin_stop(name);
        let now = if now { &["--now"][..] } else { &[] };
        let ended = self.call(&[&["stop", name], now].concat(), vanishes_ms);
        let ended_well = ended.is_some_and(|ended| ended.code == 0);
        self.ledger.note(name, |it| it.stopped |= ended_well && it.resumes == resumes);
    }

    /// Notes the wish; gives how often it had been resumed.
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
            return; // the socket is its owner's alone
        }
        self.begin_stop(name);
        let path = format!("/v1/sessions/{name}/stop");
        // A daemon that is just being killed gives no answer.
        http::ask(&self.scene.kennel_home(), "POST", &path, r#"{"grace_ms":100}"#).ok();
    }

    fn list_by_http(&self) {
        let listed = http::ask(&self.scene.kennel_home(), "GET", "/v1/sessions?all=true", "");
        match listed {
            // 503: it is just leaving.
            Ok(answer) if answer.status >= 500 && answer.status != 503 => {
                self.ledger.wrong(format!("GET /v1/sessions: {answer:?}"));
            }
            _ => {}
        }
    }

    fn talk_nonsense(&self) {
        let answer = http::ask(&self.scene.kennel_home(), "POST", "/v1/sessions", r#"{"spec":7}"#);
        if let Ok(answer) = answer
            && !(400..500).contains(&answer.status)
        {
            self.ledger.wrong(format!("nonsense was answered with {answer:?}"));
        }
    }

    fn wait(&self, name: &str, vanishes_ms: Option<u32>) {
        let waiting = self.scene.kennel(&["wait", name]);
        let Some(ended) = self.start(waiting, vanishes_ms, Patience::UntilTheEnd) else { return };
        self.ledger.note(name, |it| it.codes.push(("wait", ended.code)));
    }

    fn resume(&self, name: &str, times: u32, vanishes_ms: Option<u32>) {
        self.ledger.note(name, |it| {
            it.resumes += times;
            it.stopped = false;
        });
        thread::scope(|scope| {
            for _ in 0..times {
                scope.spawn(|| {
                    let ended = self.call(&["resume", "-d", "--queue", name], vanishes_ms);
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

    fn remove(&self, name: &str, force: bool, vanishes_ms: Option<u32>) {
        self.ledger.note(name, |it| {
            it.removal = true;
            it.stop |= force;
        });
        let force = if force { &["--force"][..] } else { &[] };
        self.call(&[&["rm", name], force].concat(), vanishes_ms);
    }

    /// A report with a token that is not the launch's own must be refused.
    fn report(&self, name: &str, token: Token, target: u32) {
        let id_of = |name: &str| {
            let deeds = self.ledger.open();
            deeds.asked.get(name).and_then(|it| it.answered.first().cloned())
        };
        let Some(id) = id_of(name) else { return };
        let read = |id: &str| fs::read_to_string(self.scene.session_folder(id).join("token")).ok();
        let secret = match token {
            Token::Own => read(&id),
            Token::Foreign => {
                let other = self.ledger.open().target(target + 1);
                let other = other.filter(|other| other != name).and_then(|other| id_of(&other));
                other.filter(|other| *other != id).and_then(|other| read(&other))
            }
            Token::Invented => Some("0123456789abcdef0123456789abcdef".to_owned()),
        };
        let Some(secret) = secret.filter(|secret| secret.len() == 32) else { return };
        let mut command = self.scene.kennel(&["report", "busy"]);
        command.env("KENNEL_SESSION", &id).env("KENNEL_TOKEN", secret);
        let ended = self.start(command, None, Patience::Patient);
        if let (Some(ended), false) = (ended, token == Token::Own)
            && ended.code == 0
        {
            self.ledger.wrong(format!("a report to {id} with a {token:?} token was believed"));
        }
    }
}
