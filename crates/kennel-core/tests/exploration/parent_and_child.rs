//! A running parent, and a child that it has just requested, in a real [`World`].

use std::hash::{Hash, Hasher};

use kennel_core::{Effect, Event, Session, World};
use kennel_types::SessionId;

use crate::ORDERLY;
use crate::action::Kind;
use crate::model::{Keeper, Row, SessionModel};
use crate::scene::{Budget, Effects, Scene, TestDaemon};
use crate::single::session;
use crate::summary::SessionSummary;

const PARENT: usize = 0;
const CHILD: usize = 1;

/// The step of the world, or a broken one.
pub(crate) type Step = fn(&mut World, &SessionId, &Event) -> Vec<(SessionId, Effect)>;

/// A daemon with a whole world in its memory.
pub(crate) struct ParentAndChild {
    ids: [SessionId; 2],
    step: Step,
}

impl ParentAndChild {
    pub(crate) fn new(step: Step) -> Self {
        let parent = session(None).id;
        let child = session(Some(parent.clone())).id;
        Self { ids: [parent, child], step }
    }

    fn numbered(&self, effects: Vec<(SessionId, Effect)>) -> Effects {
        let which = |id: SessionId| if id == self.ids[PARENT] { PARENT } else { CHILD };
        effects.into_iter().map(|(id, effect)| (which(id), effect)).collect()
    }

    /// Returns a state in which the parent runs and the child was just requested.
    pub(crate) fn start(&self, budget: Budget) -> Scene<World> {
        let mut scene = Scene {
            memory: Some(World::default()),
            models: vec![SessionModel::new(), SessionModel::new()],
            budget,
        };
        self.admit(&mut scene, session(None));
        while let Some((due, _)) =
            scene.moves(self, ORDERLY).into_iter().find(|(_, kind)| *kind == Kind::Due)
        {
            scene = scene.after(due, self, ORDERLY).expect("a launch without fault");
        }
        assert_eq!(scene.models[PARENT].keeper, Keeper::Running);
        self.admit(&mut scene, session(Some(self.ids[PARENT].clone())));
        scene
    }

    fn admit(&self, scene: &mut Scene<World>, session: Session) {
        let world = scene.memory.as_mut().expect("the daemon lives");
        let Ok(effects) = world.admit(session) else { panic!("the session is refused") };
        scene.carry_out(self.numbered(effects), self).expect("a start without fault");
    }
}

impl TestDaemon for ParentAndChild {
    type Memory = World;

    fn restore(&self, rows: &[Option<Row>]) -> (World, Effects) {
        let mut world = World::default();
        let sessions = rows.iter().flatten().map(|row| (*row.0).clone());
        let effects = world.restore(sessions);
        (world, self.numbered(effects))
    }

    fn step(&self, world: &mut World, which: usize, event: &Event) -> Effects {
        self.numbered((self.step)(world, &self.ids[which], event))
    }

    fn session<'a>(&self, world: &'a World, which: usize) -> Option<&'a Session> {
        world.get(&self.ids[which])
    }

    fn hash<H: Hasher>(&self, world: &World, hasher: &mut H) {
        for session in world.sessions() {
            SessionSummary::of(session).hash(hasher);
        }
    }

    fn check(&self, world: &World) -> Result<(), String> {
        let parent = world.get(&self.ids[PARENT]);
        let ends = parent.is_none_or(|parent| parent.is_stop_wanted() || parent.has_ended());
        match world.get(&self.ids[CHILD]) {
            Some(child) if ends && !child.is_stop_wanted() && !child.has_ended() => {
                Err("3: the end of a parent did not stop its child".into())
            }
            _ => Ok(()),
        }
    }
}
