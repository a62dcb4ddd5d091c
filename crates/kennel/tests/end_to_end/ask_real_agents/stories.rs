//! What is done with a real agent, and what has to come of it.

use std::fs;

use kennel_testing::{Running, eventually};
use mock_llm::Cli;

use super::setup::{GO, Office, dead_port};
use crate::pty::{SIZE, detach, is_raw, on_a_terminal_with};

/// How a conversation is called that nobody has had.
fn nobodys(cli: Cli) -> &'static str {
    match cli {
        Cli::Opencode => "ses_0123456789abcdefABCDEFGHIJ",
        _ => "01234567-89ab-4cde-8f01-23456789abcd",
    }
}

impl Office {
    /// The next prompt is answered: whatever came before did no harm.
    pub(super) fn answers(&self) {
        let told = self.ask("ok@after", &["anna", "hello"]);
        assert_eq!((told.code, told.launches), (0, 1), "{told:?}");
    }

    /// A member goes on with its conversation: the model is told both prompts.
    pub(super) fn goes_on(&self) {
        let id = self.begins();
        let second = self.ask("ok@2", &["anna", "the-second-prompt"]);
        assert_eq!((second.code, second.verdict.as_str()), (0, "succeeded"), "{second:?}");
        assert_eq!(second.conversation.as_ref(), Some(&id), "{second:?}");
        assert_eq!((second.launches, self.calls("ok@2")), (1, 1), "{second:?}");
        self.assert_told("ok@2", &["the-first-prompt", "the-second-prompt"]);
    }

    /// The same, and what a tool leaves meanwhile is gone when it has succeeded.
    pub(super) fn goes_on_with_a_leak(&self) {
        let id = self.begins();
        self.leak();
        self.assert_told("bash:leak", &["the-first-prompt", "use-a-tool"]);
        assert_eq!(self.member()["conversation"], id.as_str());
    }

    /// The first prompt of a conversation; gives its id.
    fn begins(&self) -> String {
        let first = self.ask("ok@1", &["anna", "the-first-prompt"]);
        assert_eq!((first.code, first.verdict.as_str()), (0, "succeeded"), "{first:?}");
        assert!(!first.answer.is_empty(), "{first:?}");
        assert_eq!((first.launches, self.calls("ok@1")), (1, 1), "{first:?}");
        first.conversation.expect("a conversation")
    }

    /// The model was told all of these in one request.
    #[track_caller]
    fn assert_told(&self, scenario: &str, prompts: &[&str]) {
        let asked = self.requests(scenario);
        let told = asked.iter().any(|it| prompts.iter().all(|prompt| it.body.contains(prompt)));
        assert!(told, "{prompts:?} in {asked:?}");
    }

    /// A new conversation, and then the one before by its name.
    pub(super) fn begins_anew_and_comes_back(&self) {
        let before = self.member();
        let id = before["conversation"].as_str().expect("a conversation");
        let fresh = self.ask("ok@3", &["anna", "--fresh", "the-third-prompt"]);
        assert_eq!(fresh.code, 0, "{fresh:?}");
        assert_ne!(fresh.conversation.as_deref(), Some(id), "{fresh:?}");
        let named = self.ask("ok@4", &["anna", "--resume", id, "the-fourth-prompt"]);
        assert_eq!(named.conversation.as_deref(), Some(id), "{named:?}");
        let attempts = |member: &serde_json::Value| member["attempts"].as_u64();
        assert_eq!(attempts(&self.member()), attempts(&before).map(|before| before + 2));
    }

    /// M2: a conversation that is gone costs one launch without it.
    pub(super) fn stale(&self) {
        self.begins();
        let before = self.member();
        let id = before["conversation"].as_str().expect("a conversation");
        self.lose(id);
        let told = self.ask("ok@stale", &["anna", "go on"]);
        assert_eq!((told.code, told.verdict.as_str()), (0, "succeeded"), "{told:?}");
        assert_eq!((told.launches, self.calls("ok@stale")), (2, 1), "{told:?}");
        let new = told.conversation.expect("a conversation");
        assert_ne!(new, id, "{:#}", told.whole);
        let member = self.member();
        assert_eq!(member["conversation"], new, "the dead one is forgotten");
        assert_eq!(member["attempts"].as_u64(), before["attempts"].as_u64().map(|n| n + 2));
    }

    /// M3: one that somebody named is an error, and no other takes its place.
    pub(super) fn named_and_gone(&self) {
        let nobodys = nobodys(self.cli);
        let named = self.ask("ok@named", &["anna", "--resume", nobodys, "go on"]);
        assert_eq!((named.code, named.verdict.as_str()), (11, "stale_conversation"), "{named:?}");
        assert_eq!((named.launches, self.calls("ok@named")), (1, 0), "{named:?}");
    }

    pub(super) fn http_401(&self) {
        self.failure(401, "auth", 10);
    }

    pub(super) fn http_429(&self) {
        self.failure(429, "rate_limited", 13);
    }

