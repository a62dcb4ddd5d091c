//! Readiness in time or too late, and the reports of an agent.

use std::time::Duration;

use kennel_types::{
    AgentActivity, AgentReport, Percent, Phase, Readiness, ReadyState, Reason, Title,
};

use super::{CODE, NOTE, RECORD, after, gone};
use crate::effect::Effect;
use crate::event::{Event, Probe};
use crate::session::{Session, Underway};
use crate::tests::{GRACE, asking, born, stop};

const LIMIT: Duration = Duration::from_secs(120);

fn launched(ready: Readiness) -> Session {
    let session = asking(|spec| {
        spec.ready = ready;
        spec.ready_timeout = Some(LIMIT);
    });
    after(session, &[Event::Recorded, Event::KeeperReady, born()])
}

fn waiting() -> Session {
    after(launched(Readiness::Tcp { host: "127.0.0.1".into(), port: 1 }), &[Event::Opened])
}

fn ready() -> Event {
    Event::BecameReady { how: "the port accepts".into() }
}

fn overdue() -> Event {
    Event::ReadyOverdue { saw: Some("connection refused".into()) }
}

#[test]
fn readiness_is_watched_while_the_program_runs_until_it_is_ready() {
    let mut session = launched(Readiness::Socket { path: "/s".into() });
    assert_eq!(session.ready, ReadyState::Waiting);
    assert_eq!(session.step(&Event::Opened), [NOTE, Effect::AwaitReady]);
    assert_eq!(session.step(&ready()), [NOTE, Effect::StopAwaiting]);
    assert_eq!(session.ready, ReadyState::Ready);
    for late in [ready(), overdue()] {
        assert_eq!(session.step(&late), []);
    }
    assert_eq!((session.ready, session.is_stop_wanted()), (ReadyState::Ready, false));
}

#[test]
fn a_session_without_a_readiness_check_is_neither_ready_nor_late() {
    let mut session = after(launched(Readiness::None), &[]);
    assert_eq!(session.step(&Event::Opened), [NOTE]);
    let report = Event::Reported(AgentReport::Ready);
    for nothing in [ready(), overdue(), report] {
        assert_eq!(session.step(&nothing), []);
    }
    assert_eq!((session.ready, session.is_stop_wanted()), (ReadyState::Unasked, false));
}

#[test]
fn a_session_that_is_not_ready_in_time_is_ended_and_cleaned_up() {
    let mut session = waiting();
    let stop = Effect::Stop { grace: GRACE };
    assert_eq!(session.step(&overdue()), [stop, RECORD, Effect::StopAwaiting]);
    assert_eq!((session.ready, session.phase), (ReadyState::Missed, Phase::Stopping));
    assert_eq!(
        session.reason,
        Some(Reason::NotReady { after: LIMIT, saw: Some("connection refused".into()) })
    );
    // From now on every event is late.
    for late in [ready(), overdue(), Event::Reported(AgentReport::Ready)] {
        assert_eq!(session.step(&late), [], "{late:?}");
        assert_eq!((session.ready, session.phase), (ReadyState::Missed, Phase::Stopping));
    }
    let mut session = after(session, &[gone(CODE)]);
    assert_eq!((session.phase, session.ready), (Phase::Reaped, ReadyState::Missed));
    assert_eq!(session.step(&ready()), []);
    assert_eq!(session.ready, ReadyState::Missed);
}

#[test]
fn after_a_stop_a_sign_is_late() {
    let mut session = waiting();
    let effects = session.step(&stop(None));
    assert_eq!(effects.last(), Some(&Effect::StopAwaiting));
    for late in [ready(), overdue()] {
        assert_eq!(session.step(&late), []);
    }
    assert_eq!(session.ready, ReadyState::Waiting);
    assert_eq!(
        after(session, &[gone(CODE)]).ready,
        ReadyState::Missed,
        "it ended before it was ready"
    );
}

#[test]
fn when_the_agent_has_exited_a_sign_is_late() {
    let mut session = waiting();
    let effects = session.step(&Event::Exited { exit: CODE });
    assert_eq!(effects, [NOTE, Effect::StopAwaiting]);
    for late in [ready(), overdue()] {
        assert_eq!(session.step(&late), []);
    }
    assert_eq!(session.reason, Some(Reason::Exited));
}

#[test]
fn without_a_deadline_no_session_is_late() {
    let mut session = waiting();
    session.spec.ready_timeout = None;
    assert_eq!(session.step(&overdue()), []);
    assert_eq!(session.ready, ReadyState::Waiting);
}

#[test]
fn a_report_may_precede_the_keepers_but_not_the_grant() {
    let mut session = launched(Readiness::Report);
    assert_eq!(session.phase, Phase::Starting);
    assert_eq!(session.step(&Event::Reported(AgentReport::Ready)), [NOTE]);
    assert_eq!(session.ready, ReadyState::Ready);
    assert_eq!(session.step(&Event::Opened), [NOTE], "nothing is left to wait for");
    let mut early = asking(|spec| spec.ready = Readiness::Report);
    assert_eq!(early.step(&Event::Reported(AgentReport::Ready)), []);
    assert_eq!(early.ready, ReadyState::Waiting);
}

#[test]
fn a_report_does_not_replace_a_requested_port() {
    let mut session = waiting();
    assert_eq!(session.step(&Event::Reported(AgentReport::Ready)), []);
    assert_eq!(session.ready, ReadyState::Waiting);
}

/// The daemon was restarted before the agent was ready.
#[test]
fn a_new_daemon_keeps_waiting_and_accepts_the_report() {
    let row = after(launched(Readiness::Report), &[Event::Opened]);
    let restored = || {
        let mut session = Session { underway: Underway::default(), ..row.clone() };
        drop(session.step(&Event::Restored));
        session
    };
    let running = Event::Probed(Probe::Running {
        identity: "it".into(),
        pid: 42,
        pen: None,
        ending: false,
        exit: None,
    });
    let mut session = restored();
    assert_eq!(session.step(&running), [Effect::AwaitReady, NOTE]);
    let mut session = restored();
    assert_eq!(
        session.step(&Event::Reported(AgentReport::Ready)),
        [NOTE],
        "before the probe found it"
    );
    assert_eq!(session.step(&running), [NOTE]);
    assert_eq!((session.ready, session.phase), (ReadyState::Ready, Phase::Running));
}

#[test]
fn a_report_is_stored_if_it_is_new() {
    let mut session = after(launched(Readiness::None), &[Event::Opened]);
    let title = Title::try_from(String::from("tests")).unwrap();
    let percent = Percent::try_from(40).unwrap();
    let reports = [
        AgentReport::Busy,
        AgentReport::Title { title: title.clone() },
        AgentReport::Progress { percent },
    ];
    for report in reports {
        assert_eq!(session.step(&Event::Reported(report.clone())), [NOTE]);
        assert_eq!(session.step(&Event::Reported(report)), [], "the report is not new");
    }
    let reported = &session.reported;
    assert_eq!((reported.activity, &reported.title), (Some(AgentActivity::Busy), &Some(title)));
    assert_eq!(reported.progress, Some(percent));
    let mut session = after(session, &[stop(None)]);
    assert_eq!(session.step(&Event::Reported(AgentReport::Idle)), [], "late");
    assert_eq!(session.reported.activity, Some(AgentActivity::Busy));
}
