//! The walk-through of docs/plans.md with the real Claude Code and Codex.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use kennel_testing::{Ended, Pen, Running, Who, eventually, installed_agent};
use mock_llm::Cli;
use serde_json::Value;

use super::setup::RealAgentScene;
use crate::doc_examples::{blocks, page};

/// The agents of the plan, and words that only their prompts have.
const AGENTS: [(&str, &str); 6] = [
    ("research.codebase", "Find the places in this repository"),
    ("research.history", "Look through the history"),
    ("research.risks", "What could go wrong with it"),
    ("plan.planner", "Make a plan of small steps"),
    ("review.critic", "Find what is wrong with it"),
    ("review.editor", "Shorten this plan"),
];

/// Which agent must have received which answers.
const RECEIVED: [(&str, &[&str]); 3] = [
    ("plan.planner", &["research.codebase", "research.history", "research.risks"]),
    ("review.critic", &["plan.planner", "research.risks"]),
    ("review.editor", &["plan.planner"]),
];

/// A repository with the documentation's plan in it, and two agents.
struct Repository {
    agent_scene: RealAgentScene,
    codex: PathBuf,
}

impl Repository {
    fn open() -> Option<Self> {
        let codex = installed_agent("codex")?;
        let agent_scene = RealAgentScene::open(Cli::Claude, Who::Root, Pen::Cgroup)?;
        symlink(&codex, agent_scene.scene.path("bin/codex")).expect("a link");
        let repository = Self { agent_scene, codex };
        let folder = repository.folder();
        fs::create_dir_all(folder.join("docs/plans")).expect("mkdir");
        let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plans/research.toml");
        fs::copy(plan, folder.join("docs/plans/research.toml")).expect("the plan is there");
        let made = Command::new("git").args(["init", "-q"]).arg(&folder).status();
        assert!(made.expect("git").success());
        Some(repository)
    }

    fn folder(&self) -> PathBuf {
        self.agent_scene.home().join("work")
    }

    /// The environment with a scenario for each of the two.
    fn environment(&self, claude: &str, codex: &str) -> BTreeMap<OsString, OsString> {
        let (server, home) = (&self.agent_scene.server, self.agent_scene.home());
        let other = Cli::Codex.invocation(&self.codex, server, codex, &home);
        let mut env = other.expect("its configuration can be written").env;
        env.extend(self.agent_scene.environment(claude));
        env
    }

    /// Runs a block of the page as a shell would, until the first line that fails.
    #[track_caller]
    fn run(&self, script: &str, claude: &str, codex: &str) -> Ended {
        let scene = &self.agent_scene.scene;
        let mut command = scene.command(Path::new("/bin/sh"));
        let mut env = self.environment(claude, codex);
        let path = env.remove(&OsString::from("PATH")).expect("a PATH");
        let path = format!("{}:{}", scene.path("").display(), path.display());
        command.envs(env).env("PATH", path).env("KENNEL_HOME", scene.path("home/kennel"));
        command.args(["-euc", script]).current_dir(self.folder());
        let ended = Running::start(command).wait();
        assert_eq!(ended.code, 0, "{script}\n{ended:?}\n{}", scene.logs());
        ended
    }

    fn plan(&self) -> Value {
        self.agent_scene.scene.call_json(&["plan", "show", "--json", "research"])
    }

    /// The answer of each agent from the result files; all differ.
    fn answers(&self) -> BTreeMap<&'static str, String> {
        let read = |name: &str| {
            let file = self.folder().join(format!("results/{name}.md"));
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        };
        let answers: BTreeMap<_, _> =
            AGENTS.map(|(name, _)| (name, read(name).trim().to_owned())).into();
        let mut different: Vec<_> = answers.values().collect();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), AGENTS.len(), "{answers:#?}");
        answers
    }

    /// The requests to the models for an agent, after this many requests in total.
    fn asked(&self, agent: &str, after: usize) -> Vec<String> {
        let (_, words) = AGENTS.iter().find(|(name, _)| *name == agent).expect("one of ours");
        let requests = self.agent_scene.server.requests().into_iter().skip(after);
        requests.map(|request| request.body).filter(|body| body.contains(words)).collect()
    }

    /// Checks that each was asked once and got the earlier answers.
    fn assert_handed_on(&self, after: usize) {
        let answers = self.answers();
        for (agent, before) in RECEIVED {
            let asked = self.asked(agent, after);
            assert_eq!(asked.len(), 1, "{agent}: {asked:?}");
            for former in before {
                let answer = &answers[former];
                assert!(asked[0].contains(answer), "{agent} of {former}: {answer} in {asked:?}");
            }
        }
    }
}

/// The state of a plan's agent, named `STAGE.AGENT`.
fn state_of<'a>(plan: &'a Value, agent: &str) -> &'a str {
    let (stage, agent) = agent.split_once('.').expect("a stage");
    let named = |list: &'a Value, name: &str| {
        let items = list.as_array().expect("a list").iter();
        items.into_iter().find(|item| item["name"] == name).expect("it is there")
    };
    let agent = named(&named(&plan["stages"], stage)["agents"], agent);
    agent["state"].as_str().expect("a state")
}

#[test]
fn the_documented_plan_is_run_cancelled_and_resumed() {
    let Some(repository) = Repository::open() else { return };
    let page = page("plans.md");
    let [whole, begun, rest] = blocks(&page, "sh")[..] else { panic!("three blocks: {page}") };
    let first = blocks(&page, "console")[0].trim().trim_start_matches("$ ");
    assert!(whole.contains(first), "the first block contains the command of the first example");

    let reported = repository.run(whole, "numbered", "numbered");
    repository.assert_handed_on(0);
    let answers = repository.answers();
    assert!(reported.stdout.contains(&answers["plan.planner"]), "{reported:?}");
    for (agent, _) in AGENTS {
        let name = agent.split_once('.').expect("a stage").1;
        assert!(reported.stdout.contains(name), "{agent} in {reported:?}");
        assert_eq!(state_of(&repository.plan(), agent), "succeeded");
        let asked = repository.asked(agent, 0);
        let topic = "retry the upload when the link drops";
        assert!(agent == "review.editor" || asked[0].contains(topic), "{asked:?}");
    }
    let file = fs::read_to_string(repository.folder().join("results/plan.json")).expect("a file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(file["state"], "succeeded", "{file:#}");

    // Two of the three hang, one has answered.
    let before = repository.agent_scene.server.requests().len();
    repository.run(begun, "hang", "numbered");
    eventually("two wait for their model, and one has answered", || {
        let waiting = ["research.codebase", "research.risks"];
        waiting.iter().all(|agent| repository.asked(agent, before).len() == 1)
            && state_of(&repository.plan(), "research.history") == "succeeded"
    });
    fs::remove_dir_all(repository.folder().join("results")).expect("removed");
    let reported = repository.run(rest, "numbered", "numbered");
    assert_eq!(reported.stdout.matches("no strays").count(), 2, "{reported:?}");
    assert_eq!(reported.stdout.matches("its processes are gone").count(), 2, "{reported:?}");
    repository.assert_handed_on(before);
    let plan = repository.plan();
    assert_eq!(plan["state"], "succeeded", "{plan:#}");
    assert_eq!(repository.asked("research.history", before).len(), 1, "it has answered before");
    assert_eq!(repository.asked("research.risks", before).len(), 2, "it was cancelled");
    repository.agent_scene.close();
}
