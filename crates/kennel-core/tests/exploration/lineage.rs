//! A session that runs, and clients who want another launch of it, in the world as it is.

use std::hash::{Hash, Hasher};

use kennel_core::{
    Admitted, Effect, Event, LaunchToken, Relaunch, RelaunchBy, Relaunched, Session, SessionId,
    World,
};

use crate::ORDERLY;
use crate::action::Kind;
use crate::alone::{files, session};
use crate::gist::Gist;
use crate::plot::{Keeper, Plot, Row};
use crate::scene::{Budget, Effects, Mind, Scene};

const FIRST: usize = 0;
const SECOND: usize = 1;

/// How a client's wish for another launch is taken: the world's way, or one that should be caught.
pub(crate) type Resume = fn(&mut World, &SessionId, Relaunch) -> Vec<(SessionId, Effect)>;

/// The world's way.
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
pub(crate) struct Lineage {
    ids: [SessionId; 2],
    resume: Resume,
}

impl Lineage {
    pub(crate) fn new(resume: Resume) -> Self {
        let first = session(None).id;
        Self { ids: [first.clone(), first.next_attempt()], resume }
    }

    fn numbered(&self, effects: Vec<(SessionId, Effect)>) -> Effects {
        let which = |id: SessionId| if id == self.ids[FIRST] { FIRST } else { SECOND };
        effects.into_iter().map(|(id, effect)| (which(id), effect)).collect()
    }

    /// The first launch runs.
    pub(crate) fn start(&self, budget: Budget) -> Scene<World> {
        let calm = Budget { resumes: 0, ..budget };
        let mut scene = Scene {
            memory: Some(World::default()),
            plots: vec![Plot::new(), later()],
            budget: calm,
        };
        let world = scene.memory.as_mut().expect("the daemon lives");
        let Admitted::Admitted { effects } = world.admit(session(None)) else { panic!("refused") };
        scene.take_up(self.numbered(effects), self).expect("a start without fault");
        while let Some((due, _)) =
            scene.moves(self, ORDERLY).into_iter().find(|(_, kind)| *kind == Kind::Due)
        {
            scene = scene.after(due, self, ORDERLY).expect("a launch without fault");
        }
        assert_eq!(scene.plots[FIRST].keeper, Keeper::Running);
        scene.budget = budget;
        scene
    }
}

/// A further launch has no keeper before its row is durable.
fn later() -> Plot {
    let mut plot = Plot::new();
    plot.history.waited = true;
    plot
}

impl Mind for Lineage {
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
            Gist::of(session).hash(hasher);
        }
    }

    /// All of them saw the first launch, and want the one after it.
    fn resume(&self, world: &mut World) -> Effects {
        let by = RelaunchBy::Person { who: "a client".into(), parent: None, tethered: false };
        let token = LaunchToken::new(2);
        let how = Relaunch { token, owed: vec![files()], queued: false, by };
        self.numbered((self.resume)(world, &self.ids[FIRST], how))
    }

    fn check(&self, world: &World) -> Result<(), String> {
        match world.sessions().len() {
            0..=2 => Ok(()),
            _ => Err("7: every click is a launch".into()),
        }
    }

    fn check_plots(&self, plots: &[Plot]) -> Result<(), String> {
        let former = &plots[FIRST];
        let over =
            matches!(former.keeper, Keeper::None | Keeper::Dead | Keeper::Over | Keeper::Left);
        let gone = over && former.pen_is_empty() && !former.hands.start_keeper;
        if plots[SECOND].history.asked_for_keeper && !gone {
            return Err("7: launched again before the former launch was gone".into());
        }
        Ok(())
    }
}
