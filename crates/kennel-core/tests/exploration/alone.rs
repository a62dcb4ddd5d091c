//! One session in a daemon's memory, with a core that can be replaced by a broken one.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use kennel_core::{Effect, Event, Session};
use kennel_types::{
    IdMaker, LaunchToken, Owed, OwedKind, Phase, Readiness, SessionId, SessionSpec, WorktreeSpec,
};

use crate::gist::Gist;
use crate::plot::{Plot, Row};
use crate::scene::{Budget, Effects, Mind, Scene};

/// The core, or something that should be caught.
pub(crate) trait Core {
    fn step(&self, session: &mut Session, event: &Event) -> Vec<Effect>;
}

/// The real one.
pub(crate) struct Real;

impl Core for Real {
    fn step(&self, session: &mut Session, event: &Event) -> Vec<Effect> {
        session.step(event)
    }
}

/// A daemon with one session.
pub(crate) struct Alone<C>(pub(crate) C);

impl<C: Core> Mind for Alone<C> {
    type Memory = Option<Rc<Session>>;

    fn restore(&self, rows: &[Option<Row>]) -> (Self::Memory, Effects) {
        let mut memory = rows[0].as_ref().map(|row| row.0.clone());
        let effects = self.step(&mut memory, 0, &Event::Restored);
        (memory, effects)
    }

    fn step(&self, memory: &mut Self::Memory, which: usize, event: &Event) -> Effects {
        let Some(session) = memory else { return Vec::new() };
        let effects = self.0.step(Rc::make_mut(session), event);
        effects.into_iter().map(|effect| (which, effect)).collect()
    }

    fn session<'a>(&self, memory: &'a Self::Memory, _: usize) -> Option<&'a Session> {
        memory.as_deref()
    }

    fn hash<H: Hasher>(&self, memory: &Self::Memory, hasher: &mut H) {
        memory.as_deref().map(Gist::of).hash(hasher);
    }
}

/// What kind of session is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    /// Without anything that must be waited for.
    Plain,
    /// A port makes it ready, in time.
    Port,
    /// Its own word does.
    Report,
    /// It gets a worktree.
    Worktree,
    /// It waits in line.
    Queued,
    /// Both.
    QueuedWorktree,
}

/// What such a session owes.
pub(crate) fn worktree() -> OwedKind {
    OwedKind::Worktree {
        repo: String::new(),
        path: String::new(),
        branch: String::new(),
        record: None,
    }
}

/// A session that was just asked for.
pub(crate) fn session(parent: Option<SessionId>) -> Session {
    session_of(Asked::Plain, parent)
}

pub(crate) fn session_of(asked: Asked, parent: Option<SessionId>) -> Session {
    let worktree = WorktreeSpec::default();
    let spec = SessionSpec {
        parent,
        ready: match asked {
            Asked::Port => Readiness::Tcp { host: "127.0.0.1".into(), port: 1 },
            Asked::Report => Readiness::Report,
            _ => Readiness::None,
        },
        ready_timeout: Some(Duration::from_secs(1)),
        worktree: matches!(asked, Asked::Worktree | Asked::QueuedWorktree).then_some(worktree),
        ..SessionSpec::default()
    };
    let number = u64::from(spec.parent.is_some());
    let id = IdMaker::default().next(2_000_000_000_000 + number, 0);
    let session = Session::new(id, spec, LaunchToken::new(1), vec![files()]);
    let queued = matches!(asked, Asked::Queued | Asked::QueuedWorktree);
    if queued { session.queued() } else { session }
}

pub(crate) fn files() -> Owed {
    Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }
}

/// A daemon that was just asked for a session.
pub(crate) fn start<C: Core>(
    mind: &Alone<C>,
    budget: Budget,
    asked: Asked,
) -> Scene<Option<Rc<Session>>> {
    let session = session_of(asked, None);
    let effects = session.first_effects();
    let mut plot = Plot::new();
    plot.history.waited = session.phase < Phase::Reserved;
    let mut scene = Scene { memory: Some(Some(Rc::new(session))), plots: vec![plot], budget };
    let effects = effects.into_iter().map(|effect| (0, effect)).collect();
    scene.take_up(effects, mind).expect("a start without fault");
    scene
}
