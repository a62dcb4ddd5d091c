use kennel_types::plan::{AgentPath, PlanAgentStatus, PlanSpec, PlanStatus};
use kennel_types::{TokenUsage, VerdictKind};
use proptest::prelude::*;

use crate::plan::*;
use crate::tests;

/// Returns a plan. Each stage has a number of agents, and further keys.
fn plan(top: &str, stages: &[(usize, &str)]) -> PlanSpec {
    let mut text = format!("name = \"p\"\n{top}\n");
    for (number, (agents, more)) in stages.iter().enumerate() {
        text.push_str(&format!("[[stage]]\nname = \"s{number}\"\n{more}\n"));
        for agent in 0..*agents {
            let keys = format!("name = \"a{agent}\"\nagent = \"claude\"\nprompt = \"p\"\n");
            text.push_str(&format!("[[stage.agent]]\n{keys}"));
        }
    }
    crate::plan::parse(&text).unwrap()
}

fn place(text: &str) -> AgentPath {
    AgentPath::parse(text).unwrap()
}

/// A plan whose events the test sends.
struct Run {
    spec: PlanSpec,
    state: PlanState,
}

impl Run {
    fn new(spec: PlanSpec) -> Self {
        Self { state: PlanState::new(&spec), spec }
    }

    fn apply(&mut self, event: PlanEvent) -> Result<(), IgnoredReason> {
        self.state.happened(&self.spec, &event)
    }

    fn accept(&mut self, event: PlanEvent) {
        assert_eq!(self.apply(event.clone()), Ok(()), "{event:?}");
    }

    /// Asks an agent, which then runs.
    fn ask(&mut self, at: &str) {
        let ask = self.state.agent(&place(at)).unwrap().asks + 1;
        self.accept(PlanEvent::Asking { place: place(at), ask });
        self.accept(PlanEvent::Asked { place: place(at), ask, session: tests::id(ask.into()) });
    }

    fn judge(&mut self, at: &str, verdict: VerdictKind) {
        let ask = self.state.agent(&place(at)).unwrap().asks;
        let usage = TokenUsage { output_tokens: 10, ..TokenUsage::default() };
        let session = tests::id(ask.into());
        self.accept(PlanEvent::Judged { place: place(at), ask, session, verdict, usage });
    }

    fn cancel(&mut self) -> Result<(), IgnoredReason> {
        self.apply(PlanEvent::CancelWanted { by: "ada".into() })
    }

    /// Returns the next actions, such as `ask s0.a0`.
    fn next(&self) -> Vec<String> {
        let shown = |action| match action {
            PlanAction::Ask { place, ask: 1 } => format!("ask {place}"),
            PlanAction::Ask { place, ask } => format!("ask {place} {ask}"),
            PlanAction::Stop { place, .. } => format!("stop {place}"),
            PlanAction::Finish(outcome) => format!("finish {:?}", outcome.status),
        };
        self.state.next(&self.spec).into_iter().map(shown).collect()
    }

    fn finish(&mut self) -> PlanOutcome {
        let actions = self.state.next(&self.spec);
        let [PlanAction::Finish(outcome)] = &actions[..] else { panic!("{:?}", self.next()) };
        let outcome = outcome.clone();
        self.accept(PlanEvent::Finished);
        assert!(self.next().is_empty());
        outcome
    }
}

#[test]
fn stages_come_one_after_the_other() {
    let mut run = Run::new(plan("", &[(2, ""), (1, "")]));
    assert_eq!(run.next(), ["ask s0.a0", "ask s0.a1"]);
    run.ask("s0.a0");
    run.ask("s0.a1");
    assert!(run.next().is_empty());
    run.judge("s0.a1", VerdictKind::Succeeded);
    assert!(run.next().is_empty());
    run.judge("s0.a0", VerdictKind::Succeeded);
    assert_eq!(run.next(), ["ask s1.a0"]);
    run.ask("s1.a0");
    run.judge("s1.a0", VerdictKind::Succeeded);
    let outcome = run.finish();
    assert_eq!(outcome.status, PlanStatus::Succeeded);
    assert_eq!((outcome.why.as_str(), outcome.usage.output_tokens), ("every agent answered", 30));
}

