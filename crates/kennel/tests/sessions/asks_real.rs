//! The real agent programs through `kennel ask`, against a mock of their model APIs: what is told, how often they are
//! launched, and that nothing is left.
//!
//! They are found where `cargo xtask agents` puts them; those that aren't there are skipped, loudly.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kennel_testing::{Ended, Pen, Process, Running, Scene, Who, eventually, installed_agent};
use mock_llm::{Cli, Kind, Server};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use serde_json::Value;

/// A conversation that nobody has had.
const NOBODYS: &str = "01234567-89ab-4cde-8f01-23456789abcd";
/// How long a stop waits: what a tool leaves is deaf, so it takes all of it.
const GRACE: [&str; 2] = ["--grace", "500ms"];
/// The file for which a tool that is to return waits.
const GO: &str = "work/go";

/// A scene with a real agent in it: one member, and a provider that does as it is told.
struct Office {
    scene: Scene,
    server: Server,
    cli: Cli,
    program: PathBuf,
    /// What the command line of every process of its tools has, and nobody else's.
    mark: String,
}

/// What became of a prompt.
#[derive(Debug)]
struct Told {
    code: i32,
    verdict: String,
    answer: String,
    conversation: Option<String>,
    launches: usize,
    /// All of it.
    whole: Value,
}

impl Office {
    fn open(cli: Cli, who: Who, pen: Pen) -> Option<Self> {
        let program = installed_agent(cli.name())?;
        let scene = Scene::new(who, pen)?;
        let mark = unique_mark();
        let commands = [("stay", stays(&mark)), ("leak", leaks(&mark, &scene.path(GO)))];
        let server = Server::start(commands).expect("a mock on loopback");
        let program = scene.within_reach(&program);
        fs::create_dir(scene.path("bin")).expect("mkdir");
        symlink(&program, scene.path("bin").join(cli.name())).expect("a link");
        let office = Self { scene, server, cli, program, mark };
        // The folder that it works in is made with its configuration.
        let _environment = office.surroundings("ok");
        let folder = office.home().join("work");
        let folder = folder.to_str().expect("a plain path");
        let mut args = vec!["member", "add", "anna", "--agent", cli.name(), "--cwd", folder];
        args.extend(["--permissions", "all"]);
        if cli == Cli::Codex {
            args.extend(["--arg", "--skip-git-repo-check"]);
        }
        office.scene.call_ok(&args);
        Some(office)
    }

    fn home(&self) -> PathBuf {
        self.scene.path("agent")
    }

    /// Writes the agent's configuration for a scenario; gives its environment.
    fn surroundings(&self, scenario: &str) -> BTreeMap<OsString, OsString> {
        let home = self.home();
        let invocation = self.cli.invocation(&self.program, &self.server, scenario, &home);
        let mut env = invocation.expect("its configuration can be written").env;
        if self.cli == Cli::Codex {
            // It tries for half a minute otherwise, and has no variable for that.
            let knobs = "request_max_retries = 1\nstream_max_retries = 1\nwire_api";
            self.edit_configuration("wire_api", knobs);
        }
        self.scene.give_all(&home);
        let path = std::env::var("PATH").expect("a PATH");
        let path = format!("{}:{path}", self.scene.path("bin").display());
        env.insert("PATH".into(), path.into());
        env
    }

    fn edit_configuration(&self, from: &str, to: &str) {
        let file = self.home().join(".codex/config.toml");
        let text = fs::read_to_string(&file).expect("its configuration");
        assert!(text.contains(from), "{from} in {text}");
        fs::write(&file, text.replace(from, to)).expect("written");
    }

    fn command(&self, scenario: &str, args: &[&str]) -> Command {
        let flags = ["ask", "--json", "--pen", self.scene.pen_name()];
        let mut command = self.scene.kennel(&[&flags, &GRACE[..], args].concat());
        command.envs(self.surroundings(scenario));
        command
    }

    fn start(&self, scenario: &str, args: &[&str]) -> Running {
        Running::start(self.command(scenario, args))
    }

    #[track_caller]
    fn ask(&self, scenario: &str, args: &[&str]) -> Told {
        self.told(self.start(scenario, args).wait())
    }

