//! Every interleaving around a session that a user started: it is followed or not, ends by itself,
//! is named in a stop, is let go; everything is to end; the daemon is killed, records, looks and
//! clean-ups fail, messages come twice.
//!
//! A world of its own, since there is neither keeper nor pen; and cores that are broken on purpose.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use kennel_core::{Effect, Event, Probe, Session, StopIntent, Writing};
use kennel_types::{Exit, IdMaker, LaunchToken, Phase, Reason, SessionSpec, StartedBy};

use crate::alone::files;

type Step = fn(&mut Session, &Event) -> Vec<Effect>;

/// What may still go wrong, or be asked for.
#[derive(Debug, Clone, Copy)]
struct Budget {
    trouble: u8,
    wishes: u8,
}

/// What the daemon has under way.
#[derive(Debug, Clone, Default)]
struct Hands {
    writing: bool,
    looking: bool,
    ending: bool,
    cleaning: bool,
    timer: bool,
}

/// Everything.
#[derive(Debug, Clone)]
struct State {
    /// What the daemon knows, if there is one.
    memory: Option<Session>,
    row: Option<Session>,
    hands: Hands,
    /// Whether its end would be noticed.
    followed: bool,
    alive: bool,
    files: bool,
    /// Somebody named it in a stop.
    named: bool,
    budget: Budget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    // What is due.
    Written,
    Looked,
    NoticedEnd,
    DiesOfStop,
    CleanedUp,
    Timer,
    Restart,
    // What may happen besides.
    EndsByItself,
    Named,
    Shutdown,
    LetGo,
    NotWritten,
    LookFails,
    CleanUpFails,
    DaemonKilled,
    Again,
}

const DUE: [Move; 7] = [
    Move::Written,
    Move::Looked,
    Move::NoticedEnd,
    Move::DiesOfStop,
    Move::CleanedUp,
    Move::Timer,
    Move::Restart,
];
const BESIDES: [Move; 9] = [
    Move::EndsByItself,
    Move::Named,
    Move::Shutdown,
    Move::LetGo,
    Move::NotWritten,
    Move::LookFails,
    Move::CleanUpFails,
    Move::DaemonKilled,
    Move::Again,
];

fn stop(reason: Reason) -> Event {
    Event::StopAsked(StopIntent { grace: None, reason })
}

fn found() -> Event {
    let identity = "it".to_owned();
    Event::Probed(Probe::Running { identity, pid: 42, pen: None, ending: false, exit: None })
}