#[test]
fn a_failure_ends_the_plan_and_stops_the_others() {
    let mut run = Run::new(plan("", &[(3, ""), (1, "")]));
    run.ask("s0.a0");
    run.ask("s0.a1");
    run.judge("s0.a0", VerdictKind::Auth);
    assert_eq!(run.next(), ["stop s0.a1"]);
    let late = PlanEvent::Asking { place: place("s0.a2"), ask: 1 };
    assert_eq!(run.apply(late), Err(IgnoredReason::NotNow));
    run.judge("s0.a1", VerdictKind::Cancelled);
    let outcome = run.finish();
    assert_eq!((outcome.status, outcome.why.as_str()), (PlanStatus::Failed, "s0.a0: auth"));
    let lines: Vec<_> =
        outcome.agents.iter().map(|it| format!("{}: {}", it.place, it.why)).collect();
    assert_eq!(
        lines,
        [
            "s0.a0: auth",
            "s0.a1: all its processes are gone",
            "s0.a2: not asked: the plan had already failed",
            "s1.a0: not asked: the plan had already failed",
        ]
    );
}

#[test]
fn a_stage_needs_only_enough_answers() {
    // The plan waits until the others have finished.
    let mut run = Run::new(plan("", &[(3, "need = 1"), (1, "")]));
    run.ask("s0.a0");
    run.ask("s0.a1");
    run.judge("s0.a0", VerdictKind::Succeeded);
    assert_eq!(run.next(), ["ask s0.a2"]);
    run.ask("s0.a2");
    run.judge("s0.a1", VerdictKind::Crashed);
    run.judge("s0.a2", VerdictKind::Killed);
    assert_eq!(run.next(), ["ask s1.a0"]);
    run.ask("s1.a0");
    run.judge("s1.a0", VerdictKind::Succeeded);
    let why = "every stage has what it needs; 2 agents did not answer";
    assert_eq!(run.finish().why, why);
    // With `stop_rest` the others are stopped.
    let mut run = Run::new(plan("", &[(3, "need = 1\nstop_rest = true"), (1, "")]));
    run.ask("s0.a0");
    run.ask("s0.a1");
    run.judge("s0.a0", VerdictKind::Succeeded);
    assert_eq!(run.next(), ["stop s0.a1"]);
    let phase = &run.state.agent(&place("s0.a2")).unwrap().phase;
    assert_eq!(*phase, AgentPhase::Skipped { why: SkipReason::NotNeeded });
    run.judge("s0.a1", VerdictKind::Cancelled);
    assert_eq!(run.next(), ["ask s1.a0"]);
}

#[test]
fn a_stage_that_cannot_get_enough_answers_fails_at_once() {
    let mut run = Run::new(plan("", &[(3, "need = 2")]));
    run.ask("s0.a0");
    run.ask("s0.a1");
    run.ask("s0.a2");
    run.judge("s0.a0", VerdictKind::Crashed);
    assert!(run.next().is_empty(), "two can still succeed");
    run.judge("s0.a2", VerdictKind::TimedOut);
    assert_eq!(run.next(), ["stop s0.a1"]);
    run.judge("s0.a1", VerdictKind::Succeeded);
    let outcome = run.finish();
    assert_eq!(outcome.status, PlanStatus::Failed);
    assert_eq!(outcome.why, "stage s0 needs 2 answers, but can get only 1 (s0.a2: timed_out)");
    assert_eq!(outcome.agents[1].status, PlanAgentStatus::Succeeded, "its answer counts");
}

#[test]
fn a_cancel_reaches_an_agent_that_is_being_asked() {
    let mut run = Run::new(plan("", &[(2, ""), (1, "")]));
    run.accept(PlanEvent::Asking { place: place("s0.a0"), ask: 1 });
    assert_eq!(run.cancel(), Ok(()));
    assert_eq!(run.next(), ["stop s0.a0"]);
    let session = tests::id(7);
    run.accept(PlanEvent::Asked { place: place("s0.a0"), ask: 1, session: session.clone() });
    assert_eq!(run.next(), ["stop s0.a0"]);
    assert_eq!(run.cancel(), Err(IgnoredReason::Known));
    let later = PlanEvent::Judged {
        place: place("s0.a0"),
        ask: 1,
        // A later launch of the same session.
        session: session.next_attempt(),
        verdict: VerdictKind::Cancelled,
        usage: TokenUsage::default(),
    };
    run.accept(later.clone());
    assert_eq!(run.apply(later), Err(IgnoredReason::Late));
    assert_eq!(run.cancel(), Err(IgnoredReason::Over));
    let outcome = run.finish();
    assert_eq!((outcome.status, outcome.why.as_str()), (PlanStatus::Cancelled, "cancelled by ada"));
    assert_eq!(outcome.agents[0].session, Some(session));
}

