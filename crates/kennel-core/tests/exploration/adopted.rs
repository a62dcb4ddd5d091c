//! Explores every interleaving of events around an adopted process: it exits, is stopped or
//! released; the daemon shuts down or is killed; records, probes and cleanups fail; messages arrive
//! twice.
//!
//! This has a model of its own, because there is neither keeper nor pen.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use kennel_core::{Effect, Event, Probe, Session, StopIntent, Writing};
use kennel_types::{Exit, IdMaker, LaunchToken, Phase, Reason, SessionSpec, StartedBy};

use crate::single::files;

type Step = fn(&mut Session, &Event) -> Vec<Effect>;

/// How many faults and requests may still occur.
#[derive(Debug, Clone, Copy)]
struct Budget {
    faults: u8,
    requests: u8,
}

/// The daemon's operations in progress.
#[derive(Debug, Clone, Default)]
struct DaemonWork {
    writing: bool,
    probing: bool,
    ending: bool,
    cleaning: bool,
    timer: bool,
}

/// The daemon, the process, and the disk.
#[derive(Debug, Clone)]
struct State {
    /// The session in the daemon's memory, if there is a daemon.
    memory: Option<Session>,
    row: Option<Session>,
    work: DaemonWork,
    /// Whether the daemon would notice the end of the process.
    followed: bool,
    alive: bool,
    files: bool,
    /// Whether a stop has named the session.
    stopped: bool,
    budget: Budget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    // Due moves.
    Written,
    Probed,
    NoticedEnd,
    EndsByStop,
    CleanedUp,
    Timer,
    Restart,
    // Optional moves.
    Exits,
    Stopped,
    Shutdown,
    Released,
    NotWritten,
    ProbeFails,
    CleanUpFails,
    DaemonKilled,
    Repeated,
}

const DUE: [Move; 7] = [
    Move::Written,
    Move::Probed,
    Move::NoticedEnd,
    Move::EndsByStop,
    Move::CleanedUp,
    Move::Timer,
    Move::Restart,
];
const OPTIONAL: [Move; 9] = [
    Move::Exits,
    Move::Stopped,
    Move::Shutdown,
    Move::Released,
    Move::NotWritten,
    Move::ProbeFails,
    Move::CleanUpFails,
    Move::DaemonKilled,
    Move::Repeated,
];

fn stop(reason: Reason) -> Event {
    Event::StopAsked(StopIntent { grace: None, reason })
}

fn found() -> Event {
    let identity = "it".to_owned();
    Event::Probed(Probe::Running { identity, pid: 42, pen: None, ending: false, exit: None })
}

fn over() -> Event {
    let exit = Exit::Unknown { why: "its parent collected the status".into() };
    Event::Probed(Probe::Over { exit, reason: None })
}

impl State {
    fn start(budget: Budget) -> Self {
        let id = IdMaker::default().next(2_000_000_000_000, 0);
        let (spec, token) = (SessionSpec::default(), LaunchToken::new(1));
        let session = Session::adopted(id, spec, token, ("it".into(), 42), vec![files()]);
        assert_eq!(session.first_effects(), [Effect::Record { durable: true }]);
        Self {
            memory: Some(session),
            row: None,
            work: DaemonWork { writing: true, ..DaemonWork::default() },
            followed: false,
            alive: true,
            files: false,
            stopped: false,
            budget,
        }
    }

    /// Applies an event to the core, and begins to carry out the effects.
    fn apply(&mut self, event: &Event, step: Step) -> Result<(), String> {
        let Some(session) = &mut self.memory else { return Ok(()) };
        let effects = step(session, event);
        let session = session.clone();
        for effect in effects {
            match effect {
                Effect::Record { durable: true } => self.work.writing = true,
                Effect::Record { durable: false } => self.row = Some(on_disk(&session)),
                Effect::Probe if self.row.is_none() => {
                    return Err("1: probed before it is on record".into());
                }
                Effect::Probe => self.work.probing = true,
                Effect::Stop { .. } if !self.stopped => {
                    return Err("3: stopped, but no stop named it".into());
                }
                Effect::Stop { .. } if self.followed => self.work.ending = true,
                Effect::Stop { .. } => return Err("6: stopped without a handle on it".into()),
                Effect::CleanUp { .. } if self.work.probing => {
                    return Err("9: cleaned up while files may be created".into());
                }
                Effect::CleanUp { .. } => self.work.cleaning = true,
                Effect::RetryLater => self.work.timer = true,
                other => return Err(format!("unexpected effect: {other:?}")),
            }
        }
        if session.has_ended() {
            self.followed = false;
            self.work.ending = false;
        }
        Ok(())
    }

