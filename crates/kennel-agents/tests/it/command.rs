//! Commands, and agents that a user describes.

use kennel_agents::{Agent, AgentError, AttemptEnd, EndedBy, ProcessEnd, StopSignal};
use kennel_types::EvidenceSource;
use kennel_types::VerdictKind::*;
use kennel_types::{AgentSettings, Permissions, UsageScope, Work};

use crate::recorded::{agent, exited, judged};

const UUID: &str = "01234567-89ab-4cde-8f01-23456789abcd";

fn settings(agent: &str) -> AgentSettings {
    AgentSettings { agent: agent.to_owned(), ..AgentSettings::default() }
}

fn full(agent: &str) -> AgentSettings {
    AgentSettings {
        model: Some("m".to_owned()),
        permissions: Permissions::All,
        args: vec!["--extra".to_owned(), "two words".to_owned()],
        ..settings(agent)
    }
}

fn one_shot(settings: &AgentSettings, conversation: Option<&str>) -> String {
    Agent::of(settings).unwrap().one_shot(settings, conversation).unwrap().argv.join(" ")
}

fn interactive(settings: &AgentSettings, conversation: Option<&str>) -> String {
    Agent::of(settings).unwrap().interactive(settings, conversation).unwrap().argv.join(" ")
}

#[test]
fn passes_no_prompt_as_an_argument() {
    assert_eq!(
        one_shot(&settings("claude"), None),
        "claude -p --output-format stream-json --verbose"
    );
    assert_eq!(one_shot(&settings("codex"), None), "codex exec --json -");
    assert_eq!(one_shot(&settings("gemini"), None), "gemini --output-format stream-json");
    assert_eq!(one_shot(&settings("opencode"), None), "opencode run --format json");
}

#[test]
fn translates_settings_to_the_options_of_each_agent() {
    let turns = AgentSettings { turns: Some(3), ..full("claude") };
    assert_eq!(
        one_shot(&turns, Some(UUID)),
        format!(
            "claude -p --output-format stream-json --verbose --model m --permission-mode bypassPermissions \
             --resume {UUID} --max-turns 3 --extra two words"
        )
    );
    assert_eq!(
        one_shot(&full("codex"), Some(UUID)),
        format!(
            "codex exec resume --json --model m --dangerously-bypass-approvals-and-sandbox --extra two words {UUID} -"
        )
    );
    assert_eq!(
        one_shot(&full("gemini"), Some(UUID)),
        format!(
            "gemini --output-format stream-json --model m --approval-mode yolo --resume {UUID} --extra two words"
        )
    );
    assert_eq!(
        one_shot(&full("opencode"), Some("ses_abc123")),
        "opencode run --format json --model m --session ses_abc123 --auto --extra two words"
    );
}

#[test]
fn restricts_read_only_agents_by_allow_lists() {
    let only = |agent| {
        one_shot(&AgentSettings { permissions: Permissions::ReadOnly, ..settings(agent) }, None)
    };
    assert!(only("claude").contains("--tools=Read,"));
    assert!(!only("claude").contains("Bash"));
    assert!(only("codex").contains("sandbox_mode=\"read-only\""));
    assert!(only("gemini").contains("--approval-mode plan"));
    assert!(only("opencode").contains("--agent plan"));
}

#[test]
fn starts_plainly_in_a_terminal() {
    assert_eq!(interactive(&settings("claude"), None), "claude");
    assert_eq!(interactive(&settings("claude"), Some(UUID)), format!("claude --resume {UUID}"));
    assert_eq!(interactive(&settings("codex"), Some(UUID)), format!("codex resume {UUID}"));
    assert_eq!(interactive(&settings("gemini"), Some(UUID)), format!("gemini --resume {UUID}"));
    assert_eq!(interactive(&settings("opencode"), Some("ses_a")), "opencode --session ses_a");
}

#[test]
fn refuses_unsupported_settings() {
    for cli in ["codex", "gemini", "opencode"] {
        let settings = AgentSettings { turns: Some(2), ..settings(cli) };
        let error = Agent::of(&settings).unwrap().one_shot(&settings, None).unwrap_err();
        assert!(error.to_string().contains("a limit of turns"), "{error}");
    }
    let none = AgentSettings { turns: Some(0), ..settings("claude") };
    assert_eq!(agent("claude").one_shot(&none, None), Err(AgentError::NoTurns));
}

