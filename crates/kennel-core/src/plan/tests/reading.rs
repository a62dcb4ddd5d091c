use std::time::Duration;

use kennel_types::Permissions;
use kennel_types::plan::{
    AgentPath, InputSpec, Name, OnFailure, PlanAgent, PlanSpec, PlanTarget, PlanWorktree, Prompt,
};

use crate::plan::*;

const HEAD: &str = "name = \"p\"\n[[stage]]\nname = \"one\"\n";

/// Returns the text of an agent of the last stage.
fn agent(name: &str, more: &str) -> String {
    format!("[[stage.agent]]\nname = \"{name}\"\nagent = \"claude\"\n{more}\n")
}

/// Returns a plan with one agent that has these further keys. Its prompt is on line 7.
fn with(more: &str) -> String {
    format!("{HEAD}{}", agent("a", &format!("prompt = \"p\"\n{more}")))
}

fn error_of(text: &str) -> String {
    crate::plan::parse(text).expect_err("the plan is valid").to_string()
}

#[test]
fn every_key_is_parsed() {
    let text = r#"
name = "research"
about = "all"
timeout = "1h30m"
concurrency = 4
[inputs]
topic = { default = "x", about = "what" }
must = {}
[[stage]]
name = "one"
need = 1
stop_rest = true
  [[stage.agent]]
  name = "a"
  agent = "claude"
  model = "opus"
  turns = 0x14
  permissions = "read_only"
  args = ["--a", "b"]
  cwd = "sub"
  timeout = 90
  worktree = "fix"
  on_failure = "fail_plan"
  retries = 2
  prompt = "about {{input.topic}}"
  [[stage.agent]]
  name = "b"
  member = "ada"
  prompt_file = "b.md"
[[stage]]
name = "two"
  [[stage.agent]]
  name = "a"
  agent = "codex"
  worktree = true
  prompt = "{{one.a}} {{ one }}"
"#;
    let plan = crate::plan::parse(text).unwrap();
    assert_eq!((plan.name.as_str(), plan.concurrency), ("research", Some(4)));
    assert_eq!(plan.timeout, Some(Duration::from_secs(5400)));
    assert_eq!(plan.inputs[&Name::parse("topic").unwrap()].default.as_deref(), Some("x"));
    assert_eq!(plan.inputs[&Name::parse("must").unwrap()], InputSpec::default());
    let places: Vec<_> = plan.agents().map(|(it, agent)| it.path_of(agent).to_string()).collect();
    assert_eq!(places, ["one.a", "one.b", "two.a"]);
    let (stage, agents) = (&plan.stages[0], &plan.stages[0].agents);
    assert_eq!((stage.need, stage.stop_rest), (Some(1), true));
    let expected = PlanAgent {
        name: Name::parse("a").unwrap(),
        who: PlanTarget::Agent("claude".into()),
        model: Some("opus".into()),
        turns: Some(20),
        permissions: Some(Permissions::ReadOnly),
        args: vec!["--a".into(), "b".into()],
        cwd: Some("sub".into()),
        timeout: Some(Duration::from_secs(90)),
        worktree: Some(PlanWorktree::Branch("fix".into())),
        on_failure: Some(OnFailure::FailPlan),
        retries: Some(2),
        prompt: Prompt::Text("about {{input.topic}}".into()),
    };
    assert_eq!(agents[0], expected);
    assert_eq!(agents[1].who, PlanTarget::Member("ada".into()));
    let policies = agents.iter().map(|agent| stage.on_failure(agent));
    assert!(
        policies.eq([OnFailure::FailPlan, OnFailure::Continue]),
        "the policy of the stage applies"
    );
    assert_eq!(plan.stages[1].on_failure(&plan.stages[1].agents[0]), OnFailure::FailPlan);
    assert_eq!(plan.stages[1].agents[0].worktree, Some(PlanWorktree::Own));
    assert_eq!(plan.prompt_files(), [(AgentPath::parse("one.b").unwrap(), "b.md".to_owned())]);
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<PlanSpec>(&json).unwrap(), plan);
}