    #[track_caller]
    fn told(&self, ended: Ended) -> Told {
        let whole: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {ended:?}\n{}", self.scene.logs()));
        let text = |name: &str| whole[name].as_str().map(ToOwned::to_owned);
        let session = text("session").expect("a session");
        Told {
            code: ended.code,
            verdict: text("verdict").expect("a verdict"),
            answer: text("answer").unwrap_or_default(),
            conversation: text("conversation"),
            launches: self.launches(&session),
            whole,
        }
    }

    fn launches(&self, session: &str) -> usize {
        let inspected = self.scene.call_json(&["inspect", session, "--json"]);
        inspected["launches"].as_array().expect("launches").len()
    }

    fn member(&self) -> Value {
        self.scene.call_json(&["member", "show", "anna", "--json"])
    }

    /// How often the model was asked in this scenario.
    fn calls(&self, scenario: &str) -> usize {
        let asked = self.server.requests().into_iter();
        let model = [Some(Kind::Anthropic), Some(Kind::Responses)];
        asked.filter(|it| it.scenario == scenario && model.contains(&it.kind)).count()
    }

    /// What the tools have started, and lives.
    fn marked(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").expect("/proc can be listed");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut processes: Vec<_> = pids.filter_map(Process::look).collect();
        processes.retain(|process| process.command.contains(&self.mark));
        processes
    }

    /// The files in which the agent itself keeps a conversation.
    fn files_of(&self, conversation: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("our own folder").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) if name.contains(conversation) && name.ends_with(".jsonl") => {
                        found.push(entry.path());
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Nothing is left, and Kennel knows of nothing either.
    #[track_caller]
    fn close(self) {
        assert_eq!(self.marked(), [], "of its tools");
        self.scene.assert_nothing_left_soon();
        let member = self.member();
        assert_eq!((&member["busy_with"], &member["waiting"]), (&Value::Null, &0.into()));
        let strays = self.scene.call_json(&["strays", "--json"]);
        assert_eq!(strays["strays"], Value::Array(Vec::new()), "{strays:#}");
        self.scene.stop_daemon();
    }
}

/// Digits that no other test has that runs now.
fn unique_mark() -> String {
    static OFFICES: AtomicU32 = AtomicU32::new(0);
    let office = OFFICES.fetch_add(1, Ordering::Relaxed);
    format!("{:08}{office:03}", std::process::id())
}

/// Two that get away from the tool, one of them without an environment; both are deaf to TERM.
fn escapes(mark: &str) -> String {
    let sleep = |seconds: u32| format!("sleep {seconds}.{mark} >/dev/null 2>&1 </dev/null");
    format!(
        "(setsid sh -c 'trap \"\" TERM INT HUP; {} &'); (env -i setsid sh -c '{} &')",
        sleep(281),
        sleep(282)
    )
}

fn stays(mark: &str) -> String {
    format!("{}; sleep 289.{mark}", escapes(mark))
}

fn leaks(mark: &str, go: &Path) -> String {
    let wait = format!("until [ -e {} ]; do sleep 0.1; done", go.display());
    format!("{}; timeout 120 sh -c '{wait}'; echo returned", escapes(mark))
}

/// A port at which nobody listens, and nobody else can.
fn dead_port() -> (OwnedFd, u16) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let address = getsockname(&socket).expect("its own name");
    let address = SocketAddr::try_from(address).expect("an address of the internet");
    (socket, address.port())
}

