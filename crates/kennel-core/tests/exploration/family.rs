//! A parent that runs, and a child that it has just asked for, in the world as it is.

use std::hash::{Hash, Hasher};

use kennel_core::{Admitted, Event, Session, SessionId, World};

use crate::action::{Action, Kind, Setting};
use crate::alone::session;
use crate::gist::Gist;
use crate::plot::{Keeper, Message, Order, Plot, Row};
use crate::scene::{Budget, Effects, Mind, Move, Scene};

/// A daemon with a whole world in its memory.
pub(crate) struct Family;

const PARENT: usize = 0;
const CHILD: usize = 1;

fn id(which: usize) -> SessionId {
    let parent = session(None).id;
    if which == PARENT { parent } else { session(Some(parent)).id }
}

fn numbered(effects: Vec<(SessionId, kennel_core::Effect)>) -> Effects {
    let parent = id(PARENT);
    let which = |id: SessionId| if id == parent { PARENT } else { CHILD };
    effects.into_iter().map(|(id, effect)| (which(id), effect)).collect()
}

impl Mind for Family {
    type Memory = World;

    fn restore(&self, rows: &[Option<Row>]) -> (World, Effects) {
        let mut world = World::default();
        let sessions = rows.iter().flatten().map(|row| (*row.0).clone());
        let effects = world.restore(sessions);
        (world, numbered(effects))
    }

    fn step(&self, world: &mut World, which: usize, event: &Event) -> Effects {
        numbered(world.step(&id(which), event))
    }

    fn session<'a>(&self, world: &'a World, which: usize) -> Option<&'a Session> {
        world.get(&id(which))
    }

    fn hash<H: Hasher>(&self, world: &World, hasher: &mut H) {
        for session in world.sessions() {
            Gist::of(session).hash(hasher);
        }
    }

    fn check(&self, world: &World) -> Result<(), String> {
        let [parent, child] = [PARENT, CHILD].map(|which| world.get(&id(which)));
        let ends = parent.is_none_or(|parent| parent.is_stop_wanted() || parent.has_ended());
        match child {
            Some(child) if ends && !child.is_stop_wanted() && !child.has_ended() => {
                Err("3: the end of a parent did not reach its child".into())
            }
            _ => Ok(()),
        }
    }
}

/// The parent runs, the child was just asked for.
pub(crate) fn start<D: Mind<Memory = World>>(mind: &D, budget: Budget) -> Scene<World> {
    let mut world = World::default();
    let parent = session(None);
    let child = session(Some(parent.id.clone()));
    let Admitted::Admitted { effects } = world.admit(parent) else {
        panic!("the parent is refused")
    };
    let plots = vec![Plot::new(), Plot::new()];
    let mut scene = Scene { memory: Some(world), plots, budget };
    scene.take_up(numbered(effects), mind).expect("a start without fault");
    let mut scene = run_parent(scene, mind);
    let Some(world) = &mut scene.memory else { panic!("the daemon lives") };
    let Admitted::Admitted { effects } = world.admit(child) else { panic!("the child is refused") };
    scene.take_up(numbered(effects), mind).expect("a start without fault");
    scene
}

fn run_parent<D: Mind<Memory = World>>(mut scene: Scene<World>, mind: &D) -> Scene<World> {
    let setting = Setting { yard: true, kernel_tells: true };
    while let Some((due, _)) =
        scene.moves(mind, setting).into_iter().find(|(_, kind)| *kind == Kind::Due)
    {
        scene = scene.after(due, mind, setting).expect("a launch without fault");
    }
    assert_eq!(scene.plots[PARENT].keeper, Keeper::Running);
    scene
}