#[test]
fn an_error_has_its_position_and_a_suggestion() {
    for (text, expected) in [
        (
            "name = \"p\"\ntiemout = 1".into(),
            "2:1: unknown field `tiemout`, expected one of `name`, `about`, `timeout`, `concurrency`, `inputs`, `stage`; did you mean timeout?",
        ),
        (with("promt = 1"), " in `stage.agent`; did you mean prompt?"),
        (with("x = 1"), "8:1: unknown field `x`, expected one of `name`, `agent`, `member`,"),
        (
            with("permissions = \"readonly\""),
            "8:15: unknown variant `readonly`, expected one of `default`, `read_only`, `edit`, `all` in `stage.agent.permissions`; did you mean read_only?",
        ),
        (
            with("on_failure = \"stop\""),
            "8:14: unknown variant `stop`, expected `fail_plan` or `continue` in `stage.agent.on_failure`",
        ),
        (with("timeout = \"20x\""), "8:11: invalid duration \"20x\": expected for example 500ms"),
        (
            with("timeout = true"),
            "8:11: expected a duration such as \"20m\", found boolean in `stage.agent.timeout`",
        ),
        (
            with("turns = \"2\""),
            "8:9: invalid type: string \"2\", expected u32 in `stage.agent.turns`",
        ),
        (
            with("turns = -2"),
            "8:9: invalid value: integer `-2`, expected u32 in `stage.agent.turns`",
        ),
        (
            with("args = \"x\""),
            "8:8: invalid type: string \"x\", expected a sequence in `stage.agent.args`",
        ),
        (
            with("args = [1]"),
            "8:9: invalid type: integer `1`, expected a string in `stage.agent.args`",
        ),
        (
            with("worktree = 1"),
            "8:12: expected true for a new branch, or the name of a branch, found integer",
        ),
        (with("member = \"ada\""), "4:1: `agent` and `member` are mutually exclusive"),
        (with("prompt_file = \"x\""), "4:1: `prompt` and `prompt_file` are mutually exclusive"),
        (format!("{HEAD}{}", agent("a", "")), "4:1: missing `prompt` or `prompt_file`"),
        (
            format!("{HEAD}[[stage.agent]]\nname = 'a'\nprompt = 'p'"),
            "4:1: missing `agent` or `member`: write agent = \"claude\"",
        ),
        ("name = \"p\"\n[stage]".into(), "in `stage`; write it with two brackets, as in [[stage]]"),
        ("name = \"a b\"".into(), "1:8: invalid name \"a b\": expected 1 to 40 letters"),
        ("name = 1".into(), "1:8: invalid type: integer `1`, expected a string in `name`"),
        ("[[stage]]".into(), "1:1: missing field `name`"),
        ("name = \"p\"\n[[stage]]\n".into(), "2:1: missing field `name` in `stage`"),
        (
            "name = \"p\"\n[inputs]\ntopic = \"x\"".into(),
            "3:9: invalid type: string \"x\", expected a table such as { default = \"…\" }, or {} for a required input in `inputs.topic`",
        ),
        (
            "name = \"p\"\n[inputs]\ntopic = { defualt = \"x\" }".into(),
            "3:11: unknown field `defualt`, expected `default` or `about` in `inputs.topic`; did you mean default?",
        ),
        ("name = ".into(), "1:8: "),
    ] {
        let error = error_of(&text);
        assert!(error.contains(expected), "{text}\n{error}\n{expected}");
    }
}

