use kennel_types::{AgentSpec, IdMaker, LaunchToken, PenKind, PlanSeat};

use super::*;

fn record(id: &SessionId) -> PlanRecord {
    let text = "name = 'p'\n[[stage]]\nname = 's'\n[[stage.agent]]\nname = 'a'\nagent = 'claude'\nprompt = 'x'\n";
    let spec = kennel_core::plan::parse(text).unwrap();
    PlanRecord {
        id: id.clone(),
        state: PlanState::new(&spec),
        spec,
        inputs: kennel_core::plan::Inputs::default(),
        cwd: "/".into(),
        pen: PenKind::default(),
        tied: false,
        asked_by: String::new(),
        created_ms: 1,
        begun_ms: 1,
        spent_ms: 0,
        ended_ms: None,
    }
}

fn session(ids: &mut IdMaker, plan: Option<&SessionId>) -> Session {
    let mut spec = crate::order::tests::request(&["true"]).spec;
    let seat = |plan: &SessionId| PlanSeat { plan: plan.to_string(), name: "s.a".into(), ask: 1 };
    spec.agent = Some(Box::new(AgentSpec { plan: plan.map(seat), ..AgentSpec::default() }));
    Session::new(ids.next(0, 1), spec, LaunchToken::new(1), Vec::new())
}

#[test]
fn the_sessions_of_a_plan_are_needed_until_it_is_over() {
    let mut ids = IdMaker::default();
    let (running, over, unknown) = (ids.next(0, 1), ids.next(0, 1), ids.next(0, 1));
    let mut finished = record(&over);
    finished.state.finished = true;
    let plans = Plans::new(vec![record(&running), finished]);
    assert_eq!(plans.needing(&session(&mut ids, Some(&running))), Some(&running));
    for plan in [Some(&over), Some(&unknown), None] {
        assert_eq!(plans.needing(&session(&mut ids, plan)), None);
    }
}

#[test]
fn what_is_put_on_record_says_how_much_time_is_spent() {
    let id = IdMaker::default().next(0, 1);
    let mut run = Run::new(PlanRecord { spent_ms: 5000, ..record(&id) }, None);
    assert!(run.noted().spent_ms >= 5000, "what a former daemon has counted");
    run.meter = Meter::from_record(7000, Instant::now());
    assert!(run.noted().spent_ms >= 7000);
    run.record.state.finished = true;
    run.meter = Meter::from_record(90_000, Instant::now());
    assert!(run.noted().spent_ms < 90_000, "nothing counts any more");
}