#[test]
fn a_cancel_replaces_any_other_reason() {
    let mut run = Run::new(plan("timeout = '1h'", &[(2, "")]));
    run.ask("s0.a0");
    run.accept(PlanEvent::TimeOver);
    assert_eq!(run.apply(PlanEvent::TimeOver), Err(IgnoredReason::Known));
    assert_eq!(run.state.outcome(&run.spec).why, "the plan exceeded its timeout of 3600s");
    assert_eq!(run.cancel(), Ok(()));
    assert_eq!(run.apply(PlanEvent::TimeOver), Err(IgnoredReason::Known));
    run.judge("s0.a0", VerdictKind::Cancelled);
    assert_eq!(run.finish().status, PlanStatus::Cancelled);
}

#[test]
fn a_session_that_arrives_too_late_belongs_to_no_plan() {
    let mut run = Run::new(plan("", &[(1, "")]));
    run.accept(PlanEvent::Asking { place: place("s0.a0"), ask: 1 });
    run.accept(PlanEvent::NotAsked { place: place("s0.a0"), ask: 1 });
    assert_eq!(run.next(), ["ask s0.a0 2"]);
    run.accept(PlanEvent::Asking { place: place("s0.a0"), ask: 2 });
    let asked = |ask| PlanEvent::Asked { place: place("s0.a0"), ask, session: tests::id(1) };
    assert_eq!(run.apply(asked(1)), Err(IgnoredReason::Late));
    run.accept(asked(2));
    assert_eq!(run.apply(asked(2)), Err(IgnoredReason::Known));
    let unknown = PlanEvent::NotAsked { place: place("x.y"), ask: 1 };
    assert_eq!(run.apply(unknown), Err(IgnoredReason::NoAgent(place("x.y"))));
}

#[test]
fn a_resume_asks_only_agents_without_an_answer() {
    let mut run = Run::new(plan("", &[(3, ""), (1, "")]));
    for at in ["s0.a0", "s0.a1", "s0.a2"] {
        run.ask(at);
    }
    assert_eq!(run.apply(PlanEvent::Resumed { replay: false }), Err(IgnoredReason::NotOver));
    run.judge("s0.a0", VerdictKind::Succeeded);
    assert_eq!(run.cancel(), Ok(()));
    run.judge("s0.a1", VerdictKind::Cancelled);
    run.judge("s0.a2", VerdictKind::Crashed);
    run.finish();
    run.accept(PlanEvent::Resumed { replay: false });
    assert_eq!(run.next(), ["ask s0.a1 2", "ask s0.a2 2"]);
    run.ask("s0.a1");
    run.ask("s0.a2");
    run.judge("s0.a1", VerdictKind::Succeeded);
    run.judge("s0.a2", VerdictKind::Succeeded);
    run.ask("s1.a0");
    run.judge("s1.a0", VerdictKind::Succeeded);
    assert_eq!(run.finish().status, PlanStatus::Succeeded);
    let nothing = Err(IgnoredReason::NothingLeft);
    assert_eq!(run.apply(PlanEvent::Resumed { replay: true }), nothing);
}

#[test]
fn a_prompt_that_may_have_run_is_repeated_only_on_request() {
    let mut run = Run::new(plan("", &[(2, "")]));
    run.ask("s0.a0");
    run.judge("s0.a0", VerdictKind::Unknown);
    run.finish();
    let applied = run.apply(PlanEvent::Resumed { replay: false });
    let Err(why @ IgnoredReason::MayHaveRun(_)) = applied else { panic!("{applied:?}") };
    assert!(why.to_string().starts_with("s0.a0 may have run"), "{why}");
    assert!(run.next().is_empty(), "nothing has changed");
    run.accept(PlanEvent::Resumed { replay: true });
    assert_eq!(run.next(), ["ask s0.a0 2", "ask s0.a1"]);
    // It was not asked after all, so nothing has changed.
    assert_eq!(run.cancel(), Ok(()));
    run.finish();
    let applied = run.apply(PlanEvent::Resumed { replay: false });
    assert!(matches!(applied, Err(IgnoredReason::MayHaveRun(_))), "{applied:?}");
    // An agent that may fail does not hold up the others.
    let mut run = Run::new(plan("", &[(2, "need = 1")]));
    run.ask("s0.a0");
    run.judge("s0.a0", VerdictKind::Unknown);
    assert_eq!(run.cancel(), Ok(()));
    run.finish();
    run.accept(PlanEvent::Resumed { replay: false });
    assert_eq!(run.next(), ["ask s0.a1"]);
}

