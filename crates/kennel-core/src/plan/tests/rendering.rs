use std::collections::BTreeMap;

use kennel_types::plan::{AgentPath, PlanSpec};

use crate::plan::*;

fn plan() -> PlanSpec {
    crate::plan::parse(
        r#"
name = "p"
[inputs]
topic = { about = "what it is about" }
tone = { default = "dry" }
[[stage]]
name = "one"
need = 1
[[stage.agent]]
name = "a"
agent = "claude"
prompt = "{{input.topic}}, {{input.tone}}: {{{{"
[[stage.agent]]
name = "b"
agent = "claude"
prompt_file = "b.md"
[[stage]]
name = "two"
[[stage.agent]]
name = "z"
agent = "claude"
prompt = "{{one.b}}|{{one}}"
"#,
    )
    .unwrap()
}

fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn place(text: &str) -> AgentPath {
    AgentPath::parse(text).unwrap()
}

fn no_answer<'a>(_: &AgentPath) -> AgentAnswer<'a> {
    AgentAnswer::Missing("it was not asked".into())
}

#[test]
fn inputs_have_their_value_or_their_default() {
    let plan = plan();
    let inputs = crate::plan::fill_inputs(&plan, &values(&[("topic", "{{one}}")])).unwrap();
    let prompt = crate::plan::prompt(&plan, &place("one.a"), &inputs, &no_answer).unwrap();
    assert_eq!(prompt, "{{one}}, dry: {{");
    let again: Inputs = serde_json::from_str(&serde_json::to_string(&inputs).unwrap()).unwrap();
    assert_eq!(again, inputs);
}

#[test]
fn a_missing_or_unknown_input_is_reported() {
    let error =
        crate::plan::fill_inputs(&plan(), &values(&[("tpoic", "x")])).unwrap_err().to_string();
    let expected = "the plan p has no input \"tpoic\"; did you mean topic?\n\
                    the plan p requires the input topic (what it is about): pass --set topic=VALUE";
    assert_eq!(error, expected);
}

#[test]
fn answers_are_inserted_and_missing_ones_are_named() {
    let plan = plan();
    let inputs = crate::plan::fill_inputs(&plan, &values(&[("topic", "x")])).unwrap();
    let answer = |of: &AgentPath| match of.agent.as_str() {
        "a" => AgentAnswer::Given("it is {{so}}\n\n".into()),
        _ => AgentAnswer::Missing("timed_out".into()),
    };
    let prompt = crate::plan::prompt(&plan, &place("two.z"), &inputs, &answer).unwrap();
    let expected = "[no answer from one.b: timed_out]|## a\n\nit is {{so}}\n\n## b\n\n\
                    [no answer from one.b: timed_out]\n";
    assert_eq!(prompt, expected);
}

#[test]
fn a_long_answer_is_cut_with_a_note() {
    let plan = plan();
    let inputs = crate::plan::fill_inputs(&plan, &values(&[("topic", "x")])).unwrap();
    let long = "ü".repeat(MAX_ANSWER_BYTES);
    let prompt = crate::plan::prompt(&plan, &place("two.z"), &inputs, &|_| {
        AgentAnswer::Given((&*long).into())
    })
    .unwrap();
    let cut = format!("[{MAX_ANSWER_BYTES} more bytes from one.b are left out]|");
    assert!(prompt.contains(&cut) && prompt.len() < 3 * MAX_ANSWER_BYTES + 1000);
}

#[test]
fn a_prompt_without_text_or_values_is_an_error() {
    let plan = plan();
    let error_of = |text| {
        crate::plan::prompt(&plan, &place(text), &Inputs::default(), &no_answer)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(error_of("one.b"), "the prompt of one.b: the file \"b.md\" was not loaded");
    assert_eq!(error_of("one.x"), "the prompt of one.x: the plan has no such agent");
    assert_eq!(error_of("one.a"), "the prompt of one.a: there is no value for {{input.topic}}");
}
