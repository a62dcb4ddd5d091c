//! Checks that the members and agents of a plan are available.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use kennel_agents::Agent;
use kennel_types::AgentSettings;
use kennel_types::api::MemberView;
use kennel_types::plan::{PlanSpec, PlanTarget};
use rustix::fs::{Access, access};

use crate::command_prelude::*;

/// Refuses a plan with unknown members or agents that are not installed, and names all of them.
pub(super) fn check(home: &HomeDir, spec: &PlanSpec) -> Result<(), CommandError> {
    let members = members(home, spec)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing: Vec<String> = spec
        .agents()
        .filter_map(|(stage, agent)| {
            let why = missing(&agent.who, &members, &path)?;
            Some(format!("{}: {why}", stage.path_of(agent)))
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let text = format!("plan {} can't run: {}", spec.name, missing.join("; "));
    let hint = "`kennel member list` lists members; install missing agents or add them to PATH";
    Err(CommandError::refused(text).hint(hint))
}

/// Fetches the agent configuration of all members by name, if the plan has members.
fn members(
    home: &HomeDir,
    spec: &PlanSpec,
) -> Result<BTreeMap<String, AgentSettings>, CommandError> {
    if !spec.agents().any(|(_, agent)| matches!(agent.who, PlanTarget::Member(_))) {
        return Ok(BTreeMap::new());
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let members: Vec<MemberView> = daemon.get("/v1/members")?;
    Ok(members.into_iter().map(|member| (member.name, member.settings)).collect())
}

fn missing(
    target: &PlanTarget,
    members: &BTreeMap<String, AgentSettings>,
    path: &OsStr,
) -> Option<String> {
    let settings = match target {
        PlanTarget::Agent(name) => {
            AgentSettings { agent: name.clone(), ..AgentSettings::default() }
        }
        PlanTarget::Member(name) => match members.get(name) {
            Some(settings) => settings.clone(),
            None => return Some(format!("unknown member {name:?}")),
        },
    };
    match Agent::of(&settings) {
        Ok(agent) if is_installed(agent.program(), path) => None,
        Ok(agent) => Some(format!("program {:?} is not in PATH", agent.program())),
        Err(error) => Some(error.to_string()),
    }
}

/// Whether the program exists, either at its path or in PATH.
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
    fn reports_unknown_members_and_missing_programs() {
        let codex = AgentSettings { agent: "codex".into(), ..AgentSettings::default() };
        let members = BTreeMap::from([("anna".to_owned(), codex)]);
        let why = |who: PlanTarget| missing(&who, &members, OsStr::new("/nowhere:/bin"));
        let unknown = why(PlanTarget::Member("bert".into()));
        assert_eq!(unknown.as_deref(), Some("unknown member \"bert\""));
        for who in [PlanTarget::Agent("codex".into()), PlanTarget::Member("anna".into())] {
            assert_eq!(why(who).as_deref(), Some("program \"codex\" is not in PATH"));
        }
        assert!(why(PlanTarget::Agent("cluade".into())).is_some_and(|why| why.contains("cluade")));
        assert!(is_installed("sh", OsStr::new("/nowhere:/bin")));
        assert!(is_installed("/bin/sh", OsStr::new("")));
        assert!(!is_installed("sh", OsStr::new("/nowhere")));
        assert!(!is_installed("/bin", OsStr::new("")), "a folder is not a program");
    }
}
