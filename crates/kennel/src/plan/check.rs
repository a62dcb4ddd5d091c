//! Whether those whom a plan names are there to be asked.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use kennel_agents::Agent;
use kennel_types::Seat;
use kennel_types::api::MemberAnswer;
use kennel_types::plan::{PlanSpec, Who};
use rustix::fs::{Access, access};

use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::home::Home;

/// Refuses a plan with members that are not there, or with agents whose programs aren't; all of them are named.
pub(super) fn check(home: &Home, spec: &PlanSpec) -> Result<(), CommandError> {
    let members = members(home, spec)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing: Vec<String> = spec
        .agents()
        .filter_map(|(stage, agent)| {
            let why = missing(&agent.who, &members, &path)?;
            Some(format!("{}: {why}", stage.place(agent)))
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let text = format!("plan {} can't be run here: {}", spec.name, missing.join("; "));
    let hint =
        "`kennel member list` lists members, `kennel doctor` tells which agents are installed";
    Err(CommandError::because(exit_code::REFUSED, text).hint(hint))
}

/// The seats of all members, by their names; nobody is asked for them if the plan has none.
fn members(home: &Home, spec: &PlanSpec) -> Result<BTreeMap<String, Seat>, CommandError> {
    if !spec.agents().any(|(_, agent)| matches!(agent.who, Who::Member(_))) {
        return Ok(BTreeMap::new());
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let members: Vec<MemberAnswer> = daemon.get("/v1/members")?;
    Ok(members.into_iter().map(|member| (member.name, member.seat)).collect())
}

/// Why one can't be asked, if it can't.
fn missing(who: &Who, members: &BTreeMap<String, Seat>, path: &OsStr) -> Option<String> {
    let seat = match who {
        Who::Agent(name) => Seat { agent: name.clone(), ..Seat::default() },
        Who::Member(name) => match members.get(name) {
            Some(seat) => seat.clone(),
            None => return Some(format!("there is no member {name:?}")),
        },
    };
    match Agent::of(&seat) {
        Ok(agent) if is_installed(agent.program(), path) => None,
        Ok(agent) => Some(format!("no program {:?} in PATH", agent.program())),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether there is such a program, as it would be looked for.
fn is_installed(program: &str, path: &OsStr) -> bool {
    let is_program = |file: &Path| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    std::env::split_paths(path).any(|folder| is_program(&folder.join(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_member_or_no_program_is_told() {
        let codex = Seat { agent: "codex".into(), ..Seat::default() };
        let members = BTreeMap::from([("anna".to_owned(), codex)]);
        let why = |who: Who| missing(&who, &members, OsStr::new("/nowhere:/bin"));
        let nobody = why(Who::Member("bert".into()));
        assert_eq!(nobody.as_deref(), Some("there is no member \"bert\""));
        for who in [Who::Agent("codex".into()), Who::Member("anna".into())] {
            assert_eq!(why(who).as_deref(), Some("no program \"codex\" in PATH"));
        }
        assert!(why(Who::Agent("cluade".into())).is_some_and(|why| why.contains("cluade")));
        assert!(is_installed("sh", OsStr::new("/nowhere:/bin")));
        assert!(is_installed("/bin/sh", OsStr::new("")));
        assert!(!is_installed("sh", OsStr::new("/nowhere")));
        assert!(!is_installed("/bin", OsStr::new("")), "a folder is no program");
    }
}
