use kennel_types::plan::AgentPath;
use kennel_types::{TokenUsage, VerdictKind};

use crate::plan::*;
use crate::tests;

/// Names that programs rely on.
#[test]
fn a_plan_is_shown_with_stable_names() {
    let text = "name = 'p'\n[[stage]]\nname = 's'\nneed = 1\n\
                [[stage.agent]]\nname = 'a'\nagent = 'claude'\nprompt = 'p'\n\
                [[stage.agent]]\nname = 'b'\nmember = 'ada'\nprompt = 'p'\n";
    let spec = crate::plan::parse(text).unwrap();
    let mut state = PlanState::new(&spec);
    let place = |text| AgentPath::parse(text).unwrap();
    let session = tests::id(1);
    let usage = TokenUsage { output_tokens: 5, ..TokenUsage::default() };
    let verdict = VerdictKind::Crashed;
    for event in [
        PlanEvent::Asking { place: place("s.a"), ask: 1 },
        PlanEvent::Asked { place: place("s.a"), ask: 1, session: session.clone() },
        PlanEvent::Judged { place: place("s.a"), ask: 1, session: session.clone(), verdict, usage },
        PlanEvent::Asking { place: place("s.b"), ask: 1 },
    ] {
        assert_eq!(state.happened(&spec, &event), Ok(()));
    }
    let shown = |state: &PlanState| {
        serde_json::to_value(state.view(&spec, "0smkht2797kx", "then".into(), None)).unwrap()
    };
    let usage = |tokens: u64| {
        serde_json::json!({
            "input_tokens": 0, "cached_tokens": 0, "output_tokens": tokens, "cost_micros": 0
        })
    };
    let expected = serde_json::json!({
        "id": "0smkht2797kx",
        "name": "p",
        "state": "running",
        "why": null,
        "created_at": "then",
        "ended_at": null,
        "usage": usage(5),
        "stages": [{
            "name": "s",
            "need": 1,
            "agents": [
                {
                    "name": "a", "agent": "claude", "member": null, "state": "failed",
                    "why": "crashed", "session": session.as_str(), "verdict": "crashed",
                    "asks": 1, "usage": usage(5),
                },
                {
                    "name": "b", "agent": null, "member": "ada", "state": "asking",
                    "why": "about to be asked", "session": null, "verdict": null,
                    "asks": 1, "usage": usage(0),
                },
            ],
        }],
    });
    assert_eq!(shown(&state), expected);
    let by = "ada".to_owned();
    assert_eq!(state.happened(&spec, &PlanEvent::CancelWanted { by }), Ok(()));
    let stopping = shown(&state);
    assert_eq!(stopping["state"], "stopping");
    assert_eq!(stopping["why"], "cancelled by ada");
    assert_eq!(stopping["stages"][0]["agents"][1]["state"], "stopping");
    let refused = PlanEvent::Refused { place: place("s.b"), ask: 1, why: "ada is busy".into() };
    assert_eq!(state.happened(&spec, &refused), Ok(()));
    let over = shown(&state);
    assert_eq!(over["state"], "cancelled");
    assert_eq!(over["stages"][0]["agents"][1]["why"], "refused: ada is busy");
}