    pub(super) fn http_500(&self) {
        self.failure(500, "server", 14);
    }

    pub(super) fn http_529(&self) {
        self.failure(529, "overloaded", 12);
    }

    /// What the provider is to blame for is tried again as often as asked for; anything else never is.
    fn failure(&self, status: u16, verdict: &str, code: i32) {
        // Whether to try again does not depend on the agent, and the others take too long for it.
        let retries = usize::from(matches!(self.cli, Cli::Claude | Cli::Codex));
        let launches = if status == 401 { 1 } else { 1 + retries };
        let scenario = match self.cli {
            Cli::Opencode => format!("err:{status}:ra0"),
            _ => format!("err:{status}"),
        };
        let retries = retries.to_string();
        // A conversation that failed before it began may be gone already, which would cost a launch.
        let told = self.ask(&scenario, &["anna", "--fresh", "--retries", &retries, "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (code, verdict), "{told:?}");
        assert_eq!(told.launches, launches, "{told:?}");
        assert!(self.calls(&scenario) >= launches, "{:?}", self.server.requests());
    }

    /// The provider fails once, and Kennel's second attempt has the answer.
    pub(super) fn recovers(&self) {
        // As often as the agent tries by itself, so that all of its first launch is in vain.
        let failures = if self.cli == Cli::Claude { 3 } else { 4 };
        let scenario = format!("failN:{failures}:500");
        let told = self.ask(&scenario, &["anna", "--retries", "3", "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (0, "succeeded"), "{told:?}");
        assert_eq!((told.launches, self.calls(&scenario)), (2, failures + 1), "{told:?}");
        assert_eq!(self.member()["attempts"], 2);
    }

    /// Two give up. Codex waits for the network, however long that takes, and opencode for more than a minute: a limit of
    /// time ends them.
    pub(super) fn refused(&self) {
        let (_held, port) = dead_port();
        let (limit, code, verdict) = match self.cli {
            Cli::Claude | Cli::Gemini => ("0s", 15, "unreachable"),
            Cli::Codex | Cli::Opencode => ("6s", 124, "timed_out"),
        };
        let flags = ["anna", "--fresh", "--retries", "0", "--timeout", limit, "hello"];
        let told = self.told(Running::start(self.command_to_nobody(port, &flags)).wait());
        assert_eq!((told.code, told.verdict.as_str()), (code, verdict), "{told:?}");
        assert_eq!((told.launches, self.calls("ok@nobody")), (1, 0), "{told:?}");
    }

    /// A provider that does not answer: the wall limit ends it, and it is not asked again.
    pub(super) fn hang(&self) {
        let told = self.ask("hang", &["anna", "--timeout", "6s", "--retries", "3", "hello"]);
        assert_eq!((told.code, told.verdict.as_str()), (124, "timed_out"), "{told:?}");
        // On a busy machine the time may be over before it has called anybody.
        assert!(self.calls("hang") <= 1, "{:?}", self.server.requests());
        assert_eq!(told.launches, 1, "{told:?}");
    }

    /// It succeeds, and what its tool has left is gone when that is said.
    pub(super) fn leak(&self) {
        let asked = self.start("bash:leak", &["anna", "use-a-tool"]);
        eventually("they got away", || self.sleepers() == [281, 282]);
        fs::write(self.scene.path(GO), "").expect("a file in the scene");
        let ended = asked.wait();
        assert_eq!(self.marked(), [], "after {ended:?}");
        let told = self.told(ended);
        assert_eq!((told.code, told.verdict.as_str()), (0, "succeeded"), "{told:?}");
        assert_eq!((told.launches, &told.whole["tools"]), (1, &1.into()), "{told:?}");
    }

    /// Its screen is shown; the member is busy while it is left to itself, and nothing is left of it after a stop.
    pub(super) fn is_talked_to(&self) {
        let (mut screen, child) = on_a_terminal_with(&self.chat(&["--name", "c", "anna"]), SIZE);
        eventually("our terminal is raw", || is_raw(&screen));
        // Its last line; the words are apart, by keys that move its cursor.
        screen.wait_for("bypass");
        screen.press("hello");
        screen.wait_for("hello");
        screen.press("\r");
        eventually("the model is asked", || self.calls("ok@chat") > 0);
        let session = self.scene.session("c");
        assert_eq!(self.member()["busy_with"], session["id"], "{session:#}");
        let told = self.start("ok@busy", &["anna", "hello"]).wait();
        assert!(told.code == 1 && told.stderr.contains("is busy"), "{told:?}");
        detach(screen, child);
        assert_eq!(self.scene.session("c")["phase"], "running");
        let stopped = self.scene.call_ok(&["stop", "c"]);
        assert!(stopped.contains("stopped"), "{stopped}");
        self.scene.assert_nothing_left_soon();
        assert_eq!(self.calls("ok@busy"), 0);
    }

    /// The whole of it: three members, a plan over them, a cancel in the middle, a prompt that goes on.
    pub(super) fn plan_over_members(&self) {
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
    }
}