    /// Returns the state after a move. `None`: the move is not possible.
    fn after(&self, it: Move, step: Step) -> Option<Result<Self, String>> {
        let mut next = self.clone();
        let (up, work) = (self.memory.is_some(), &self.work);
        let mut event = None;
        match it {
            Move::Written if work.writing => {
                next.work.writing = false;
                next.row = self.memory.as_ref().map(on_disk);
                event = Some(Event::Recorded);
            }
            Move::Probed if work.probing => {
                next.work.probing = false;
                next.files |= self.alive;
                next.followed = self.alive && !self.memory.as_ref()?.has_ended();
                event = Some(if self.alive { found() } else { over() });
            }
            Move::NoticedEnd if self.followed && !self.alive => {
                let exit = Exit::Code { code: 0 };
                event = Some(Event::Gone { exit, reason: None });
            }
            Move::EndsByStop if work.ending && self.alive => next.alive = false,
            Move::CleanedUp if work.cleaning => {
                (next.work.cleaning, next.files) = (false, false);
                event = Some(Event::CleanedUp { what: files().what });
            }
            Move::Timer if work.timer => {
                next.work.timer = false;
                event = Some(Event::RetryDue);
            }
            // Without a row a new daemon does not know the session.
            Move::Restart if !up && self.row.is_some() => {
                next.memory.clone_from(&self.row);
                event = Some(Event::Restored);
            }
            Move::Exits if self.alive => next.alive = false,
            Move::Stopped if up && self.budget.requests > 0 => {
                next.budget.requests -= 1;
                next.stopped = true;
                event = Some(stop(Reason::Stopped { by: "a user".into() }));
            }
            Move::Shutdown if up && self.budget.requests > 0 => {
                next.budget.requests -= 1;
                event = Some(stop(Reason::Shutdown));
            }
            Move::Released if up && self.budget.requests > 0 => {
                next.budget.requests -= 1;
                event = Some(Event::Forgotten { by: "a user".into() });
            }
            _ if self.budget.faults == 0 => return None,
            Move::NotWritten if work.writing => {
                next.work.writing = false;
                event = Some(Event::RecordFailed { why: "full".into() });
            }
            Move::ProbeFails if work.probing => {
                next.work.probing = false;
                event = Some(Event::Probed(Probe::Failed { why: "no descriptors".into() }));
            }
            Move::CleanUpFails if work.cleaning => {
                next.work.cleaning = false;
                let why = "busy".to_owned();
                event = Some(Event::CleanUpFailed { what: files().what, why });
            }
            Move::DaemonKilled if up => {
                (next.memory, next.followed, next.work) = (None, false, DaemonWork::default());
            }
            // An earlier answer arrives again.
            Move::Repeated if up && !self.alive && !work.probing => event = Some(over()),
            _ => return None,
        }
        if OPTIONAL[4..].contains(&it) {
            next.budget.faults -= 1;
        }
        let applied = event.map_or(Ok(()), |event| next.apply(&event, step));
        Some(applied.and_then(|()| next.check()).map(|()| next))
    }

    /// Checks what must hold in every state.
    fn check(&self) -> Result<(), String> {
        for session in [&self.memory, &self.row].into_iter().flatten() {
            assert_eq!(session.started_by, StartedBy::User);
            let given_up =
                matches!(session.reason, Some(Reason::Forgotten { .. } | Reason::Failed { .. }));
            if session.has_ended() && self.alive && !given_up {
                return Err("2: recorded as ended, but it lives".into());
            }
            if session.has_ended() && (session.exit.is_none() || session.reason.is_none()) {
                return Err("5: ended without an outcome".into());
            }
            if session.is_stop_wanted() && !self.stopped {
                return Err("3: a stop is wanted, but no stop named it".into());
            }
        }
        Ok(())
    }

