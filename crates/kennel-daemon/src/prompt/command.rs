//! The command that asks an agent, and the check of requests for prompts.

use std::ffi::OsString;

use kennel_agents::{Agent, StopSignal};
use kennel_types::{AgentSpec, ConversationChoice, SessionSpec};
use rustix::process::Signal;

use crate::error::ApiError;

/// The longest prompt: it is kept in memory as long as it may be retried.
pub(crate) const LONGEST: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct AgentCommand {
    pub(crate) argv: Vec<String>,
    /// Variables that are set unless the client has set them.
    pub(crate) env: Vec<(String, String)>,
    /// The signal that stops it, if not TERM.
    pub(crate) stop_signal: Option<i32>,
}

/// Checks whether a request is valid as a prompt, as a chat, or as neither; returns the prompt.
pub(crate) fn check(
    spec: &mut SessionSpec,
    argv: &[OsString],
    prompt: Option<String>,
) -> Result<Option<Vec<u8>>, ApiError> {
    let Some(agent) = &mut spec.agent else {
        return match prompt {
            None => Ok(None),
            Some(_) => Err(ApiError::invalid("a prompt needs spec.agent")),
        };
    };
    // Clients can't set what the daemon decides.
    agent.conversation = None;
    agent.plan = None;
    if !argv.is_empty() {
        return Err(ApiError::invalid("argv must be empty if spec.agent is set"));
    }
    if spec.restart != kennel_types::Restart::Never {
        return Err(ApiError::invalid("a prompt has no restart policy: see spec.agent.retries"));
    }
    if agent.interactive {
        agent.prompt_sum = String::new();
        return match (prompt, &spec.terminal) {
            (None, Some(_)) => Ok(None),
            (Some(_), _) => Err(ApiError::invalid("a chat has no prompt: the user types")),
            (None, None) => Err(ApiError::invalid("a chat needs a terminal: see spec.terminal")),
        };
    }
    let prompt = prompt.unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(ApiError::invalid("the prompt is empty: there is nothing to ask"));
    }
    if prompt.len() > LONGEST {
        let text = format!("the prompt has {} bytes, the limit is {LONGEST}", prompt.len());
        return Err(ApiError::invalid(text).hint("write it to a file, and let the agent read that"));
    }
    if spec.terminal.is_some() {
        return Err(ApiError::invalid("a prompt has no terminal"));
    }
    agent.prompt_sum = checksum(&prompt);
    Ok(Some(prompt.into_bytes()))
}

pub(crate) fn agent_command(spec: &AgentSpec) -> Result<AgentCommand, ApiError> {
    let agent = Agent::of(&spec.settings).map_err(ApiError::invalid)?;
    let conversation = spec.conversation.as_deref();
    if let Some(id) = conversation {
        agent.check_conversation(id).map_err(ApiError::invalid)?;
    }
    let invocation = if spec.interactive {
        agent.interactive(&spec.settings, conversation)
    } else {
        agent.one_shot(&spec.settings, conversation)
    };
    let invocation = invocation.map_err(ApiError::invalid)?;
    Ok(AgentCommand {
        argv: invocation.argv,
        env: invocation.env,
        stop_signal: match agent.stop_policy().signal {
            // On a terminal an interrupt is a key, which ends a turn and not the program.
            StopSignal::Int if !spec.interactive => Some(Signal::INT.as_raw()),
            StopSignal::Int | StopSignal::Term | StopSignal::None => None,
        },
    })
}

/// Returns the conversation to continue; `last` is the last one of the member.
pub(crate) fn conversation(choice: &ConversationChoice, last: Option<&str>) -> Option<String> {
    match choice {
        ConversationChoice::Continue => last.map(ToOwned::to_owned),
        ConversationChoice::Fresh => None,
        ConversationChoice::Resume { id } => Some(id.clone()),
    }
}

/// Returns the checksum that identifies a repeated prompt: FNV-1a, 128 bits. It guards against
/// mistakes, not against an attacker: only the owner of the home could forge it.
pub(crate) fn checksum(prompt: &str) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mixed = |sum: u128, byte: &u8| (sum ^ u128::from(*byte)).wrapping_mul(PRIME);
    format!("{:032x}", prompt.as_bytes().iter().fold(BASIS, mixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SessionSpec {
        let settings = kennel_types::AgentSettings {
            agent: "claude".into(),
            ..kennel_types::AgentSettings::default()
        };
        let agent = AgentSpec { settings, ..AgentSpec::default() };
        SessionSpec { agent: Some(Box::new(agent)), ..SessionSpec::default() }
    }

    #[test]
    fn refuses_what_cant_be_asked_with_the_reason() {
        let error = |spec: &mut SessionSpec, argv: &[OsString], prompt: Option<&str>| {
            check(spec, argv, prompt.map(ToOwned::to_owned)).unwrap_err().problem().detail
        };
        assert!(error(&mut SessionSpec::default(), &[], Some("x")).contains("needs spec.agent"));
        assert!(error(&mut spec(), &[], None).contains("empty"));
        assert!(error(&mut spec(), &[], Some(" \n")).contains("empty"));
        assert!(error(&mut spec(), &["x".into()], Some("x")).contains("argv"));
        let long = "x".repeat(LONGEST + 1);
        let message = error(&mut spec(), &[], Some(&long));
        assert!(message.contains("4194305 bytes") && !message.contains("xx"), "{message}");
        assert_eq!(check(&mut SessionSpec::default(), &[], None).unwrap(), None);
    }

    #[test]
    fn a_chat_has_a_terminal_and_no_prompt() {
        let mut chat = spec();
        chat.agent.as_mut().unwrap().interactive = true;
        let error = |spec: &mut SessionSpec, prompt: Option<&str>| {
            check(spec, &[], prompt.map(ToOwned::to_owned)).map_err(|it| it.problem().detail)
        };
        assert!(error(&mut chat, None).unwrap_err().contains("needs a terminal"));
        chat.terminal = Some(kennel_types::TerminalSize { rows: 24, columns: 80 });
        assert!(error(&mut chat, Some("hello")).unwrap_err().contains("no prompt"));
        assert_eq!(error(&mut chat, None).unwrap(), None);
        let command = agent_command(chat.agent.as_ref().unwrap()).unwrap();
        assert_eq!((command.argv, command.stop_signal), (vec!["claude".to_owned()], None));
        assert_eq!(agent_command(spec().agent.as_ref().unwrap()).unwrap().stop_signal, Some(2));
    }

    #[test]
    fn another_prompt_has_another_checksum_and_clients_cant_set_decisions() {
        let mut one = spec();
        one.agent.as_mut().unwrap().conversation = Some("x".into());
        check(&mut one, &[], Some("one".into())).unwrap();
        let mut two = spec();
        check(&mut two, &[], Some("two".into())).unwrap();
        assert_eq!(one.differences(&two), ["agent"]);
        let mut again = spec();
        check(&mut again, &[], Some("one".into())).unwrap();
        assert_eq!(one, again);
    }
}