#[test]
fn a_resume_leaves_a_stage_that_others_used_as_it_is() {
    let mut run = Run::new(plan("", &[(2, "need = 1"), (1, "")]));
    run.ask("s0.a0");
    run.ask("s0.a1");
    run.judge("s0.a0", VerdictKind::Succeeded);
    run.judge("s0.a1", VerdictKind::Crashed);
    run.ask("s1.a0");
    run.judge("s1.a0", VerdictKind::Overloaded);
    run.finish();
    run.accept(PlanEvent::Resumed { replay: false });
    assert_eq!(run.next(), ["ask s1.a0 2"]);
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let mut run = Run::new(plan("", &[(3, "need = 1"), (1, "")]));
    run.ask("s0.a0");
    run.accept(PlanEvent::Asking { place: place("s0.a1"), ask: 1 });
    let why = "busy".to_owned();
    run.accept(PlanEvent::Refused { place: place("s0.a1"), ask: 1, why });
    run.judge("s0.a0", VerdictKind::RateLimited);
    assert_eq!(run.cancel(), Ok(()));
    let json = serde_json::to_string(&run.state).unwrap();
    assert_eq!(serde_json::from_str::<PlanState>(&json).unwrap(), run.state);
}

fn any_event() -> impl Strategy<Value = PlanEvent> {
    let place = prop::sample::select(vec!["s0.a0", "s0.a1", "s1.a0", "s1.a1", "s2.a0", "no.body"])
        .prop_map(place);
    let verdict = prop::sample::select(VerdictKind::ALL.to_vec());
    let session = (1..3_u64).prop_map(tests::id);
    (0..24_u8, place, 1..4_u32, session, verdict).prop_map(
        |(kind, place, ask, session, verdict)| {
            let usage = TokenUsage::default();
            match kind {
                0..=7 => PlanEvent::Asking { place, ask },
                8..=11 => PlanEvent::Asked { place, ask, session },
                12 => PlanEvent::NotAsked { place, ask },
                13 => PlanEvent::Refused { place, ask, why: "busy".into() },
                14..=18 => PlanEvent::Judged { place, ask, session, verdict, usage },
                19 => PlanEvent::CancelWanted { by: "ada".into() },
                20 => PlanEvent::TimeOver,
                21..=22 => PlanEvent::Finished,
                _ => PlanEvent::Resumed { replay: ask > 1 },
            }
        },
    )
}

proptest! {
    /// Events may be true or false.
    #[test]
    fn invariants_hold_for_any_plan_events(events in prop::collection::vec(any_event(), 0..80)) {
        let spec = plan("concurrency = 2", &[(2, "need = 1\nstop_rest = true"), (2, ""), (1, "")]);
        let mut state = PlanState::new(&spec);
        for event in events {
            let before = state.clone();
            let applied = state.happened(&spec, &event);
            prop_assert_eq!(applied.is_ok(), state != before, "{:?}", event);
            let alive = state.agents.iter().filter(|it| it.phase.may_be_alive()).count();
            prop_assert!(alive <= 2);
            for (one, other) in before.agents.iter().zip(&state.agents) {
                let again = one.phase.is_over() && !other.phase.is_over();
                let resumed = matches!(event, PlanEvent::Resumed { .. });
                prop_assert!(!again || resumed);
                prop_assert!(!one.phase.has_succeeded() || other.phase.has_succeeded());
                prop_assert!(other.asks >= one.asks);
                let dropped = one.phase.may_be_alive() && !other.phase.may_be_alive();
                let confirmed = matches!(
                    event,
                    PlanEvent::Judged { .. } | PlanEvent::Refused { .. } | PlanEvent::NotAsked { .. }
                );
                prop_assert!(!dropped || confirmed, "{:?} dropped an agent that may be alive", event);
            }
            let actions = state.next(&spec);
            let asks = actions.iter().filter(|it| matches!(it, PlanAction::Ask { .. })).count();
            let stops = actions.iter().filter(|it| matches!(it, PlanAction::Stop { .. })).count();
            let finishes = actions.iter().filter(|it| matches!(it, PlanAction::Finish(_))).count();
            prop_assert!(state.ending.is_none() || asks == 0 && stops == alive);
            prop_assert_eq!(finishes == 1, state.is_over() && !state.finished);
            // There is something to do, an agent is alive, or the plan is over.
            prop_assert!(!actions.is_empty() || alive > 0 || state.finished);
        }
    }
}