#[test]
fn refuses_unknown_agents_with_a_suggestion() {
    let error = Agent::of(&settings("cluade")).unwrap_err().to_string();
    assert!(error.contains("did you mean \"claude\""), "{error}");
    assert!(error.contains("codex, gemini, opencode"), "{error}");
    let error = Agent::of(&settings("emacs")).unwrap_err().to_string();
    assert!(!error.contains("did you mean"), "{error}");
}

#[test]
fn checks_conversation_ids() {
    for cli in ["claude", "codex", "gemini"] {
        assert_eq!(agent(cli).check_conversation(UUID), Ok(()));
        for bad in ["", "not-a-uuid", "latest", "3", "--last", &UUID[1..], &format!("{UUID}0")] {
            let error = agent(cli).check_conversation(bad).unwrap_err();
            assert!(error.to_string().contains("UUID"), "{error}");
            assert!(agent(cli).one_shot(&settings(cli), Some(bad)).is_err(), "{cli} {bad}");
        }
        let shifted = "0123456-789ab-4cde-8f01-23456789abcd";
        assert!(agent(cli).check_conversation(shifted).is_err());
    }
    assert_eq!(agent("opencode").check_conversation("ses_e2356bc01ffe8YrzXB0zp9zzzz"), Ok(()));
    for bad in ["", "ses_", UUID, "ses_a b", "ses_--x", "x"] {
        assert!(agent("opencode").check_conversation(bad).is_err(), "{bad}");
    }
}

#[test]
fn parses_versions() {
    for (cli, printed, version) in [
        ("claude", "2.1.197 (Claude Code)\n", "2.1.197"),
        ("codex", "codex-cli 0.166.0\n", "0.166.0"),
        ("gemini", "0.61.0\n", "0.61.0"),
        ("opencode", "1.18.33\n", "1.18.33"),
    ] {
        assert_eq!(agent(cli).read_version(printed).as_deref(), Some(version));
        assert_eq!(agent(cli).version_args(), ["--version"]);
        assert_eq!(agent(cli).program(), cli);
    }
    assert_eq!(agent("claude").read_version("what?\n"), None);
}

#[test]
fn each_agent_has_its_stop_policy_and_usage_scope() {
    assert_eq!(agent("claude").stop_policy().signal, StopSignal::Int);
    assert!(agent("gemini").stop_policy().whole_tree);
    assert_eq!(agent("codex").usage_scope(), UsageScope::Conversation);
    assert_eq!(agent("claude").usage_scope(), UsageScope::Attempt);
}

/// Returns the example in the documentation.
fn example() -> String {
    let docs = include_str!("../../../../docs/agents.md");
    let from = docs.find("```toml\n").expect("an example") + 8;
    let length = docs[from..].find("```").expect("its end");
    docs[from..from + length].to_owned()
}

fn described(text: &str) -> Result<Agent, AgentError> {
    Agent::of(&AgentSettings { description: Some(text.to_owned()), ..settings("mine") })
}

#[test]
fn the_documented_example_works() {
    let agent = described(&example()).unwrap();
    assert_eq!((agent.name(), agent.program()), ("mine", "my-agent"));
    let settings = AgentSettings {
        model: Some("m".to_owned()),
        args: vec!["-x".to_owned()],
        ..settings("mine")
    };
    let start = agent.one_shot(&settings, Some("c-12")).unwrap();
    assert_eq!(
        start.argv.join(" "),
        "my-agent run --json --model m --continue c-12 -x --file /dev/stdin"
    );
    assert_eq!(agent.one_shot(&self::settings("mine"), None).unwrap().argv.len(), 5);
    assert!(agent.check_conversation("nonsense").is_err());
    assert_eq!(agent.stop_policy().signal, StopSignal::Int);

    let stdout = "{\"type\":\"start\",\"id\":\"c-12\"}\n{\"type\":\"say\",\"text\":\"hello\"}\n";
    let done = format!("{stdout}{{\"type\":\"done\",\"usage\":{{\"in\":5,\"out\":2}}}}\n");
    let finished = judged(&agent, &done, "", &exited(0));
    assert_eq!(finished.judged.verdict.kind, Succeeded);
    assert_eq!(finished.answer.as_deref(), Some("hello"));
    assert_eq!(finished.judged.conversation.as_deref(), Some("c-12"));
    assert_eq!(finished.judged.usage.input_tokens, 5);
    assert_eq!(finished.judged.work, Work::None);
    assert_eq!(judged(&agent, stdout, "", &exited(0)).judged.verdict.kind, Crashed);

    let tool = "{\"type\":\"tool\",\"tool\":\"shell\"}\n";
    assert_eq!(judged(&agent, tool, "", &exited(1)).judged.work, Work::Tools);
    let error = "{\"error\":{\"message\":\"busy\",\"status\":529}}\n";
    assert_eq!(judged(&agent, error, "", &exited(1)).judged.verdict.kind, Overloaded);
    let stale = judged(&agent, "", "no such conversation: c-12\n", &exited(4));
    assert_eq!(stale.judged.verdict.kind, StaleConversation);
    assert_eq!(stale.judged.verdict.source, EvidenceSource::Stderr);
    assert_eq!(stale.judged.work, Work::None);
    assert_eq!(judged(&agent, "", "", &exited(77)).judged.verdict.kind, Auth);
    let stopped = AttemptEnd { end: ProcessEnd::Exited(77), ended_by: EndedBy::Stopped };
    assert_eq!(judged(&agent, "", "", &stopped).judged.verdict.kind, Cancelled);
}