    /// Returns what is wrong if nothing more happens.
    fn unsettled(&self) -> Option<&'static str> {
        let Some(session) = &self.memory else {
            return self.files.then_some("9: files exist that are not on record");
        };
        if session.underway.writing != Writing::Settled {
            return Some("the outcome is not on record");
        }
        match session.phase {
            Phase::Cleaned if self.files && session.owed.is_empty() => Some("9: files are left"),
            Phase::Cleaned => None,
            _ if !self.alive => Some("it has ended, but the daemon did not notice"),
            _ if session.is_stop_wanted() => Some("3: a stop is wanted, but it lives"),
            Phase::Running if self.followed => None,
            _ => Some("it lives, but is not followed"),
        }
    }
}

fn on_disk(session: &Session) -> Session {
    serde_json::from_str(&serde_json::to_string(session).expect("JSON")).expect("a row")
}

/// Returns the number of states, or what is wrong and the moves that lead to it.
fn explore(budget: Budget, step: Step) -> Result<usize, String> {
    let start = State::start(budget);
    let mut known: HashMap<String, Vec<Move>> = HashMap::from([(format!("{start:?}"), vec![])]);
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        let path = known[&format!("{state:?}")].clone();
        let wrong =
            |what: &str, last: Option<Move>| format!("{what}\n{path:?} {last:?}\n{state:#?}");
        let mut due = false;
        for it in DUE.into_iter().chain(OPTIONAL) {
            let Some(next) = state.after(it, step) else { continue };
            let next = next.map_err(|what| wrong(&what, Some(it)))?;
            due |= DUE.contains(&it);
            if let Entry::Vacant(new) = known.entry(format!("{next:?}")) {
                new.insert(path.iter().copied().chain([it]).collect());
                queue.push_back(next);
            }
        }
        if let Some(what) = state.unsettled().filter(|_| !due) {
            return Err(wrong(what, None));
        }
    }
    Ok(known.len())
}

const AMPLE: Budget = Budget { faults: 3, requests: 2 };

#[test]
fn a_session_that_a_user_started() {
    let seen = explore(AMPLE, Session::step).unwrap_or_else(|what| panic!("{what}"));
    println!("{seen} states");
    assert!(seen > 500, "{seen}");
}

#[track_caller]
fn assert_caught(invariant: &str, step: Step) {
    match explore(AMPLE, step) {
        Ok(seen) => panic!("not caught in {seen} states"),
        Err(what) => assert!(what.starts_with(invariant), "{what}"),
    }
}

#[test]
fn the_oracle_catches_a_process_stopped_by_a_shutdown() {
    assert_caught("3: ", |session, event| match event {
        Event::StopAsked(_) => session.step(&stop(Reason::Stopped { by: "a user".into() })),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_failed_probe_of_a_process_mistaken_for_its_end() {
    assert_caught("2: recorded as ended", |session, event| match event {
        Event::Probed(Probe::Failed { .. }) => session.step(&over()),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_probe_before_the_record() {
    assert_caught("1: probed before", |session, event| match event {
        Event::RecordFailed { .. } if !session.launch.recorded => session.step(&Event::Recorded),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_stop_that_a_restart_forgets() {
    assert_caught("3: a stop is wanted, but it lives", |session, event| {
        let mut effects = session.step(event);
        if matches!(event, Event::Probed(Probe::Running { .. })) {
            effects.retain(|effect| !matches!(effect, Effect::Stop { .. }));
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_process_without_a_probe_after_a_restart() {
    assert_caught("it ", |session, event| {
        let mut effects = session.step(event);
        if *event == Event::Restored {
            effects.retain(|effect| *effect != Effect::Probe);
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_release_during_a_probe() {
    assert_caught("9: ", |session, event| {
        if matches!(event, Event::Forgotten { .. }) && session.phase == Phase::Running {
            session.underway.probe = kennel_core::ProbeState::Unneeded;
        }
        session.step(event)
    });
}

#[test]
fn the_oracle_catches_a_stop_before_it_is_followed() {
    assert_caught("6: stopped without", |session, event| {
        let mut effects = session.step(event);
        if matches!(event, Event::StopAsked(_)) && session.phase == Phase::Reserved {
            effects.push(Effect::Stop { grace: session.spec.grace });
        }
        effects
    });
}
