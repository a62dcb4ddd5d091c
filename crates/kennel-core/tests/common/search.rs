//! Breadth-first search over all reachable states: the first violation that it finds has a shortest
//! path.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// Something with states and moves between them.
pub(crate) trait System {
    type State: Clone + fmt::Debug;
    type Move: Copy + fmt::Debug;

    /// Returns a hash by which equal states are recognized.
    fn fingerprint(&self, state: &Self::State) -> u64;

    /// Returns the possible moves, and whether each is due: a due move happens sooner or later by
    /// itself.
    fn moves(&self, state: &Self::State) -> Vec<(Self::Move, bool)>;

    /// Returns the state after a move, or the invariant that it violates.
    fn after(&self, state: &Self::State, step: Self::Move) -> Result<Self::State, String>;

    /// Returns what is wrong if the system stays in this state.
    fn check_settled(&self, state: &Self::State) -> Result<(), String>;
}

/// The size of a search.
#[derive(Debug, Default)]
pub(crate) struct SearchSize {
    pub(crate) states: usize,
    pub(crate) moves: usize,
    /// States in which nothing is due.
    pub(crate) resting: usize,
}

/// A violated invariant, and the moves that lead to it.
#[derive(Debug)]
pub(crate) struct Violation<M> {
    pub(crate) what: String,
    pub(crate) path: Vec<M>,
    state: String,
}

impl<M: fmt::Debug> fmt::Display for Violation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        for step in &self.path {
            writeln!(f, "  {step:?}")?;
        }
        writeln!(f, "{}", self.state)
    }
}

/// A state that the search has reached.
struct Reached<M> {
    /// The previous state, and the move from there.
    from: Option<(u64, M)>,
    /// The next state if only due moves happen. `None`: nothing is due.
    due: Option<u64>,
    /// What is wrong with staying in this state.
    unsettled: Option<String>,
}

struct Search<'a, S: System> {
    system: &'a S,
    start: S::State,
    reached: HashMap<u64, Reached<S::Move>>,
    /// The nearest states first.
    order: Vec<u64>,
}

/// Visits every state that can be reached from a state.
pub(crate) fn explore<S: System>(
    system: &S,
    start: S::State,
) -> Result<SearchSize, Violation<S::Move>> {
    let mut size = SearchSize::default();
    let reached = HashMap::new();
    let mut search = Search { system, start: start.clone(), reached, order: Vec::new() };
    let first = system.fingerprint(&start);
    search.reach(first, &start, None);
    let mut queue = VecDeque::from([(first, start)]);
    while let Some((print, state)) = queue.pop_front() {
        size.states += 1;
        let mut due = None;
        for (step, is_due) in system.moves(&state) {
            size.moves += 1;
            let next = system.after(&state, step);
            let next = next.map_err(|what| search.violation(what, print, Some(step)))?;
            let next_print = system.fingerprint(&next);
            if is_due {
                due.get_or_insert(next_print);
            }
            if search.reach(next_print, &next, Some((print, step))) {
                queue.push_back((next_print, next));
            }
        }
        size.resting += usize::from(due.is_none());
        search.reached.entry(print).and_modify(|reached| reached.due = due);
    }
    search.check_all_settle()?;
    Ok(size)
}

impl<S: System> Search<'_, S> {
    /// Notes a state. Returns whether it is new.
    fn reach(&mut self, print: u64, state: &S::State, from: Option<(u64, S::Move)>) -> bool {
        let Entry::Vacant(entry) = self.reached.entry(print) else { return false };
        let unsettled = self.system.check_settled(state).err();
        entry.insert(Reached { from, due: None, unsettled });
        self.order.push(print);
        true
    }

    /// Checks that every state leads to a settled one if only due moves happen.
    fn check_all_settle(&self) -> Result<(), Violation<S::Move>> {
        let mut settling = HashSet::new();
        for start in &self.order {
            let mut chain = HashSet::new();
            let mut now = *start;
            while !settling.contains(&now) {
                let reached = &self.reached[&now];
                // A cycle never rests, which is fine in a settled state: a lost session is probed
                // again and again.
                let in_cycle = !chain.insert(now);
                if let Some(what) = &reached.unsettled
                    && (in_cycle || reached.due.is_none())
                {
                    return Err(self.violation(what.clone(), now, None));
                }
                match reached.due {
                    Some(next) if !in_cycle => now = next,
                    _ => break,
                }
            }
            settling.extend(chain);
        }
        Ok(())
    }

    fn violation(&self, what: String, print: u64, last: Option<S::Move>) -> Violation<S::Move> {
        let mut path = Vec::new();
        let mut at = print;
        while let Some((from, step)) = self.reached[&at].from {
            path.push(step);
            at = from;
        }
        path.reverse();
        let start = self.start.clone();
        let replayed = path.iter().try_fold(start, |state, step| self.system.after(&state, *step));
        path.extend(last);
        Violation { what, path, state: format!("{replayed:#?}") }
    }
}
