//! A running session, and clients that request another launch of it, in a real [`World`].

use std::hash::{Hash, Hasher};
use std::time::Duration;

use kennel_core::{Effect, Event, Relaunch, RelaunchBy, Relaunched, Session, World};
use kennel_types::{LaunchToken, RelaunchState, Restart, SessionId};

use crate::ORDERLY;
use crate::action::Kind;
use crate::model::{Keeper, Row, SessionModel};
use crate::scene::{Budget, Effects, Scene, TestDaemon};
use crate::single::{files, session};
use crate::summary::SessionSummary;

const FIRST: usize = 0;
const SECOND: usize = 1;

/// Handles a client's request for another launch: as the world does, or in a broken way.
pub(crate) type Resume = fn(&mut World, &SessionId, Relaunch) -> Vec<(SessionId, Effect)>;

/// Relaunches as the world does.
pub(crate) fn relaunch(
    world: &mut World,
    after: &SessionId,
    how: Relaunch,
) -> Vec<(SessionId, Effect)> {
    match world.relaunch(after, how) {
        Relaunched::Admitted { effects, .. } => effects,
        Relaunched::Already { .. } | Relaunched::Wait { .. } | Relaunched::Refused(_) => Vec::new(),
    }
}

/// A daemon with a whole world in its memory.
pub(crate) struct Relaunches {
    ids: [SessionId; 2],
    /// Whether only the restart policy requests another launch.
    policy: bool,
    resume: Resume,
}

/// Relaunches as the policy does: first it decides, and after a pause it acts.
pub(crate) fn restart(
    world: &mut World,
    after: &SessionId,
    how: Relaunch,
) -> Vec<(SessionId, Effect)> {
    let pending = |session: &Session| session.relaunch == RelaunchState::Pending;
    if world.get(after).is_some_and(pending) {
        let how = Relaunch { by: RelaunchBy::Policy { ran: Duration::ZERO }, ..how };
        return relaunch(world, after, how);
    }
    world.consider_restart(after, Duration::ZERO).1
}

impl Relaunches {
    pub(crate) fn new(resume: Resume) -> Self {
        let first = session(None).id;
        Self { ids: [first.clone(), first.next_attempt()], policy: false, resume }
    }

    pub(crate) fn with_policy(resume: Resume) -> Self {
        Self { policy: true, ..Self::new(resume) }
    }

    fn first(&self) -> Session {
        let mut session = session(None);
        if self.policy {
            session.spec.restart = Restart::OnFailure { most: None };
        }
        session
    }

    fn numbered(&self, effects: Vec<(SessionId, Effect)>) -> Effects {
        let which = |id: SessionId| if id == self.ids[FIRST] { FIRST } else { SECOND };
        effects.into_iter().map(|(id, effect)| (which(id), effect)).collect()
    }

    /// Returns a state in which the first launch runs.
    pub(crate) fn start(&self, budget: Budget) -> Scene<World> {
        let calm = Budget { resumes: 0, ..budget };
        let mut scene = Scene {
            memory: Some(World::default()),
            models: vec![SessionModel::new(), later()],
            budget: calm,
        };
        let world = scene.memory.as_mut().expect("the daemon lives");
        let Ok(effects) = world.admit(self.first()) else { panic!("the session is refused") };
        scene.carry_out(self.numbered(effects), self).expect("a start without fault");
        while let Some((due, _)) =
            scene.moves(self, ORDERLY).into_iter().find(|(_, kind)| *kind == Kind::Due)
        {
            scene = scene.after(due, self, ORDERLY).expect("a launch without fault");
        }
        assert_eq!(scene.models[FIRST].keeper, Keeper::Running);
        scene.budget = budget;
        scene
    }
}

/// A further launch gets no keeper before its row is durable.
fn later() -> SessionModel {
    let mut model = SessionModel::new();
    model.history.waited = true;
    model
}

impl TestDaemon for Relaunches {
    type Memory = World;

    fn restore(&self, rows: &[Option<Row>]) -> (World, Effects) {
        let mut world = World::default();
        let effects = world.restore(rows.iter().flatten().map(|row| (*row.0).clone()));
        (world, self.numbered(effects))
    }

    fn step(&self, world: &mut World, which: usize, event: &Event) -> Effects {
        self.numbered(world.step(&self.ids[which], event))
    }

    fn session<'a>(&self, world: &'a World, which: usize) -> Option<&'a Session> {
        world.get(&self.ids[which])
    }

    fn hash<H: Hasher>(&self, world: &World, hasher: &mut H) {
        for session in world.sessions() {
            SessionSummary::of(session).hash(hasher);
        }
    }

    /// All clients saw the first launch, and request the one after it.
    fn resume(&self, world: &mut World) -> Effects {
        let by = RelaunchBy::Caller { name: "a client".into(), parent: None, tethered: false };
        let token = LaunchToken::new(2);
        let how = Relaunch { token, owed: vec![files()], queued: false, by, changes: None };
        self.numbered((self.resume)(world, &self.ids[FIRST], how))
    }

    /// A stop of a session applies to its latest launch.
    fn may_stop(&self, world: &World, which: usize) -> bool {
        which == SECOND || world.get(&self.ids[SECOND]).is_none()
    }

    fn check(&self, world: &World) -> Result<(), String> {
        match world.sessions().len() {
            0..=2 => Ok(()),
            _ => Err("7: repeated requests cause several launches".into()),
        }
    }

    fn check_models(&self, models: &[SessionModel]) -> Result<(), String> {
        let former = &models[FIRST];
        let over =
            matches!(former.keeper, Keeper::None | Keeper::Dead | Keeper::Over | Keeper::Left);
        let gone = over && former.pen_is_empty() && !former.work.start_keeper;
        let again = models[SECOND].history.keeper_requested;
        if again && !gone {
            return Err("7: launched again before the previous launch was gone".into());
        }
        if again && self.policy && former.history.stop_requested {
            return Err("3: launched again after a stop".into());
        }
        Ok(())
    }
}
