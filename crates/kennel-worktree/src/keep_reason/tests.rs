use proptest::prelude::*;

use super::*;
use crate::findings::{LostCommits, NestedRepository};

/// Facts each of which is a sufficient reason to keep a worktree.
const FACTS: &[fn(&mut Findings)] = &[
    |found| found.changes.staged = 1,
    |found| found.changes.modified = 1,
    |found| found.changes.untracked = 1,
    |found| found.changes.conflicted = 1,
    |found| found.changes.submodules = 1,
    |found| found.changes.hidden = 1,
    |found| found.changes.more = true,
    |found| found.operation = Some(Operation::Rebase),
    |found| found.commits = LostCommits { count: 1, newest: Vec::new() },
    |found| found.locked = Some(String::new()),
    |found| found.nested.push(nested(NestedWorth::Worktree)),
    |found| found.nested.push(nested(NestedWorth::Changes)),
    |found| found.nested.push(nested(NestedWorth::Commits(1))),
    |found| found.nested.push(nested(NestedWorth::Unknown("no".to_owned()))),
    |found| found.own_refs = 1,
];

const HARMLESS: &[fn(&mut Findings)] = &[
    |found| found.nested.push(nested(NestedWorth::Nothing)),
    |found| found.changes.some.push(PathBuf::from("file")),
];

fn nested(worth: NestedWorth) -> NestedRepository {
    NestedRepository { path: PathBuf::from("inner"), worth }
}

fn states() -> [(DiskState, bool); 10] {
    [
        (DiskState::Absent, false),
        (DiskState::Unfinished, false),
        (DiskState::Complete, false),
        (DiskState::BeingRemoved, false),
        (DiskState::FolderGone, false),
        (DiskState::ParentGone, true),
        (DiskState::Moved(PathBuf::from("/elsewhere")), true),
        (DiskState::Replaced, true),
        (DiskState::Unregistered, true),
        (DiskState::RepositoryGone, true),
    ]
}

/// Checks every set of facts on a complete worktree, and every single fact in every other state.
#[test]
fn a_worktree_has_no_value_exactly_if_there_is_no_reason() {
    for (state, is_reason) in states() {
        let all = 0_u32..1 << FACTS.len();
        let sets = all.filter(|set| state == DiskState::Complete || set.count_ones() <= 1);
        for set in sets {
            let mut found = Findings { state: state.clone(), ..Findings::default() };
            for (_, fact) in FACTS.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1) {
                fact(&mut found);
            }
            let is_nothing = keep_reasons(&found).is_empty();
            assert_eq!(is_nothing, set == 0 && !is_reason, "{state:?} with {set:b}");
        }
    }
}

/// No text is empty, and no two are the same.
#[test]
fn every_reason_has_its_own_text() {
    let mut texts = std::collections::BTreeSet::new();
    for fact in FACTS {
        let mut found = Findings { state: DiskState::Complete, ..Findings::default() };
        fact(&mut found);
        let why = keep_reasons(&found);
        let text: Vec<String> = why.iter().map(ToString::to_string).collect();
        assert!(texts.insert(text.join("; ")), "the same text twice: {text:?}");
    }
    assert!(texts.iter().all(|text| text.len() > 10), "{texts:?}");
}

proptest! {
    /// Additional facts, in any order, never remove the value, and harmless facts never add any.
    #[test]
    fn additional_facts_never_reduce_the_value(
        state in 0..10_usize,
        facts in proptest::collection::vec(0..FACTS.len(), 0..6),
        harmless in proptest::collection::vec(0..HARMLESS.len(), 0..6),
    ) {
        let (state, is_reason) = states()[state].clone();
        let mut found = Findings { state, ..Findings::default() };
        let mut was_valuable = is_reason;
        for fact in &facts {
            FACTS[*fact](&mut found);
            let is_valuable = !keep_reasons(&found).is_empty();
            prop_assert!(is_valuable >= was_valuable);
            was_valuable = is_valuable;
        }
        for fact in &harmless {
            HARMLESS[*fact](&mut found);
            prop_assert_eq!(!keep_reasons(&found).is_empty(), was_valuable);
        }
    }
}
