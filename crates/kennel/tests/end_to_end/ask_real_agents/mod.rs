//! The real agent programs through `kennel ask`, against a mock of their model APIs: the verdicts, the number of
//! launches, and that nothing is left.
//!
//! The tests find them where `cargo xtask agents` installs them, and skip missing ones with a message. Two of them take one
//! second for what takes the others three or four, so those share one setup for several scenarios.

mod cancels;
mod setup;
mod stories;
mod walkthrough;

use kennel_testing::{Pen, Who};
use mock_llm::Cli;

use setup::RealAgentScene;

/// One scenario with an agent and its expected result.
type Scenario = fn(&RealAgentScene);

/// Sets up an agent, runs the scenarios, and checks that nothing is left.
fn tell(cli: Cli, who: Who, pen: Pen, stories: &[Scenario]) {
    let Some(agent_scene) = RealAgentScene::open(cli, who, pen) else { return };
    for story in stories {
        story(&agent_scene);
    }
    agent_scene.close();
}

/// The tests of an agent, with the scenarios of each.
macro_rules! agent {
    ($name:ident: $cli:ident as $who:ident in $pen:ident; $($test:ident: $($story:ident),+;)+) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $test() {
                    tell(Cli::$cli, Who::$who, Pen::$pen, &[$(RealAgentScene::$story),+]);
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
            answers_and_goes_on_with_its_conversation: goes_on, begins_anew_and_comes_back;
            a_stale_conversation_costs_one_fresh_launch_or_is_an_error: stale, named_and_gone;
            http_401_is_auth_and_not_tried_again: http_401;
            http_429_is_rate_limited_and_tried_again: http_429;
            http_500_is_server_and_tried_again: http_500;
            http_529_is_overloaded_and_tried_again: http_529, answers;
            a_provider_that_recovers_is_asked_again: recovers;
            nobody_listens: refused;
            a_provider_that_hangs_costs_one_launch: hang;
            what_a_tool_leaks_is_gone_when_it_succeeds: leak;
            a_cancel_ends_it_in_each_phase:
                cancel_in_line_and_during_a_tool, cancel_during_a_call, cancel_at_the_start, answers;
        }
    };
}

/// A slow agent.
macro_rules! slow {
    ($name:ident: $cli:ident as $who:ident in $pen:ident) => {
        agent! {
            $name: $cli as $who in $pen;
            goes_on_with_its_conversation_and_without_it:
                goes_on_with_a_leak, stale_and_cancelled_during_a_tool, named_and_gone;
            what_its_provider_fails_with: http_401, http_429, http_500, http_529, refused;
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
    tell(Cli::Claude, Who::Root, Pen::Cgroup, &[RealAgentScene::plan_over_members]);
}

/// Its interactive screen.
#[test]
fn claude_runs_interactively_on_a_terminal() {
    tell(
        Cli::Claude,
        Who::Other,
        Pen::Subtree,
        &[RealAgentScene::is_talked_to, RealAgentScene::answers],
    );
}
