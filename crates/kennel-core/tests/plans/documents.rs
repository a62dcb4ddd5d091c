//! The plans in the documentation are valid.

use std::collections::BTreeMap;

use kennel_core::plan::{AgentAnswer, PlanState};
use kennel_types::plan::AgentPath;

const EXAMPLE: &str = include_str!("../../../../docs/plans/research.toml");
const PAGE: &str = include_str!("../../../../docs/plans.md");

#[test]
fn the_example_parses_and_its_prompts_render() {
    let plan = kennel_core::plan::parse(EXAMPLE).unwrap_or_else(|error| panic!("{error}"));
    let stages: Vec<_> = plan.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(stages, ["research", "plan", "review"]);
    assert!(kennel_core::plan::fill_inputs(&plan, &BTreeMap::new()).is_err(), "it needs a topic");
    let values = BTreeMap::from([("topic".to_owned(), "a better mousetrap".to_owned())]);
    let inputs = kennel_core::plan::fill_inputs(&plan, &values).unwrap();
    for (stage, agent) in plan.agents() {
        let answer = |_: &AgentPath| AgentAnswer::Given("found".into());
        let prompt =
            kennel_core::plan::prompt(&plan, &stage.path_of(agent), &inputs, &answer).unwrap();
        assert!(!prompt.contains("{{"), "{prompt}");
        let named = prompt.contains("a better mousetrap") || prompt.contains("found");
        assert!(named, "{prompt}");
    }
    let asked = PlanState::new(&plan).next(&plan);
    assert_eq!(asked.len(), 3, "{asked:?}");
}

/// Every TOML block on the page is a valid plan, and the page shows the actual error of a typo.
#[test]
fn the_examples_of_the_documentation_are_correct() {
    let blocks: Vec<_> =
        PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in &blocks {
        let plan =
            kennel_core::plan::parse(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
        assert_eq!(kennel_core::plan::check(&plan), Ok(()));
    }
    let typo = blocks[0].replace("{{input.folder}}", "{{input.foldr}}");
    let error = kennel_core::plan::parse(&typo).unwrap_err().in_file("tidy.toml");
    assert!(PAGE.contains(&format!("kennel: {error}\n")), "{error}");
}