impl Office {
    /// A member goes on with its conversation: the agent itself has both prompts in one.
    fn success_and_resume(self) {
        let first = self.ask("ok@1", &["anna", "the-first-prompt"]);
        assert_eq!((first.code, first.verdict.as_str()), (0, "succeeded"), "{first:?}");
        assert!(!first.answer.is_empty(), "{first:?}");
        let id = first.conversation.clone().expect("a conversation");
        let second = self.ask("ok@2", &["anna", "the-second-prompt"]);
        assert_eq!((second.code, second.verdict.as_str()), (0, "succeeded"), "{second:?}");
        assert_eq!(second.conversation.as_ref(), Some(&id), "{second:?}");
        assert_eq!((first.launches, second.launches), (1, 1));
        assert_eq!((self.calls("ok@1"), self.calls("ok@2")), (1, 1));
        let has_both = self.files_of(&id).iter().any(|file| {
            let text = fs::read_to_string(file).expect("its own file");
            text.contains("the-first-prompt") && text.contains("the-second-prompt")
        });
        assert!(has_both, "{:?}", self.files_of(&id));
        let fresh = self.ask("ok@3", &["anna", "--fresh", "the-third-prompt"]);
        assert_eq!(fresh.code, 0, "{fresh:?}");
        assert_ne!(fresh.conversation.as_ref(), Some(&id), "{fresh:?}");
        let named = self.ask("ok@4", &["anna", "--resume", &id, "the-fourth-prompt"]);
        assert_eq!(named.conversation.as_ref(), Some(&id), "{named:?}");
        assert_eq!(self.member()["attempts"], 4);
        self.close();
    }

    /// M2, M3: a conversation that is gone costs one launch without it, unless somebody named it.
    fn stale(self) {
        let first = self.ask("ok@1", &["anna", "hello"]);
        let id = first.conversation.clone().expect("a conversation");
        let files = self.files_of(&id);
        assert!(!files.is_empty(), "{first:?}");
        files.iter().for_each(|file| fs::remove_file(file).expect("removed"));
        let second = self.ask("ok@2", &["anna", "go on"]);
        assert_eq!((second.code, second.verdict.as_str()), (0, "succeeded"), "{second:?}");
        assert_eq!((second.launches, self.calls("ok@2")), (2, 1), "{second:?}");
        assert!(second.conversation.is_some_and(|new| new != id), "{:#}", second.whole);
        assert_eq!(self.member()["attempts"], 3);
        let named = self.ask("ok@3", &["anna", "--resume", NOBODYS, "go on"]);
        assert_eq!((named.code, named.verdict.as_str()), (11, "stale_conversation"), "{named:?}");
        assert_eq!((named.launches, self.calls("ok@3")), (1, 0), "{named:?}");
        self.close();
    }

