//! Every state that can be reached, breadth first: the first violation has a shortest way to it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use kennel_types::plan::PlanSpec;

use crate::Mind;
use crate::scene::{Kind, Move, Scene};

/// How much was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) moves: usize,
    /// States in which nothing is due, and the outcome was told.
    pub(crate) finished: usize,
}

/// Something that must not be, and how it came about.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) what: String,
    way: Vec<Move>,
    state: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        for step in &self.way {
            writeln!(f, "  {step:?}")?;
        }
        writeln!(f, "{}", self.state)
    }
}

/// What is known of a state.
struct Known {
    /// Where it came from, and how.
    from: Option<(u64, Move)>,
    /// Where it goes if all that is due happens, and nothing else.
    due: Option<u64>,
    finished: bool,
}

/// Looks at every state that can be reached from this one.
pub(crate) fn explore(mind: &dyn Mind, spec: &PlanSpec, start: Scene) -> Result<Seen, Violation> {
    let mut seen = Seen::default();
    let first = start.fingerprint();
    let mut known = HashMap::from([(first, Known { from: None, due: None, finished: false })]);
    let mut queue = VecDeque::from([(first, start.clone())]);
    let way_to = |known: &HashMap<u64, Known>, what: String, at: u64, last: Option<Move>| {
        violation(mind, spec, &start, known, what, at, last)
    };
    while let Some((print, scene)) = queue.pop_front() {
        seen.states += 1;
        let mut due = None;
        for (it, kind) in scene.moves(mind, spec) {
            seen.moves += 1;
            let next = scene.after(it, mind, spec);
            let next = next.map_err(|what| way_to(&known, what, print, Some(it)))?;
            let next_print = next.fingerprint();
            if kind == Kind::Due {
                due.get_or_insert(next_print);
            }
            known.entry(next_print).or_insert_with(|| {
                queue.push_back((next_print, next));
                Known { from: Some((print, it)), due: None, finished: false }
            });
        }
        let finished = due.is_none() && scene.plan.finished;
        seen.finished += usize::from(finished);
        known.entry(print).and_modify(|known| (known.due, known.finished) = (due, finished));
    }
    match never_finished(&known) {
        None => Ok(seen),
        Some(at) => Err(way_to(&known, "it never comes to its end".into(), at, None)),
    }
}

/// A state from which, if all that is due happens and nothing else, the outcome is never told.
fn never_finished(known: &HashMap<u64, Known>) -> Option<u64> {
    let mut good = HashSet::new();
    for start in known.keys() {
        let mut chain = HashSet::new();
        let mut now = *start;
        while !good.contains(&now) {
            if !chain.insert(now) {
                return Some(now);
            }
            match known[&now].due {
                Some(next) => now = next,
                None if known[&now].finished => break,
                None => return Some(now),
            }
        }
        good.extend(chain);
    }
    None
}

fn violation(
    mind: &dyn Mind,
    spec: &PlanSpec,
    start: &Scene,
    known: &HashMap<u64, Known>,
    what: String,
    mut at: u64,
    last: Option<Move>,
) -> Violation {
    let mut way = Vec::new();
    while let Some((from, by)) = known[&at].from {
        way.push(by);
        at = from;
    }
    way.reverse();
    let replayed = way.iter().try_fold(start.clone(), |scene, it| scene.after(*it, mind, spec));
    way.extend(last);
    Violation { what, way, state: format!("{replayed:#?}") }
}
