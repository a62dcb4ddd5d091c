//! What people are told of plans before they are run.

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
