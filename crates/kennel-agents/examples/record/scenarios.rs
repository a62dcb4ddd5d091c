//! What is recorded of each CLI.

use kennel_types::Permissions;
use mock_llm::Cli;

/// One run of a CLI.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What the mock does.
    pub(crate) mock: &'static str,
    pub(crate) conversation: Conversation,
    pub(crate) permissions: Permissions,
    pub(crate) turns: Option<u32>,
    /// Further arguments.
    pub(crate) args: Vec<&'static str>,
    pub(crate) world: World,
}

/// Which conversation it is to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversation {
    /// None.
    New,
    /// One that a run before has begun.
    Former,
    /// One that never was.
    Stale,
}

/// What is different around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// Nothing.
    Usual,
    /// Nobody listens at the API's address.
    NobodyListens,
    /// The folder is not trusted.
    Untrusted,
    /// It isn't told that it is in a sandbox.
    NoSandbox,
}

impl Scenario {
    fn new(name: &'static str, mock: &'static str) -> Self {
        Self {
            name,
            mock,
            conversation: Conversation::New,
            permissions: Permissions::Default,
            turns: None,
            args: Vec::new(),
            world: World::Usual,
        }
    }
}

/// Those of a CLI.
pub(crate) fn of(cli: Cli) -> Vec<Scenario> {
    let mut all = vec![
        Scenario::new("ok", "ok"),
        Scenario { conversation: Conversation::Former, ..Scenario::new("resume", "ok") },
        Scenario { conversation: Conversation::Stale, ..Scenario::new("stale", "ok") },
        Scenario::new("401", "err:401"),
        Scenario::new("403", "err:403"),
        Scenario::new("429", "err:429"),
        Scenario::new("429-retry-after", "err:429:ra2"),
        Scenario::new("500", "err:500"),
        Scenario::new("503", "err:503"),
        Scenario::new("529", "err:529"),
        Scenario { world: World::NobodyListens, ..Scenario::new("refused", "ok") },
        Scenario { permissions: Permissions::All, ..Scenario::new("tool", "bash:echo") },
        Scenario { args: vec!["--no-such-flag"], ..Scenario::new("bad-flag", "ok") },
    ];
    let untrusted = Scenario { world: World::Untrusted, ..Scenario::new("untrusted", "ok") };
    match cli {
        Cli::Claude => {
            all.push(Scenario {
                turns: Some(1),
                permissions: Permissions::All,
                ..Scenario::new("max-turns", "bash:echo")
            });
            all.push(Scenario {
                permissions: Permissions::All,
                world: World::NoSandbox,
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
