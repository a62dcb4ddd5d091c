//! What people are told of plans: before they are run, and when they have failed.

use std::fs;

use kennel_testing::{Pen, Who};

use crate::plans::{Office, RESEARCH};

/// Whom a plan needs and nobody has is told of before anybody is asked, all at once.
#[test]
fn a_check_tells_which_members_and_programs_are_missing() {
    let Some(office) = Office::new(Who::Other, Pen::Subtree) else { return };
    let check = |text: &str| office.run(&office.plan(text), &["--check"]).wait();
    assert_eq!(check(RESEARCH).code, 0);
    let with_member =
        RESEARCH.replacen("agent = \"claude\"\ncwd = \"code\"", "member = \"anna\"", 1);
    let unknown = with_member.replacen("agent = \"claude\"", "agent = \"cluade\"", 1);
    let told = check(&unknown);
    assert_eq!((told.code, told.stdout.as_str()), (1, ""), "{told:?}");
    for what in ["look.code: there is no member \"anna\"", "look.docs: ", "cluade"] {
        assert!(told.stderr.contains(what), "{what} in {told:?}");
    }
    office.scene.call_ok(&["member", "add", "anna", "--agent", "claude"]);
    assert_eq!(check(&with_member).code, 0);
    fs::remove_file(office.scene.path("bin/claude")).expect("a program");
    let told = check(&with_member);
    assert_eq!(told.code, 1, "{told:?}");
    for place in ["look.code", "look.docs"] {
        let why = format!("{place}: no program \"claude\" in PATH");
        assert!(told.stderr.contains(&why), "{why} in {told:?}");
    }
    office.end();
}

/// A verdict is shown with what it was made from, in a line.
#[test]
fn what_a_failure_was_seen_by_is_told() {
    let Some(office) = Office::new(Who::Other, Pen::Subtree) else { return };
    office.desk("code", &["crash"]);
    office.desk("docs", &["ok"]);
    office.desk("planner", &["ok"]);
    let told = office.run(&office.plan(RESEARCH), &[]).wait();
    assert_eq!(told.code, 1, "{told:?}");
    let shown = office.call(&["show", "research"]);
    for text in [&told.stdout, &shown.stdout] {
        let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with("code "));
        let failed = lines.next().expect("the one that failed");
        assert!(failed.contains("failed"), "{text}");
        let evidence = lines.next().and_then(|line| line.strip_prefix("    evidence: "));
        assert!(evidence.is_some_and(|it| !it.is_empty()), "{text}");
        assert_eq!(text.matches("evidence: ").count(), 1, "{text}");
    }
    office.end();
}
