//! Old events are deleted, and sessions beyond the limit are returned.

use kennel_register::{Durability, Retained, Retention};
use kennel_types::Phase;

use crate::scene::{Scene, all_events, event, id, stored, wait};

#[test]
fn deletes_the_oldest_events_and_continues_the_numbers() {
    let scene = Scene::new();
    let register = scene.open().register;
    for _ in 0..12_000 {
        register.log(event("tick"));
    }
    let retention = Retention { max_events: 300, max_ended_sessions: 10 };
    let retained = wait(register.retain(retention)).unwrap();
    assert_eq!(retained, Retained { dropped_events: 11_700, excess: vec![] });
    let seqs: Vec<_> =
        register.events(all_events()).unwrap().into_iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (11_701..=12_000).collect::<Vec<_>>());
    assert_eq!(wait(register.retain(retention)).unwrap().dropped_events, 0);
    let none = Retention { max_events: 0, ..retention };
    assert_eq!(wait(register.retain(none)).unwrap().dropped_events, 300);
    register.log(event("after"));
    register.close();
    assert_eq!(scene.open().last_seq, 12_001);
}

#[test]
fn returns_excess_sessions_by_end_and_never_live_ones() {
    let scene = Scene::new();
    let register = scene.open().register;
    for (number, phase) in [
        (1, Phase::Cleaned),
        (2, Phase::Running),
        (3, Phase::Lost),
        (4, Phase::Cleaned),
        (5, Phase::Reaped),
        (6, Phase::Cleaned),
    ] {
        let mut row = stored(number, phase);
        if number == 1 {
            // Created first, ended last.
            row.times.ended_ms = row.times.ended_ms.map(|ended| ended + 1_000_000);
        }
        wait(register.save(row, vec![], Durability::Soon)).unwrap();
    }
    let excess = |max_ended_sessions| {
        wait(register.retain(Retention { max_events: 100, max_ended_sessions })).unwrap().excess
    };
    assert_eq!(excess(3), []);
    assert_eq!(excess(1), [id(4), id(6)]);
    assert_eq!(excess(0), [id(4), id(6), id(1)]);
    assert_eq!(excess(u64::MAX), []);
    wait(register.remove(excess(1), event("removed"))).unwrap();
    assert_eq!(excess(0), [id(1)]);
}