#[test]
fn text_with_exit_code_0_is_an_answer_unless_a_rule_applies() {
    let agent = described("program = \"say\"").unwrap();
    let finished = judged(&agent, "two\nlines\n", "", &exited(0));
    assert_eq!(finished.judged.verdict.kind, Succeeded);
    assert_eq!(finished.answer.as_deref(), Some("two\nlines\n"));
    assert_eq!(finished.judged.work, Work::Unknown, "it reports no tools");
    assert_eq!(judged(&agent, "", "", &exited(0)).judged.verdict.kind, Crashed);
    assert_eq!(judged(&agent, "half", "", &exited(1)).judged.verdict.kind, Crashed);

    let strict = "program = \"say\"\n[[verdict]]\nkind = \"succeeded\"\nstream = \"stdout\"\nmatches = \"^Done\"";
    let agent = described(strict).unwrap();
    assert_eq!(judged(&agent, "x\nDone.\n", "", &exited(0)).judged.verdict.kind, Succeeded);
    assert_ne!(judged(&agent, "x\n", "Done.", &exited(0)).judged.verdict.kind, Succeeded);
}

#[test]
fn reports_where_a_description_is_wrong() {
    for (text, expected) in [
        ("", "missing field `program`"),
        ("program = \"\"", "program:"),
        ("program = \"x\"\nprogramm = 1", "unknown field `programm`"),
        ("program = \"x\"\nprogramm = 1", "line 2"),
        ("program = \"x\"\nargs = [\"{modell}\"]", "{modell}"),
        ("program = \"x\"\nargs = [\"a{args}\"]", "{args}"),
        ("program = \"x\"\nargs = [1]", "expected a string, or a list"),
        ("program = \"x\"\nconversation = \"(\"", "conversation:"),
        ("program = \"x\"\noutput.text = \"/a\"", "output.format"),
        ("program = \"x\"\noutput.format = \"json_lines\"", "output.text"),
        ("program = \"x\"\noutput.format = \"json_lines\"\noutput.text = \"a\"", "JSON pointer"),
        ("program = \"x\"\nstop.signal = \"hup\"", "hup"),
        ("program = \"x\"\npermissions.some = []", "some"),
        ("program = \"x\"\n[[verdict]]\nkind = \"auth\"", "verdict 1"),
        ("program = \"x\"\n[[verdict]]\nkind = \"killed\"\nexit = 1", "killed"),
        ("program = \"x\"\n[[verdict]]\nkind = \"fine\"\nexit = 1", "fine"),
        ("program = \"x\"\n[[verdict]]\nkind = \"auth\"\nmatches = \"[\"", "verdict 1"),
        (
            "program = \"x\"\n[[verdict]]\nkind = \"auth\"\nmatches = \"a\"\ncontains = \"a\"",
            "mutually exclusive",
        ),
    ] {
        let error = described(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    let built_in =
        AgentSettings { description: Some("program = \"x\"".to_owned()), ..settings("claude") };
    assert!(Agent::of(&built_in).unwrap_err().to_string().contains("built in"));
}

#[test]
fn refuses_settings_that_the_description_lacks() {
    let agent = described("program = \"x\"").unwrap();
    let base = settings("mine");
    for bad in [
        AgentSettings { model: Some("m".to_owned()), ..base.clone() },
        AgentSettings { turns: Some(1), ..base.clone() },
        AgentSettings { permissions: Permissions::ReadOnly, ..base.clone() },
    ] {
        assert!(agent.one_shot(&bad, None).is_err(), "{bad:?}");
    }
    assert!(agent.one_shot(&base, Some("c")).is_err());
    assert!(agent.interactive(&base, None).is_err());
    assert!(agent.check_conversation("--flag").is_err());
}