#[test]
fn a_plan_that_cannot_be_run_is_refused() {
    let two = |first: &str, second: &str| {
        let (one, two) = (agent("a", "prompt = 'p'"), agent("b", second));
        format!("name = \"p\"\n{first}[[stage]]\nname = \"one\"\n{one}{two}")
    };
    let stage = |more: &str| format!("{HEAD}{more}\n{}", agent("a", "prompt = 'p'"));
    for (text, expected) in [
        ("name = \"p\"".into(), "1:1: the plan has no stage: write [[stage]]"),
        (
            "name = \"p\"\n[[stage]]\nname = \"one\"".into(),
            "2:1: stage one: the stage has no agent",
        ),
        (format!("concurrency = 0\n{}", with("")), "1:15: `concurrency` is 0"),
        (format!("timeout = \"0\"\n{}", with("")), "1:11: `timeout` is 0"),
        (
            format!("timeout = \"1m\"\n{}", with("timeout = \"1h\"")),
            "9:11: one.a: its `timeout` of 3600s is longer than the timeout of the plan, 60s",
        ),
        (stage("need = 0"), "4:8: stage one: `need` is 0"),
        (
            stage("need = 2"),
            "4:8: stage one: `need` is 2: the maximum is 1, the number of agents of the stage",
        ),
        (stage("stop_rest = true"), "4:13: stage one: `stop_rest` requires `need`"),
        (with("turns = 0"), "8:9: one.a: `turns` is 0"),
        (with("timeout = 0"), "8:11: one.a: `timeout` is 0"),
        (with("retries = 101"), "8:11: one.a: `retries` is 101: the maximum is 100"),
        (with("args = [\"a\\u0000\"]"), "8:8: one.a: `args` contains a NUL"),
        (
            format!("{}{}", with(""), agent("a", "prompt = 'p'")),
            "10:8: one.a: another agent of the stage has the same name",
        ),
        (
            format!("{}\n[[stage]]\nname = 'one'\n{}", with(""), agent("b", "prompt = 'p'")),
            "11:8: stage one: another stage has the same name",
        ),
        (with("").replace("one", "input"), "3:8: stage input: this name is reserved"),
        (two("", "prompt = \" \""), "one.b: `prompt` is empty"),
        (
            two("", "prompt = \"{{one.a}}\""),
            "11:13: one.b: {{one.a}}: it is in the same stage and has no answer yet",
        ),
        (two("", "prompt = \"{{one}}\""), "{{one}}: it is in the same stage"),
        (
            two("", "prompt = \"{{input.x}}\""),
            "{{input.x}}: there is no input x in [inputs]; there are none",
        ),
        (two("[inputs]\ntopic = {}\n", "prompt = \"{{input.topci}}\""), "did you mean topic?"),
        (
            two("[inputs]\ntopic = {}\n", "prompt = \"{{inputs.topic}}\""),
            "there is no earlier stage inputs; did you mean input?",
        ),
        (
            two("", "prompt = \"\"\"\n\nsee {{two.b\n\"\"\""),
            "13:5: one.b: \"{{two.b\" has no }} on its line",
        ),
        (
            two("", "prompt = 'x'\ncwd = '.'").replace("agent = \"claude\"", "member = \"ada\""),
            "a member works in its own directory: leave `cwd` out",
        ),
        (
            two("", "prompt = 'x'").replace("agent = \"claude\"", "member = \"ada\""),
            "one.b: the member \"ada\" is asked twice in one stage",
        ),
        (
            two("", "prompt = 'x'\nworktree = 'fix'")
                .replace("prompt = 'p'", "prompt = 'p'\nworktree = 'fix'"),
            "one.b: another agent of the stage has the branch \"fix\"",
        ),
        (with("").replace("\"claude\"", "\"\""), "one.a: `agent` is empty"),
        (
            with("").replace("agent = \"claude\"", "member = \"a b\""),
            "6:10: one.a: invalid member name \"a b\"",
        ),
    ] {
        let error = error_of(&text);
        assert!(error.contains(expected), "{text}\n{error}\n{expected}");
    }
}

