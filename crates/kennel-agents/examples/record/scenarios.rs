//! The scenarios of each agent.

use kennel_types::Permissions;
use mock_llm::Cli;

/// One run of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// The name of the scenario.
    pub(crate) name: &'static str,
    /// The behaviour of the mock.
    pub(crate) mock: &'static str,
    pub(crate) conversation: ScenarioConversation,
    pub(crate) permissions: Permissions,
    pub(crate) turns: Option<u32>,
    /// Additional arguments.
    pub(crate) args: Vec<&'static str>,
    pub(crate) world: ScenarioEnvironment,
}

/// The conversation that a run resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScenarioConversation {
    /// A new one.
    New,
    /// That of an earlier run.
    Former,
    /// One that doesn't exist.
    Stale,
}

/// The environment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScenarioEnvironment {
    /// The default.
    Default,
    /// No server listens at the address of the API.
    NotListening,
    /// The folder is not trusted.
    Untrusted,
    /// Without the variable that reports a sandbox.
    NoSandbox,
}

impl Scenario {
    fn new(name: &'static str, mock: &'static str) -> Self {
        Self {
            name,
            mock,
            conversation: ScenarioConversation::New,
            permissions: Permissions::Default,
            turns: None,
            args: Vec::new(),
            world: ScenarioEnvironment::Default,
        }
    }
}

/// Returns the scenarios of an agent.
pub(crate) fn of(cli: Cli) -> Vec<Scenario> {
    let mut all = vec![
        Scenario::new("ok", "ok"),
        Scenario { conversation: ScenarioConversation::Former, ..Scenario::new("resume", "ok") },
        Scenario { conversation: ScenarioConversation::Stale, ..Scenario::new("stale", "ok") },
        Scenario::new("401", "err:401"),
        Scenario::new("403", "err:403"),
        Scenario::new("429", "err:429"),
        Scenario::new("429-retry-after", "err:429:ra2"),
        Scenario::new("500", "err:500"),
        Scenario::new("503", "err:503"),
        Scenario::new("529", "err:529"),
        Scenario { world: ScenarioEnvironment::NotListening, ..Scenario::new("refused", "ok") },
        Scenario { permissions: Permissions::All, ..Scenario::new("tool", "bash:echo") },
        Scenario { args: vec!["--no-such-flag"], ..Scenario::new("bad-flag", "ok") },
    ];
    let untrusted =
        Scenario { world: ScenarioEnvironment::Untrusted, ..Scenario::new("untrusted", "ok") };
    match cli {
        Cli::Claude => {
            all.push(Scenario {
                turns: Some(1),
                permissions: Permissions::All,
                ..Scenario::new("max-turns", "bash:echo")
            });
            all.push(Scenario {
                permissions: Permissions::All,
                world: ScenarioEnvironment::NoSandbox,
                ..Scenario::new("as-root", "ok")
            });
        }
        Cli::Codex => {
            for scenario in &mut all {
                scenario.args.push("--skip-git-repo-check");
            }
            all.push(untrusted);
        }
        Cli::Gemini => all.push(untrusted),
        Cli::Opencode => {}
    }
    all
}