fn over() -> Event {
    let exit = Exit::Unknown { why: "nobody was told".into() };
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
            hands: Hands { writing: true, ..Hands::default() },
            followed: false,
            alive: true,
            files: false,
            named: false,
            budget,
        }
    }

    /// Tells the core something, and does what it wants.
    fn tell(&mut self, event: &Event, step: Step) -> Result<(), String> {
        let Some(session) = &mut self.memory else { return Ok(()) };
        let effects = step(session, event);
        let session = session.clone();
        for effect in effects {
            match effect {
                Effect::Record { durable: true } => self.hands.writing = true,
                Effect::Record { durable: false } => self.row = Some(on_disk(&session)),
                Effect::Probe if self.row.is_none() => {
                    return Err("1: something is made, and on no record".into());
                }
                Effect::Probe => self.hands.looking = true,
                Effect::Stop { .. } if !self.named => {
                    return Err("3: ended, and nobody named it".into());
                }
                Effect::Stop { .. } if self.followed => self.hands.ending = true,
                Effect::Stop { .. } => return Err("6: ended without a handle on it".into()),
                Effect::CleanUp { .. } if self.hands.looking => {
                    return Err("9: cleaned up while something may be made".into());
                }
                Effect::CleanUp { .. } => self.hands.cleaning = true,
                Effect::RetryLater => self.hands.timer = true,
                other => return Err(format!("what such a session has no use for: {other:?}")),
            }
        }
        if session.has_ended() {
            self.followed = false;
            self.hands.ending = false;
        }
        Ok(())
    }

    /// What it is after this move; none if it can't be made.
    fn after(&self, it: Move, step: Step) -> Option<Result<Self, String>> {
        let mut next = self.clone();
        let (up, hands) = (self.memory.is_some(), &self.hands);
        let mut event = None;
        match it {
            Move::Written if hands.writing => {
                next.hands.writing = false;
                next.row = self.memory.as_ref().map(on_disk);
                event = Some(Event::Recorded);
            }
            Move::Looked if hands.looking => {
                next.hands.looking = false;
                next.files |= self.alive;
                next.followed = self.alive && !self.memory.as_ref()?.has_ended();
                event = Some(if self.alive { found() } else { over() });
            }
            Move::NoticedEnd if self.followed && !self.alive => {
                let exit = Exit::Code { code: 0 };
                event = Some(Event::Gone { exit, reason: None });
            }
            Move::DiesOfStop if hands.ending && self.alive => next.alive = false,
            Move::CleanedUp if hands.cleaning => {
                (next.hands.cleaning, next.files) = (false, false);
                event = Some(Event::CleanedUp { what: files().what });
            }
            Move::Timer if hands.timer => {
                next.hands.timer = false;
                event = Some(Event::RetryDue);
            }
            // Without a row nobody knows of it.
            Move::Restart if !up && self.row.is_some() => {
                next.memory.clone_from(&self.row);
                event = Some(Event::Restored);
            }
            Move::EndsByItself if self.alive => next.alive = false,
            Move::Named if up && self.budget.wishes > 0 => {
                next.budget.wishes -= 1;
                next.named = true;
                event = Some(stop(Reason::Stopped { by: "a person".into() }));
            }
            Move::Shutdown if up && self.budget.wishes > 0 => {
                next.budget.wishes -= 1;
                event = Some(stop(Reason::Shutdown));
            }
            Move::LetGo if up && self.budget.wishes > 0 => {
                next.budget.wishes -= 1;
                event = Some(Event::Forgotten { by: "a person".into() });
            }
            _ if self.budget.trouble == 0 => return None,
            Move::NotWritten if hands.writing => {
                next.hands.writing = false;
                event = Some(Event::RecordFailed { why: "full".into() });
            }
            Move::LookFails if hands.looking => {
                next.hands.looking = false;
                event = Some(Event::Probed(Probe::Failed { why: "no descriptors".into() }));
            }
            Move::CleanUpFails if hands.cleaning => {
                next.hands.cleaning = false;
                let why = "busy".to_owned();
                event = Some(Event::CleanUpFailed { what: files().what, why });
            }
            Move::DaemonKilled if up => {
                (next.memory, next.followed, next.hands) = (None, false, Hands::default());
            }
            // What was said before is said once more.
            Move::Again if up && !self.alive && !hands.looking => event = Some(over()),
            _ => return None,
        }
        if BESIDES[4..].contains(&it) {
            next.budget.trouble -= 1;
        }
        let told = event.map_or(Ok(()), |event| next.tell(&event, step));
        Some(told.and_then(|()| next.check()).map(|()| next))
    }

    /// What holds in every state.
    fn check(&self) -> Result<(), String> {
        for session in [&self.memory, &self.row].into_iter().flatten() {
            assert_eq!(session.started_by, StartedBy::User);
            let given_up =
                matches!(session.reason, Some(Reason::Forgotten { .. } | Reason::Failed { .. }));
            if session.has_ended() && self.alive && !given_up {
                return Err("2: said to have ended, and lives".into());
            }
            if session.has_ended() && (session.exit.is_none() || session.reason.is_none()) {
                return Err("5: ended without an outcome".into());
            }
            if session.is_stop_wanted() && !self.named {
                return Err("3: its end is wanted, and nobody named it".into());
            }
        }
        Ok(())
    }

    /// What is wrong if nothing more happens.
    fn unsettled(&self) -> Option<&'static str> {
        let Some(session) = &self.memory else {
            return self.files.then_some("9: files, and on no record");
        };
        if session.underway.writing != Writing::Settled {
            return Some("what became of it is not on record");
        }
        match session.phase {
            Phase::Cleaned if self.files && session.owed.is_empty() => Some("9: files are left"),
            Phase::Cleaned => None,
            _ if !self.alive => Some("it has ended, and nobody noticed"),
            _ if session.is_stop_wanted() => Some("3: its end is wanted, and it lives"),
            Phase::Running if self.followed => None,
            _ => Some("it lives, and is not followed"),
        }
    }
}

fn on_disk(session: &Session) -> Session {
    serde_json::from_str(&serde_json::to_string(session).expect("JSON")).expect("a row")
}

/// How many states there are; or what is wrong, and the way to it.
fn explore(budget: Budget, step: Step) -> Result<usize, String> {
    let start = State::start(budget);
    let mut known: HashMap<String, Vec<Move>> = HashMap::from([(format!("{start:?}"), vec![])]);
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        let way = known[&format!("{state:?}")].clone();
        let wrong =
            |what: &str, last: Option<Move>| format!("{what}\n{way:?} {last:?}\n{state:#?}");
        let mut due = false;
        for it in DUE.into_iter().chain(BESIDES) {
            let Some(next) = state.after(it, step) else { continue };
            let next = next.map_err(|what| wrong(&what, Some(it)))?;
            due |= DUE.contains(&it);
            if let Entry::Vacant(new) = known.entry(format!("{next:?}")) {
                new.insert(way.iter().copied().chain([it]).collect());
                queue.push_back(next);
            }
        }
        if let Some(what) = state.unsettled().filter(|_| !due) {
            return Err(wrong(what, None));
        }
    }
    Ok(known.len())
}

const AMPLE: Budget = Budget { trouble: 3, wishes: 2 };

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
fn the_oracle_catches_an_end_by_a_shutdown() {
    assert_caught("3: ", |session, event| match event {
        Event::StopAsked(_) => session.step(&stop(Reason::Stopped { by: "anybody".into() })),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_failed_probe_of_a_process_mistaken_for_its_end() {
    assert_caught("2: said to have ended", |session, event| match event {
        Event::Probed(Probe::Failed { .. }) => session.step(&over()),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_probe_before_the_record() {
    assert_caught("1: something is made", |session, event| match event {
        Event::RecordFailed { .. } if !session.launch.recorded => session.step(&Event::Recorded),
        other => session.step(other),
    });
}

#[test]
fn the_oracle_catches_a_stop_that_a_restart_forgets() {
    assert_caught("3: its end is wanted, and it lives", |session, event| {
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
    assert_caught("6: ended without", |session, event| {
        let mut effects = session.step(event);
        if matches!(event, Event::StopAsked(_)) && session.phase == Phase::Reserved {
            effects.push(Effect::Stop { grace: session.spec.grace });
        }
        effects
    });
}
