//! What plans report before they run and when they have failed.

use std::fs;

use kennel_testing::{Pen, Who};

use crate::plans::{PlanScene, RESEARCH};

/// Missing members and programs are reported together, before any agent starts.
#[test]
fn a_check_lists_missing_members_and_programs() {
    let Some(plan_scene) = PlanScene::new(Who::Other, Pen::Subtree) else { return };
    let check = |text: &str| plan_scene.run(&plan_scene.plan(text), &["--check"]).wait();
    assert_eq!(check(RESEARCH).code, 0);
    let with_member =
        RESEARCH.replacen("agent = \"claude\"\ncwd = \"code\"", "member = \"anna\"", 1);
    let unknown = with_member.replacen("agent = \"claude\"", "agent = \"cluade\"", 1);
    let reported = check(&unknown);
    assert_eq!((reported.code, reported.stdout.as_str()), (1, ""), "{reported:?}");
    for what in ["look.code: unknown member \"anna\"", "look.docs: ", "cluade"] {
        assert!(reported.stderr.contains(what), "{what} in {reported:?}");
    }
    plan_scene.scene.call_ok(&["member", "add", "anna", "--agent", "claude"]);
    assert_eq!(check(&with_member).code, 0);
    fs::remove_file(plan_scene.scene.path("bin/claude")).expect("a program");
    let reported = check(&with_member);
    assert_eq!(reported.code, 1, "{reported:?}");
    for place in ["look.code", "look.docs"] {
        let why = format!("{place}: program \"claude\" is not in PATH");
        assert!(reported.stderr.contains(&why), "{why} in {reported:?}");
    }
    plan_scene.end();
}

/// A verdict is shown with a line of evidence.
#[test]
fn a_failure_is_shown_with_its_evidence() {
    let Some(plan_scene) = PlanScene::new(Who::Other, Pen::Subtree) else { return };
    plan_scene.script_agent("code", &["crash"]);
    plan_scene.script_agent("docs", &["ok"]);
    plan_scene.script_agent("planner", &["ok"]);
    let reported = plan_scene.run(&plan_scene.plan(RESEARCH), &[]).wait();
    assert_eq!(reported.code, 1, "{reported:?}");
    let shown = plan_scene.call(&["show", "research"]);
    for text in [&reported.stdout, &shown.stdout] {
        let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("code "));
        let failed = lines.next().expect("the one that failed");
        assert!(failed.contains("failed"), "{text}");
        let evidence = lines.next().and_then(|line| line.strip_prefix("    evidence: "));
        assert!(evidence.is_some_and(|it| !it.is_empty()), "{text}");
        assert_eq!(text.matches("evidence: ").count(), 1, "{text}");
    }
    plan_scene.end();
}
