//! Whether the daemon can do its work.

use std::time::Duration;

use kennel_types::api::{CheckView, ReadyView};
use tokio::time::timeout;

use super::DaemonHandle;
use crate::owner::Health;

/// How long each part of the daemon may take to answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

impl DaemonHandle {
    pub async fn readiness(&self) -> ReadyView {
        let (owner, register) = tokio::join!(self.check_owner(), self.check_register());
        let mut checks = vec![check("register", register.err())];
        match owner {
            Ok(health) => {
                checks.push(check("owner", None));
                checks.extend(owner_checks(health));
            }
            Err(why) => checks.push(check("owner", Some(why))),
        }
        ReadyView { ready: checks.iter().all(|check| check.passed), checks }
    }

    async fn check_owner(&self) -> Result<Health, String> {
        let health = self.ask(|owner| Ok(owner.health()));
        match timeout(CHECK_TIMEOUT, health).await {
            Ok(Ok(health)) => Ok(health),
            Ok(Err(refused)) => Err(refused.problem().detail),
            Err(_) => Err(format!("no answer from the owner within {CHECK_TIMEOUT:?}")),
        }
    }

    async fn check_register(&self) -> Result<(), String> {
        match timeout(CHECK_TIMEOUT, self.0.register.check_writable()).await {
            Ok(Ok(proved)) => proved.map_err(|error| error.to_string()),
            Ok(Err(_)) => Err("the register is closed".to_owned()),
            Err(_) => Err(format!("no write to the register within {CHECK_TIMEOUT:?}")),
        }
    }
}

fn owner_checks(health: Health) -> [CheckView; 4] {
    let Health { unprobed, has_yard, shutting_down, no_room } = health;
    let unprobed = (unprobed > 0).then(|| format!("{unprobed} sessions are not probed yet"));
    [
        check("adoption", unprobed),
        check("yard", (!has_yard).then(|| "the yard is gone".to_owned())),
        check("serving", shutting_down.then(|| "the daemon is shutting down".to_owned())),
        check("room", no_room),
    ]
}

fn check(name: &str, why: Option<String>) -> CheckView {
    CheckView { name: name.to_owned(), passed: why.is_none(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_fails_its_own_check() {
        let well = Health { unprobed: 0, has_yard: true, shutting_down: false, no_room: None };
        let failed = |health| {
            let failed = owner_checks(health).into_iter().filter(|check| !check.passed);
            failed.map(|check| (check.name, check.why.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(failed(well.clone()), []);
        let names = [
            Health { unprobed: 3, ..well.clone() },
            Health { has_yard: false, ..well.clone() },
            Health { shutting_down: true, ..well.clone() },
            Health { no_room: Some("the disk is full".to_owned()), ..well },
        ]
        .map(|health| failed(health).pop().unwrap());
        assert_eq!(names[0], ("adoption".into(), "3 sessions are not probed yet".into()));
        assert_eq!([1, 2, 3].map(|index| &*names[index].0), ["yard", "serving", "room"]);
    }
}