    /// What the provider is to blame for is tried again once, as asked for; anything else never is.
    fn failure(self, status: u16, verdict: &str, code: i32, launches: usize) {
        let scenario = format!("err:{status}");
        let told = self.ask(&scenario, &["anna", "--retries", "1", "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (code, verdict), "{told:?}");
        assert_eq!(told.launches, launches, "{told:?}");
        assert!(self.calls(&scenario) >= launches, "{:?}", self.server.requests());
        // It did nothing for the member's conversation to go on from, or it can: the next prompt is answered.
        let told = self.ask("ok@after", &["anna", "hello"]);
        assert_eq!((told.code, told.launches), (0, 1), "{told:?}");
        self.close();
    }

    /// The provider fails once, and Kennel's second attempt has the answer.
    fn recovers(self) {
        // As often as the agent tries by itself, so that all of its first launch is in vain.
        let failures = if self.cli == Cli::Claude { 3 } else { 4 };
        let scenario = format!("failN:{failures}:500");
        let told = self.ask(&scenario, &["anna", "--retries", "3", "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (0, "succeeded"), "{told:?}");
        assert_eq!((told.launches, self.calls(&scenario)), (2, failures + 1), "{told:?}");
        assert_eq!(self.member()["attempts"], 2);
        self.close();
    }

    /// Claude gives up. Codex waits for the network, however long that takes: a limit of time ends it.
    fn refused(self) {
        let (_held, port) = dead_port();
        let limit = if self.cli == Cli::Codex { "6s" } else { "0s" };
        let flags = ["anna", "--retries", "0", "--timeout", limit, "hello"];
        let mut command = self.command("ok", &flags);
        let outcome = match self.cli {
            Cli::Codex => {
                let live = format!(":{}/", self.server.port());
                self.edit_configuration(&live, &format!(":{port}/"));
                (124, "timed_out")
            }
            _ => {
                command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"));
                (15, "unreachable")
            }
        };
        let told = self.told(Running::start(command).wait());
        assert_eq!((told.code, told.verdict.as_str()), outcome, "{told:?}");
        assert_eq!((told.launches, self.calls("ok")), (1, 0), "{told:?}");
        self.close();
    }

    /// A provider that does not answer: the wall limit ends it, and it is not asked again.
    fn hang(self) {
        let told = self.ask("hang", &["anna", "--timeout", "6s", "--retries", "3", "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (124, "timed_out"), "{told:?}");
        // On a busy machine the time may be over before it has called anybody.
        assert!(self.calls("hang") <= 1, "{:?}", self.server.requests());
        assert_eq!(told.launches, 1, "{told:?}");
        self.close();
    }

    /// It succeeds, and what its tool has left is gone when that is said.
    fn leak(self) {
        let asked = self.start("bash:leak", &["anna", "hello"]);
        eventually("they got away", || self.sleepers() == [281, 282]);
        fs::write(self.scene.path(GO), "").expect("a file in the scene");
        let ended = asked.wait();
        assert_eq!(self.marked(), [], "after {ended:?}");
        let told = self.told(ended);
        assert_eq!((told.code, told.verdict.as_str()), (0, "succeeded"), "{told:?}");
        assert_eq!((told.launches, &told.whole["tools"]), (1, &1.into()), "{told:?}");
        self.close();
    }

    /// The seconds of the sleeps of its tools that are about.
    fn sleepers(&self) -> Vec<u32> {
        let seconds = |process: Process| {
            let rest = process.command.strip_prefix("sleep ")?;
            rest.split('.').next()?.parse().ok()
        };
        let mut all: Vec<u32> = self.marked().into_iter().filter_map(seconds).collect();
        all.sort_unstable();
        all
    }

    /// Cancelled in each phase of its life: told so, launched no more often than it was, and wholly gone.
    fn cancel(self) {
        // While a tool runs.
        let busy = self.start("bash:stay", &["anna", "--retries", "3", "hello"]);
        eventually("the tool runs", || self.sleepers() == [281, 282, 289]);
        // In line.
        let waiting = self.start("ok@line", &["anna", "--queue", "hello"]);
        eventually("it waits", || self.member()["waiting"] == 1);
        waiting.signal("INT");
        let told = self.told(waiting.wait());
        assert_eq!((told.code, told.verdict.as_str()), (130, "cancelled"), "{told:?}");
        assert_eq!(self.calls("ok@line"), 0, "{told:?}");
        assert_eq!(self.sleepers(), [281, 282, 289], "the other one goes on");
        busy.signal("INT");
        let ended = busy.wait();
        assert_eq!(self.marked(), [], "after {ended:?}");
        self.assert_cancelled(ended);
        // While it waits for the API.
        let asked = self.start("hang", &["anna", "--retries", "3", "hello"]);
        eventually("the API was called", || self.calls("hang") == 1);
        asked.signal("INT");
        self.assert_cancelled(asked.wait());
        assert_eq!(self.calls("hang"), 1);
        // While it starts: from the moment at which there is a process.
        let asked = self.start("ok@start", &["anna", "--retries", "3", "hello"]);
        eventually("it starts", || self.scene.keeper().is_some());
        asked.signal("INT");
        self.assert_cancelled(asked.wait());
        let told = self.ask("ok@after", &["anna", "hello"]);
        assert_eq!((told.code, told.launches), (0, 1), "{told:?}");
        self.close();
    }

    /// The whole of it: three members, a plan over them, a cancel in the middle, a prompt that goes on.
    fn plan_over_members(self) {
        let folder = self.home().join("work");
        let folder = folder.to_str().expect("a plain path");
        for name in ["bert", "carl"] {
            let seat = ["--agent", self.cli.name(), "--cwd", folder, "--permissions", "all"];
            self.scene.call_ok(&[&["member", "add", name], &seat[..]].concat());
        }
        let first = self.ask("ok@first", &["anna", "remember the first word"]);
        assert_eq!(first.code, 0, "{first:?}");
        let mut plan = "name = \"work\"\n[[stage]]\nname = \"all\"\n".to_owned();
        for name in ["anna", "bert", "carl"] {
            plan += &format!(
                "[[stage.agent]]\nname = \"{name}\"\nmember = \"{name}\"\nprompt = \"work\"\n"
            );
        }
        let file = self.scene.path("work/plan.toml");
        fs::write(&file, plan).expect("a plan");
        let file = file.to_str().expect("a plain path");
        let mut command = self.scene.kennel(&["plan", "run", "--pen", self.scene.pen_name(), file]);
        command.envs(self.surroundings("bash:stay"));
        let running = Running::start(command);
        eventually("three tools run", || {
            self.sleepers().iter().filter(|seconds| **seconds == 289).count() == 3
        });
        running.signal("INT");
        let told = running.wait();
        assert_eq!(told.code, 130, "{told:?}");
        assert_eq!(told.stdout.matches("seen to be gone").count(), 3, "{told:?}");
        assert_eq!(self.marked(), [], "after {told:?}");
        let before = self.member()["conversation"].as_str().expect("a conversation").to_owned();
        let told = self.ask("ok@after", &["anna", "and the second word"]);
        assert_eq!((told.code, told.launches), (0, 1), "{told:?}");
        let session = told.whole["session"].as_str().expect("a session");
        let session = self.scene.session(session);
        assert_eq!(session["spec"]["agent"]["conversation"], before.as_str(), "{session:#}");
        let kept = self.files_of(told.conversation.as_deref().expect("a conversation"));
        let text: String = kept.iter().map(|f| fs::read_to_string(f).expect("its file")).collect();
        assert!(text.contains("the first word") && text.contains("the second word"), "{kept:?}");
        self.close();
    }

    #[track_caller]
    fn assert_cancelled(&self, ended: Ended) {
        self.scene.assert_nothing_left_soon();
        let told = self.told(ended);
        assert_eq!((told.code, told.verdict.as_str()), (130, "cancelled"), "{told:?}");
        assert_eq!(told.launches, 1, "{told:?}");
    }
}

/// The same for each agent, with the verdicts that differ.
macro_rules! agents {
    ($($name:ident: $cli:ident as $who:ident in $pen:ident;)+) => {$(
        mod $name {
            use super::*;

            fn tell(story: impl FnOnce(Office)) {
                if let Some(office) = Office::open(Cli::$cli, Who::$who, Pen::$pen) {
                    story(office);
                }
            }

            #[test]
            fn answers_and_goes_on_with_its_conversation() {
                tell(Office::success_and_resume);
            }

            #[test]
            fn a_stale_conversation_costs_one_fresh_launch_or_is_an_error() {
                tell(Office::stale);
            }

            #[test]
            fn http_401_is_auth_and_not_tried_again() {
                tell(|office| office.failure(401, "auth", 10, 1));
            }

            #[test]
            fn http_429_is_rate_limited_and_tried_again() {
                tell(|office| office.failure(429, "rate_limited", 13, 2));
            }

            #[test]
            fn http_500_is_server_and_tried_again() {
                tell(|office| office.failure(500, "server", 14, 2));
            }

            #[test]
            fn http_529_is_overloaded_and_tried_again() {
                tell(|office| office.failure(529, "overloaded", 12, 2));
            }

            #[test]
            fn a_provider_that_recovers_is_asked_again() {
                tell(Office::recovers);
            }

            #[test]
            fn nobody_listens() {
                tell(Office::refused);
            }

            #[test]
            fn a_provider_that_hangs_costs_one_launch() {
                tell(Office::hang);
            }

            #[test]
            fn what_a_tool_leaks_is_gone_when_it_succeeds() {
                tell(Office::leak);
            }

            #[test]
            fn a_cancel_ends_it_in_each_phase() {
                tell(Office::cancel);
            }
        }
    )+};
}

agents! {
    claude_of_another_user_in_a_subtree_pen: Claude as Other in Subtree;
    codex_in_a_cgroup_pen: Codex as Root in Cgroup;
}

/// What one does with it, from end to end.
#[test]
fn a_plan_over_three_members_is_cancelled_and_a_prompt_goes_on() {
    if let Some(office) = Office::open(Cli::Claude, Who::Root, Pen::Cgroup) {
        office.plan_over_members();
    }
}
