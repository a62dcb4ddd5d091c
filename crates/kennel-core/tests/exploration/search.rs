//! Every state that can be reached, breadth first: the first violation has a shortest way to it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use crate::action::{Kind, Setting};
use crate::scene::{Mind, Move, Scene};

/// How much was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) moves: usize,
    /// States in which nothing is due.
    pub(crate) resting: usize,
}

/// Something that must not be, and how it came about.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) what: String,
    pub(crate) way: Vec<Move>,
    pub(crate) state: String,
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
    /// Where it goes if all that is due happens, and nothing else. None: nothing is due.
    due: Option<u64>,
    /// What is wrong with staying in it.
    unsettled: Option<String>,
}

struct Search<'a, D: Mind> {
    mind: &'a D,
    setting: Setting,
    start: Scene<D::Memory>,
    known: HashMap<u64, Known>,
    /// The nearest first.
    order: Vec<u64>,
}

/// Looks at every state that can be reached from this one.
pub(crate) fn explore<D: Mind>(
    mind: &D,
    setting: Setting,
    start: Scene<D::Memory>,
) -> Result<Seen, Violation>
where
    D::Memory: fmt::Debug,
{
    let mut seen = Seen::default();
    let mut search =
        Search { mind, setting, start: start.clone(), known: HashMap::new(), order: Vec::new() };
    let first = start.fingerprint(mind);
    search.meet(first, &start, None);
    let mut queue = VecDeque::from([(first, start)]);
    while let Some((print, scene)) = queue.pop_front() {
        seen.states += 1;
        let mut due = None;
        for (it, kind) in scene.moves(mind, setting) {
            seen.moves += 1;
            let next = scene.after(it, mind, setting);
            let next = next.map_err(|what| search.violation(what, print, Some(it)))?;
            let next_print = next.fingerprint(mind);
            if kind == Kind::Due {
                due.get_or_insert(next_print);
            }
            if search.meet(next_print, &next, Some((print, it))) {
                queue.push_back((next_print, next));
            }
        }
        seen.resting += usize::from(due.is_none());
        search.known.entry(print).and_modify(|known| known.due = due);
    }
    search.all_come_to_rest()?;
    Ok(seen)
}

impl<D: Mind> Search<'_, D>
where
    D::Memory: fmt::Debug,
{
    /// Whether it is new.
    fn meet(&mut self, print: u64, scene: &Scene<D::Memory>, from: Option<(u64, Move)>) -> bool {
        let Entry::Vacant(entry) = self.known.entry(print) else { return false };
        let unsettled = scene.is_settled(self.mind, self.setting).err();
        entry.insert(Known { from, due: None, unsettled });
        self.order.push(print);
        true
    }

    /// From every state, if all that is due happens and nothing else, a state to rest in is reached.
    fn all_come_to_rest(&self) -> Result<(), Violation> {
        let mut calm = HashSet::new();
        for start in &self.order {
            let mut chain = HashSet::new();
            let mut now = *start;
            while !calm.contains(&now) {
                let known = &self.known[&now];
                // What comes back to itself never rests; but what is lost is looked for again and again.
                let back = !chain.insert(now);
                if let Some(what) = &known.unsettled
                    && (back || known.due.is_none())
                {
                    return Err(self.violation(what.clone(), now, None));
                }
                match known.due {
                    Some(next) if !back => now = next,
                    _ => break,
                }
            }
            calm.extend(chain);
        }
        Ok(())
    }

    fn violation(&self, what: String, print: u64, last: Option<Move>) -> Violation {
        let mut way = Vec::new();
        let mut at = print;
        while let Some((from, by)) = self.known[&at].from {
            way.push(by);
            at = from;
        }
        way.reverse();
        let replayed = way
            .iter()
            .try_fold(self.start.clone(), |scene, it| scene.after(*it, self.mind, self.setting));
        way.extend(last);
        Violation { what, way, state: format!("{replayed:#?}") }
    }
}
