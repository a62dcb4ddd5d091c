use kennel_core::plan::PlanState;
use kennel_types::{AgentSpec, IdMaker, LaunchToken, PenKind, PlanPosition};

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
        cancel_on_disconnect: false,
        asked_by: String::new(),
        created_ms: 1,
        begun_ms: 1,
        spent_ms: 0,
        ended_ms: None,
    }
}

fn session(ids: &mut IdMaker, plan: Option<&SessionId>) -> Session {
    let mut spec = crate::launch::request::tests::request(&["true"]).spec;
    let position =
        |plan: &SessionId| PlanPosition { plan: plan.to_string(), name: "s.a".into(), ask: 1 };
    spec.agent = Some(Box::new(AgentSpec { plan: plan.map(position), ..AgentSpec::default() }));
    Session::new(ids.next(0, 1), spec, LaunchToken::new(1), Vec::new())
}

#[test]
fn needs_the_sessions_of_a_plan_until_it_is_over() {
    let mut ids = IdMaker::default();
    let (running, over, unknown) = (ids.next(0, 1), ids.next(0, 1), ids.next(0, 1));
    let mut finished = record(&over);
    finished.state.finished = true;
    let plans = PlanRuns::new(vec![record(&running), finished]);
    assert_eq!(plans.needing(&session(&mut ids, Some(&running))), Some(&running));
    for plan in [Some(&over), Some(&unknown), None] {
        assert_eq!(plans.needing(&session(&mut ids, plan)), None);
    }
}

#[test]
fn records_how_much_time_is_spent() {
    let id = IdMaker::default().next(0, 1);
    let mut run = PlanRun::new(PlanRecord { spent_ms: 5000, ..record(&id) }, None);
    assert!(run.current_record().spent_ms >= 5000, "what a former daemon has counted");
    run.time = PlanTime::from_record(7000, Instant::now());
    assert!(run.current_record().spent_ms >= 7000);
    run.record.state.finished = true;
    run.time = PlanTime::from_record(90_000, Instant::now());
    assert!(run.current_record().spent_ms < 90_000, "nothing counts any more");
}

#[test]
fn answers_waiters_when_the_end_is_on_record() {
    let id = IdMaker::default().next(0, 1);
    let mut run = PlanRun::new(record(&id), None);
    let (answer, mut early) = tokio::sync::oneshot::channel();
    run.await_end(answer);
    run.record.state.finished = true;
    run.finish();
    let (answer, mut late) = tokio::sync::oneshot::channel();
    run.await_end(answer);
    assert!(early.try_recv().is_err() && late.try_recv().is_err(), "not on record yet");
    run.end_was_recorded();
    assert!(early.try_recv().unwrap().is_ok() && late.try_recv().unwrap().is_ok());
    let (answer, mut after) = tokio::sync::oneshot::channel();
    run.await_end(answer);
    assert!(after.try_recv().unwrap().is_ok());
}

#[test]
fn finds_a_plan_by_name_or_by_the_beginning_of_its_id() {
    let mut ids = IdMaker::default();
    let (first, second) = (ids.next(0, 1), ids.next(1 << 40, 1));
    let mut over = record(&second);
    over.state.finished = true;
    let plans = PlanRuns::new(vec![record(&first), over]);
    assert_eq!(plans.find("p").unwrap(), first, "the one that is not over");
    assert_eq!(plans.find(second.as_str()).unwrap(), second);
    assert_eq!(plans.find("x").unwrap_err().problem().code, "not_found");
    assert_eq!(plans.find("").unwrap_err().problem().code, "not_found");
}

#[test]
fn removes_the_oldest_plans_beyond_the_limit() {
    let mut ids = IdMaker::default();
    let over = |id: SessionId| {
        let mut record = record(&id);
        record.state.finished = true;
        record
    };
    let all: Vec<_> = (0..ENDED_LIMIT as u64 + 2).map(|time| ids.next(time, 1)).collect();
    let mut plans = PlanRuns::new(all.iter().cloned().map(over).collect());
    assert_eq!(plans.trim(), all[..2]);
    assert!(plans.trim().is_empty());
}
