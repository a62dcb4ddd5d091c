//! Scenarios with a real agent and their expected results.

use std::fs;

use kennel_testing::{Running, eventually};
use mock_llm::Cli;

use super::setup::{GO, RealAgentScene, dead_port};
use crate::pty::{SIZE, detach, is_raw, on_a_terminal_with};

/// The id of a conversation that never existed.
fn unknown_conversation(cli: Cli) -> &'static str {
    match cli {
        Cli::Opencode => "ses_0123456789abcdefABCDEFGHIJ",
        _ => "01234567-89ab-4cde-8f01-23456789abcd",
    }
}

impl RealAgentScene {
    /// The next prompt is answered: the earlier ones did no harm.
    pub(super) fn answers(&self) {
        let reported = self.ask("ok@after", &["anna", "hello"]);
        assert_eq!((reported.code, reported.launches), (0, 1), "{reported:?}");
    }

    /// A member continues its conversation: the model gets both prompts.
    pub(super) fn continues_its_conversation(&self) {
        let id = self.start_conversation();
        let second = self.ask("ok@2", &["anna", "the-second-prompt"]);
        assert_eq!((second.code, second.verdict.as_str()), (0, "succeeded"), "{second:?}");
        assert_eq!(second.conversation.as_ref(), Some(&id), "{second:?}");
        assert_eq!((second.launches, self.calls("ok@2")), (1, 1), "{second:?}");
        self.assert_received("ok@2", &["the-first-prompt", "the-second-prompt"]);
    }

    /// A member continues its conversation, and a tool's leftovers are gone when it has succeeded.
    pub(super) fn continues_with_a_leak(&self) {
        let id = self.start_conversation();
        self.leak();
        self.assert_received("bash:leak", &["the-first-prompt", "use-a-tool"]);
        assert_eq!(self.member()["conversation"], id.as_str());
    }

    /// Sends the first prompt of a conversation and returns its id.
    fn start_conversation(&self) -> String {
        let first = self.ask("ok@1", &["anna", "the-first-prompt"]);
        assert_eq!((first.code, first.verdict.as_str()), (0, "succeeded"), "{first:?}");
        assert!(!first.answer.is_empty(), "{first:?}");
        assert_eq!((first.launches, self.calls("ok@1")), (1, 1), "{first:?}");
        first.conversation.expect("a conversation")
    }

    /// Checks that the model got all of these in one request.
    #[track_caller]
    fn assert_received(&self, scenario: &str, prompts: &[&str]) {
        let asked = self.requests(scenario);
        let reported = asked.iter().any(|it| prompts.iter().all(|prompt| it.body.contains(prompt)));
        assert!(reported, "{prompts:?} in {asked:?}");
    }

