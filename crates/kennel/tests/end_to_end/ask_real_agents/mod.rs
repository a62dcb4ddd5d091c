//! The real agent programs through `kennel ask`, against a mock of their model APIs: the verdicts,
//! the number of launches, and that nothing is left.
//!
//! The tests find them where `cargo xtask agents` installs them, and skip missing ones with a
//! message. Two of them are three to four times slower than the others, so several scenarios share
//! one setup there. A slice has one fast and one slow agent.

mod cancels;
mod scenarios;
mod setup;
mod walkthrough;

use kennel_testing::{AgentUse, Pen, Who, includes_agent};
use mock_llm::Cli;

use setup::RealAgentScene;

/// One scenario with an agent and its expected result.
type Scenario = fn(&RealAgentScene);

/// Sets up an agent, runs the scenarios, and checks that nothing is left.
fn run_scenarios(cli: Cli, who: Who, pen: Pen, scenarios: &[Scenario]) {
    let Some(agent_scene) = RealAgentScene::open(cli, who, pen) else { return };
    for scenario in scenarios {
        scenario(&agent_scene);
    }
    agent_scene.close();
}

/// The tests of an agent, with the scenarios of each.
macro_rules! agent {
    ($name:ident: $cli:ident as $who:ident in $pen:ident; $($test:ident: $($scenario:ident),+;)+) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $test() {
                    if includes_agent(Cli::$cli.name(), AgentUse::Prompts) {
                        let scenarios: &[Scenario] = &[$(RealAgentScene::$scenario),+];
                        run_scenarios(Cli::$cli, Who::$who, Pen::$pen, scenarios);
                    }
                }
            )+
        }
    };
}

/// An agent that starts quickly has one test per scenario.
macro_rules! quick {
    ($name:ident: $cli:ident as $who:ident in $pen:ident) => {
        agent! {
            $name: $cli as $who in $pen;
            answers_and_continues_its_conversation: continues_its_conversation, starts_fresh_and_resumes;
            a_stale_conversation_costs_one_fresh_launch_or_is_an_error: stale, named_and_gone;
            http_401_is_auth_and_not_retried: http_401;
            http_429_is_rate_limited_and_retried: http_429;
            http_500_is_server_and_retried: http_500;
            http_529_is_overloaded_and_retried: http_529, answers;
            a_provider_that_recovers_is_retried: recovers;
            an_unreachable_provider_is_reported: refused;
            a_provider_that_hangs_costs_one_launch: hang;
            leftovers_of_a_tool_are_gone_when_it_succeeds: leak;
            a_cancel_ends_it_in_each_phase:
                cancel_queued_and_during_a_tool, cancel_during_a_call, cancel_at_the_start, answers;
        }
    };
}

/// A slow agent.
macro_rules! slow {
    ($name:ident: $cli:ident as $who:ident in $pen:ident) => {
        agent! {
            $name: $cli as $who in $pen;
            continues_its_conversation_or_starts_another:
                continues_with_a_leak, stale_and_cancelled_during_a_tool, named_and_gone;
            failures_of_its_provider_are_reported: http_401, http_429, http_500, http_529, refused;
            a_cancel_ends_it_before_and_during_its_first_call:
                cancel_at_the_start, cancel_during_a_call;
        }
    };
}

quick!(claude_of_another_user_in_a_subtree_pen: Claude as Other in Subtree);
quick!(codex_in_a_cgroup_pen: Codex as Root in Cgroup);
slow!(gemini_in_a_cgroup_pen: Gemini as Root in Cgroup);
slow!(opencode_of_another_user_in_a_subtree_pen: Opencode as Other in Subtree);

/// A complete workflow.
#[test]
fn a_plan_with_three_members_is_cancelled_and_a_prompt_continues() {
    run_scenarios(Cli::Claude, Who::Root, Pen::Cgroup, &[RealAgentScene::plan_over_members]);
}

/// Its interactive screen.
#[test]
fn claude_runs_interactively_on_a_terminal() {
    run_scenarios(
        Cli::Claude,
        Who::Other,
        Pen::Subtree,
        &[RealAgentScene::chats, RealAgentScene::answers],
    );
}