#[test]
fn prompts_refer_to_earlier_stages_only() {
    let plan = |first: &str, second: &str| {
        let (one, two) = (agent("a", first), agent("b", second));
        format!("name = \"p\"\n[[stage]]\nname = \"one\"\n{one}[[stage]]\nname = \"two\"\n{two}")
    };
    assert!(crate::plan::parse(&plan("prompt = 'p'", "prompt = '{{one.a}}{{one}}'")).is_ok());
    for (first, second, expected) in [
        ("{{two.b}}", "p", "one.a: {{two.b}}: it is in a later stage"),
        ("{{two}}", "p", "one.a: {{two}}: it is in a later stage"),
        (
            "p",
            "{{one.aa}}",
            "two.b: {{one.aa}}: there is no agent aa in the stage one; did you mean a?",
        ),
        ("p", "{{oen}}", "two.b: {{oen}}: there is no earlier stage oen; did you mean one?"),
        ("p", "{{two.b}}", "it is in the same stage"),
    ] {
        let (first, second) = (format!("prompt = '{first}'"), format!("prompt = '{second}'"));
        let error = error_of(&plan(&first, &second));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn all_errors_are_reported_at_once_in_order() {
    let error = crate::plan::parse(&with("turns = 0\nretries = 1000\nprompt2 = 1")).unwrap_err();
    assert_eq!(error.problems().len(), 1, "syntax errors are reported first: {error}");
    let error = crate::plan::parse(&with("retries = 1000\nturns = 0")).unwrap_err();
    let lines = error.in_file("x.toml");
    let lines: Vec<_> = lines.lines().collect();
    assert!(lines[0].starts_with("x.toml:8:11: one.a: `retries`"), "{lines:?}");
    assert!(lines[1].starts_with("x.toml:9:9: one.a: `turns`"), "{lines:?}");
}

#[test]
fn a_plan_from_json_is_checked_too() {
    let mut plan = crate::plan::parse(&with("")).unwrap();
    assert_eq!(crate::plan::check(&plan), Ok(()));
    plan.stages[0].need = Some(7);
    let error = crate::plan::check(&plan).unwrap_err();
    assert_eq!(
        error.in_file("x"),
        "x: stage one: `need` is 7: the maximum is 1, the number of agents of the stage"
    );
    let broken = serde_json::to_string(&plan).unwrap().replace("\"one\"", "\"o.ne\"");
    let error = serde_json::from_str::<PlanSpec>(&broken).unwrap_err();
    assert!(error.to_string().contains("invalid name"), "{error}");
}

#[test]
fn a_prompt_from_a_file_is_checked_when_it_is_set() {
    let text = with("").replace("prompt = \"p\"", "prompt_file = \"a.md\"");
    let mut plan = crate::plan::parse(&text).unwrap();
    let place = AgentPath::parse("one.a").unwrap();
    assert_eq!(plan.prompt_files(), [(place.clone(), "a.md".to_owned())]);
    let error = crate::plan::put_prompt(&mut plan, &place, "{{x}}").unwrap_err();
    assert!(error.to_string().starts_with("one.a: {{x}}: there is no earlier stage x"), "{error}");
    assert_eq!(crate::plan::put_prompt(&mut plan, &place, "go on"), Ok(()));
    assert!(plan.prompt_files().is_empty());
    let unknown = AgentPath::parse("one.z").unwrap();
    let error = crate::plan::put_prompt(&mut plan, &unknown, "x").unwrap_err();
    assert_eq!(error.to_string(), "there is no agent one.z in this plan");
}

#[test]
fn a_plan_that_is_too_large_is_refused() {
    let many: String = (0..=MAX_AGENTS).map(|n| agent(&format!("a{n}"), "prompt = 'p'")).collect();
    let error = error_of(&format!("{HEAD}{many}"));
    assert_eq!(error, "1:1: the plan has 201 agents: the maximum is 200");
    let long = "x".repeat(MAX_PROMPT_BYTES + 1);
    let error = error_of(&format!("{HEAD}{}", agent("a", &format!("prompt = '{long}'"))));
    assert!(error.contains("`prompt` has 1048577 bytes: the maximum is 1048576"), "{error}");
}

proptest::proptest! {
    #[test]
    fn any_text_parses_or_fails_cleanly(
        cut in 0..1200_usize,
        junk in "[\\[\\]{}=\"'.\nnameprostg 0-9]{0,40}",
    ) {
        let text = with("timeout = \"1m\"\nargs = [\"x\"]\nworktree = true");
        let cut = cut % text.len();
        let text = format!("{}{junk}{}", &text[..cut], &text[cut..]);
        match crate::plan::parse(&text) {
            Ok(plan) => proptest::prop_assert_eq!(crate::plan::check(&plan), Ok(())),
            Err(error) => {
                let lines = text.lines().count() + 1;
                for problem in error.problems() {
                    proptest::prop_assert!(problem.at.is_some_and(|(line, _)| line <= lines));
                }
            }
        }
    }
}

/// In a request only the check for unknown fields detects a typo.
#[test]
fn an_unknown_field_is_refused_in_every_part_of_a_plan() {
    let spec = crate::plan::parse(&format!("{}[inputs]\nx = {{}}\n", with(""))).expect("a plan");
    let whole = serde_json::to_value(&spec).expect("JSON");
    let read = |value| {
        PlanSpec::from_request::<serde_json::Value>(value).map_err(|error| error.to_string())
    };
    assert_eq!(read(whole.clone()), Ok(spec.clone()));
    for part in ["", "/inputs/x", "/stages/0", "/stages/0/agents/0"] {
        let mut wrong = whole.clone();
        let object = wrong.pointer_mut(part).and_then(|it| it.as_object_mut()).expect(part);
        object.insert("tiemout_ms".to_owned(), 1.into());
        // A record of a newer version is still accepted.
        assert_eq!(serde_json::from_value::<PlanSpec>(wrong.clone()).ok(), Some(spec.clone()));
        let error = read(wrong).expect_err(part);
        assert!(
            error.contains("unknown field `") && error.contains("tiemout_ms`"),
            "{part}: {error}"
        );
    }
}
