//! Whether the daemon answers, and whether it can do its work.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use kennel_types::api::{CheckView, ReadyView};
use tokio::time::timeout;

use crate::http::Api;
use crate::owner::message::Command;
use crate::owner::{Health, LookCommand};

/// How long each of those who are asked may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whoever gets this knows that the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(api): State<Api>) -> (StatusCode, Json<ReadyView>) {
    let (owner, register) = tokio::join!(owner(&api), register(&api));
    let mut checks = vec![check("register", register), check("owner", owner.as_ref().map(drop))];
    if let Ok(health) = owner {
        checks.extend(of_owner(health));
    }
    let ready = checks.iter().all(|check| check.passed);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ReadyView { ready, checks }))
}

async fn owner(api: &Api) -> Result<Health, String> {
    let asked = api.ask(|answer| Command::Look(LookCommand::Health { answer }));
    match timeout(PATIENCE, asked).await {
        Ok(Ok(health)) => Ok(health),
        Ok(Err(refused)) => Err(refused.problem().detail),
        Err(_) => Err(format!("the owner of the sessions has not answered within {PATIENCE:?}")),
    }
}

async fn register(api: &Api) -> Result<(), String> {
    match timeout(PATIENCE, api.0.register.check_writable()).await {
        Ok(Ok(proved)) => proved.map_err(|error| error.to_string()),
        Ok(Err(_)) => Err("the register is closed".to_owned()),
        Err(_) => Err(format!("the register has not taken a write within {PATIENCE:?}")),
    }
}

/// What the owner knows.
fn of_owner(health: Health) -> [CheckView; 4] {
    let Health { unprobed, has_yard, leaving, no_room } = health;
    let failed = |passed: bool, why: &dyn Fn() -> String| if passed { Ok(()) } else { Err(why()) };
    [
        check(
            "adoption",
            failed(unprobed == 0, &|| format!("{unprobed} sessions have not been looked at yet")),
        ),
        check("yard", failed(has_yard, &|| "the yard is gone".to_owned())),
        check("serving", failed(!leaving, &|| "the daemon is leaving".to_owned())),
        check("room", no_room.map_or(Ok(()), Err)),
    ]
}

fn check(name: &str, passed: Result<(), impl ToString>) -> CheckView {
    let why = passed.err().map(|why| why.to_string());
    CheckView { name: name.to_owned(), passed: why.is_none(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_fails_its_own_check() {
        let well = Health { unprobed: 0, has_yard: true, leaving: false, no_room: None };
        let failed = |health| {
            let failed = of_owner(health).into_iter().filter(|check| !check.passed);
            failed.map(|check| (check.name, check.why.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(failed(well.clone()), []);
        let names = [
            Health { unprobed: 3, ..well.clone() },
            Health { has_yard: false, ..well.clone() },
            Health { leaving: true, ..well.clone() },
            Health { no_room: Some("the disk is full".to_owned()), ..well },
        ]
        .map(|health| failed(health).pop().unwrap());
        assert_eq!(names[0], ("adoption".into(), "3 sessions have not been looked at yet".into()));
        assert_eq!([1, 2, 3].map(|index| &*names[index].0), ["yard", "serving", "room"]);
    }
}
