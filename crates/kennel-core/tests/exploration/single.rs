//! A daemon with one session, and a core that can be replaced by a broken one.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use kennel_core::{Effect, Event, Session};
use kennel_types::{
    IdMaker, LaunchToken, Owed, OwedKind, Phase, Readiness, SessionId, SessionSpec, WorktreeSpec,
};

use crate::model::{Row, SessionModel};
use crate::scene::{Budget, Effects, Scene, TestDaemon};
use crate::summary::SessionSummary;

/// The real core, or a broken one.
pub(crate) trait Core {
    fn step(&self, session: &mut Session, event: &Event) -> Vec<Effect>;
}

/// The real core.
pub(crate) struct Real;

impl Core for Real {
    fn step(&self, session: &mut Session, event: &Event) -> Vec<Effect> {
        session.step(event)
    }
}

/// A daemon with one session.
pub(crate) struct SingleSession<C>(pub(crate) C);

impl<C: Core> TestDaemon for SingleSession<C> {
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
        memory.as_deref().map(SessionSummary::of).hash(hasher);
    }
}

/// The kind of session that is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionKind {
    /// It waits for nothing.
    Plain,
    /// An open port makes it ready.
    Port,
    /// Its own report makes it ready.
    Report,
    /// It gets a worktree.
    Worktree,
    /// It waits in the queue.
    Queued,
    /// It waits in the queue and gets a worktree.
    QueuedWorktree,
}

/// The worktree that such a session owes.
pub(crate) fn worktree() -> OwedKind {
    OwedKind::Worktree {
        repo: String::new(),
        path: String::new(),
        branch: String::new(),
        record: None,
    }
}

/// A session that was just requested.
pub(crate) fn session(parent: Option<SessionId>) -> Session {
    session_of(SessionKind::Plain, parent)
}

pub(crate) fn session_of(kind: SessionKind, parent: Option<SessionId>) -> Session {
    let worktree = WorktreeSpec::default();
    let spec = SessionSpec {
        parent,
        ready: match kind {
            SessionKind::Port => Readiness::Tcp { host: "127.0.0.1".into(), port: 1 },
            SessionKind::Report => Readiness::Report,
            _ => Readiness::None,
        },
        ready_timeout: Some(Duration::from_secs(1)),
        worktree: matches!(kind, SessionKind::Worktree | SessionKind::QueuedWorktree)
            .then_some(worktree),
        ..SessionSpec::default()
    };
    let number = u64::from(spec.parent.is_some());
    let id = IdMaker::default().next(2_000_000_000_000 + number, 0);
    let session = Session::new(id, spec, LaunchToken::new(1), vec![files()]);
    let queued = matches!(kind, SessionKind::Queued | SessionKind::QueuedWorktree);
    if queued { session.queued() } else { session }
}

pub(crate) fn files() -> Owed {
    Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }
}

/// A daemon that just received a request for a session.
pub(crate) fn start<C: Core>(
    daemon: &SingleSession<C>,
    budget: Budget,
    kind: SessionKind,
) -> Scene<Option<Rc<Session>>> {
    let session = session_of(kind, None);
    let effects = session.first_effects();
    let mut model = SessionModel::new();
    model.history.waited = session.phase < Phase::Reserved;
    let mut scene = Scene { memory: Some(Some(Rc::new(session))), models: vec![model], budget };
    let effects = effects.into_iter().map(|effect| (0, effect)).collect();
    scene.carry_out(effects, daemon).expect("a start without fault");
    scene
}