    /// A new conversation, and then the previous one by its id.
    pub(super) fn starts_fresh_and_resumes(&self) {
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

    /// M2: a missing conversation costs one fresh launch.
    pub(super) fn stale(&self) {
        self.start_conversation();
        let before = self.member();
        let id = before["conversation"].as_str().expect("a conversation");
        self.lose(id);
        let reported = self.ask("ok@stale", &["anna", "go on"]);
        assert_eq!((reported.code, reported.verdict.as_str()), (0, "succeeded"), "{reported:?}");
        assert_eq!((reported.launches, self.calls("ok@stale")), (2, 1), "{reported:?}");
        let new = reported.conversation.expect("a conversation");
        assert_ne!(new, id, "{:#}", reported.whole);
        let member = self.member();
        assert_eq!(member["conversation"], new, "the dead one is forgotten");
        assert_eq!(member["attempts"].as_u64(), before["attempts"].as_u64().map(|n| n + 2));
    }

    /// M3: an explicitly named missing conversation is an error, and no other is used.
    pub(super) fn named_and_gone(&self) {
        let unknown_conversation = unknown_conversation(self.cli);
        let named = self.ask("ok@named", &["anna", "--resume", unknown_conversation, "go on"]);
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

    /// Failures of the provider are retried as often as requested; others never are.
    fn failure(&self, status: u16, verdict: &str, code: i32) {
        // The decision does not depend on the agent, and the others take too long.
        let retries = usize::from(matches!(self.cli, Cli::Claude | Cli::Codex));
        let launches = if status == 401 { 1 } else { 1 + retries };
        let scenario = match self.cli {
            Cli::Opencode => format!("err:{status}:ra0"),
            _ => format!("err:{status}"),
        };
        let retries = retries.to_string();
        // A conversation that failed at its start may not exist, which would cost a launch.
        let reported = self.ask(&scenario, &["anna", "--fresh", "--retries", &retries, "hello"]);
        assert_eq!((reported.code, reported.verdict.as_str()), (code, verdict), "{reported:?}");
        assert_eq!(reported.launches, launches, "{reported:?}");
        assert!(self.calls(&scenario) >= launches, "{:?}", self.server.requests());
    }

    /// The provider fails once, and Kennel's second attempt has the answer.
    pub(super) fn recovers(&self) {
        // As often as the agent retries by itself, so that its whole first launch fails.
        let failures = if self.cli == Cli::Claude { 3 } else { 4 };
        let scenario = format!("failN:{failures}:500");
        let reported = self.ask(&scenario, &["anna", "--retries", "3", "hello"]);
        assert_eq!((reported.code, reported.verdict.as_str()), (0, "succeeded"), "{reported:?}");
        assert_eq!((reported.launches, self.calls(&scenario)), (2, failures + 1), "{reported:?}");
        assert_eq!(self.member()["attempts"], 2);
    }

    /// Two give up. Codex waits for the network forever, and opencode for more than a minute: a
    /// time limit ends them.
    pub(super) fn refused(&self) {
        let (_held, port) = dead_port();
        let (limit, code, verdict) = match self.cli {
            Cli::Claude | Cli::Gemini => ("0s", 15, "unreachable"),
            Cli::Codex | Cli::Opencode => ("6s", 124, "timed_out"),
        };
        let flags = ["anna", "--fresh", "--retries", "0", "--timeout", limit, "hello"];
        let reported =
            self.reported(Running::start(self.command_to_closed_port(port, &flags)).wait());
        assert_eq!((reported.code, reported.verdict.as_str()), (code, verdict), "{reported:?}");
        assert_eq!((reported.launches, self.calls("ok@closed")), (1, 0), "{reported:?}");
    }

    /// A provider that does not answer: the timeout ends the prompt, and it is not retried.
    pub(super) fn hang(&self) {
        let reported = self.ask("hang", &["anna", "--timeout", "6s", "--retries", "3", "hello"]);
        assert_eq!((reported.code, reported.verdict.as_str()), (124, "timed_out"), "{reported:?}");
        // On a busy machine the timeout may come before the first request.
        assert!(self.calls("hang") <= 1, "{:?}", self.server.requests());
        assert_eq!(reported.launches, 1, "{reported:?}");
    }

    /// It succeeds, and its tool's leftovers are gone when that is reported.
    pub(super) fn leak(&self) {
        let asked = self.start("bash:leak", &["anna", "use-a-tool"]);
        eventually("the leftovers run", || self.sleepers() == [281, 282]);
        fs::write(self.scene.path(GO), "").expect("a file in the scene");
        let ended = asked.wait();
        assert_eq!(self.marked(), [], "after {ended:?}");
        let reported = self.reported(ended);
        assert_eq!((reported.code, reported.verdict.as_str()), (0, "succeeded"), "{reported:?}");
        assert_eq!((reported.launches, &reported.whole["tools"]), (1, &1.into()), "{reported:?}");
    }

    /// Its screen appears; the member is busy while the chat is detached, and a stop leaves
    /// nothing.
    pub(super) fn chats(&self) {
        let (mut screen, child) = on_a_terminal_with(&self.chat(&["--name", "c", "anna"]), SIZE);
        eventually("our terminal is raw", || is_raw(&screen));
        // Its last line; escape sequences separate the words.
        screen.wait_for("bypass");
        screen.press("hello");
        screen.wait_for("hello");
        screen.press("\r");
        eventually("the model is asked", || self.calls("ok@chat") > 0);
        let session = self.scene.session("c");
        assert_eq!(self.member()["busy_with"], session["id"], "{session:#}");
        let reported = self.start("ok@busy", &["anna", "hello"]).wait();
        assert!(reported.code == 1 && reported.stderr.contains("is busy"), "{reported:?}");
        detach(screen, child);
        assert_eq!(self.scene.session("c")["phase"], "running");
        let stopped = self.scene.call_ok(&["stop", "c"]);
        assert!(stopped.contains("stopped"), "{stopped}");
        self.scene.assert_nothing_left_soon();
        assert_eq!(self.calls("ok@busy"), 0);
    }

    /// A complete workflow: three members, a plan, a cancel in the middle, a prompt that continues.
    pub(super) fn plan_over_members(&self) {
        let folder = self.home().join("work");
        let folder = folder.to_str().expect("a plain path");
        for name in ["bert", "carl"] {
            let settings = ["--agent", self.cli.name(), "--cwd", folder, "--permissions", "all"];
            self.scene.call_ok(&[&["member", "add", name], &settings[..]].concat());
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
        command.envs(self.environment("bash:stay"));
        let running = Running::start(command);
        eventually("three tools run", || {
            self.sleepers().iter().filter(|seconds| **seconds == 289).count() == 3
        });
        running.signal("INT");
        let reported = running.wait();
        assert_eq!(reported.code, 130, "{reported:?}");
        assert_eq!(reported.stdout.matches("its processes are gone").count(), 3, "{reported:?}");
        assert_eq!(self.marked(), [], "after {reported:?}");
        let before = self.member()["conversation"].as_str().expect("a conversation").to_owned();
        let reported = self.ask("ok@after", &["anna", "and the second word"]);
        assert_eq!((reported.code, reported.launches), (0, 1), "{reported:?}");
        let session = reported.whole["session"].as_str().expect("a session");
        let session = self.scene.session(session);
        assert_eq!(session["spec"]["agent"]["conversation"], before.as_str(), "{session:#}");
        let kept = self.files_of(reported.conversation.as_deref().expect("a conversation"));
        let text: String = kept.iter().map(|f| fs::read_to_string(f).expect("its file")).collect();
        assert!(text.contains("the first word") && text.contains("the second word"), "{kept:?}");
    }
}
