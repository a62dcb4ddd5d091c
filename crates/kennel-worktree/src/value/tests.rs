use proptest::prelude::*;

use super::*;
use crate::findings::{Commits, Head, Nested};

/// Each is one fact that alone is reason enough to keep a worktree.
const FACTS: &[fn(&mut Findings)] = &[
    |found| found.changes.staged = 1,
    |found| found.changes.modified = 1,
    |found| found.changes.untracked = 1,
    |found| found.changes.conflicted = 1,
    |found| found.changes.submodules = 1,
    |found| found.changes.hidden = 1,
    |found| found.changes.more = true,
    |found| found.operation = Some(Operation::Rebase),
    |found| found.commits = Commits { count: 1, newest: Vec::new() },
    |found| found.locked = Some(String::new()),
    |found| found.nested.push(nested(NestedWorth::Worktree)),
    |found| found.nested.push(nested(NestedWorth::Changes)),
    |found| found.nested.push(nested(NestedWorth::Commits(1))),
    |found| found.nested.push(nested(NestedWorth::Unknown("no".to_owned()))),
    |found| found.own_refs = 1,
];

const HARMLESS: &[fn(&mut Findings)] = &[
    |found| found.stashes = 3,
    |found| found.head = Head::Detached("0".to_owned()),
    |found| found.head = Head::Branch("another".to_owned()),
    |found| found.nested.push(nested(NestedWorth::Nothing)),
];

fn nested(worth: NestedWorth) -> Nested {
    Nested { path: PathBuf::from("inner"), worth }
}

fn standings() -> [(Standing, bool); 10] {
    [
        (Standing::Absent, false),
        (Standing::Unfinished, false),
        (Standing::Whole, false),
        (Standing::Condemned, false),
        (Standing::FolderGone, false),
        (Standing::PlaceGone, true),
        (Standing::Moved(PathBuf::from("/elsewhere")), true),
        (Standing::Replaced, true),
        (Standing::Unregistered, true),
        (Standing::RepositoryGone, true),
    ]
}

/// Nothing of value exactly if there is no reason: every set of facts on a whole worktree, every single one on every
/// other.
#[test]
fn nothing_of_value_exactly_if_there_is_no_reason() {
    for (standing, is_reason) in standings() {
        let all = 0_u32..1 << FACTS.len();
        let sets = all.filter(|set| standing == Standing::Whole || set.count_ones() <= 1);
        for set in sets {
            let mut found = Findings::nothing(standing.clone());
            for (_, fact) in FACTS.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1) {
                fact(&mut found);
            }
            let is_nothing = value(&found) == Verdict::Nothing;
            assert_eq!(is_nothing, set == 0 && !is_reason, "{standing:?} with {set:b}");
        }
    }
}

/// People read the reasons: none is empty, no two are alike.
#[test]
fn each_reason_is_told() {
    let mut told = std::collections::BTreeSet::new();
    for fact in FACTS {
        let mut found = Findings::nothing(Standing::Whole);
        fact(&mut found);
        let Verdict::Valuable(why) = value(&found) else { panic!("{found:?} is worth nothing") };
        let text: Vec<String> = why.iter().map(ToString::to_string).collect();
        assert!(told.insert(text.join("; ")), "told twice: {text:?}");
    }
    assert!(told.iter().all(|text| text.len() > 10), "{told:?}");
}

proptest! {
    /// What is found besides, in any order, never makes something valuable worthless; and what is harmless never makes
    /// something worthless valuable.
    #[test]
    fn more_findings_never_make_it_worth_less(
        standing in 0..10_usize,
        facts in proptest::collection::vec(0..FACTS.len(), 0..6),
        harmless in proptest::collection::vec(0..HARMLESS.len(), 0..6),
    ) {
        let (standing, is_reason) = standings()[standing].clone();
        let mut found = Findings::nothing(standing);
        let mut was_valuable = is_reason;
        for fact in &facts {
            FACTS[*fact](&mut found);
            let is_valuable = value(&found) != Verdict::Nothing;
            prop_assert!(is_valuable >= was_valuable);
            was_valuable = is_valuable;
        }
        for fact in &harmless {
            HARMLESS[*fact](&mut found);
            prop_assert_eq!(value(&found) != Verdict::Nothing, was_valuable);
        }
    }
}
