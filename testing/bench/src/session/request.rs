//! The requests for sessions.

use anyhow::Result;
use kennel_types::api::{CreateRequest, Text};
use kennel_types::{SessionSpec, Terminal, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT};

/// Returns the body of a request for a session: with the defaults of the command line, an empty
/// environment and no input.
pub(crate) fn session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, None))?)
}

/// Returns the body of a request for a session in a terminal.
pub(crate) fn terminal_session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, Some(Terminal { rows: 24, columns: 80 })))?)
}

fn request(argv: &[&str], terminal: Option<Terminal>) -> CreateRequest {
    let spec = SessionSpec {
        terminal,
        linger: USUAL_LINGER,
        lease: Some(USUAL_LEASE),
        output_limit: USUAL_OUTPUT,
        asked_by: "kennel-bench".to_owned(),
        ..SessionSpec::default()
    };
    CreateRequest {
        spec,
        argv: argv.iter().map(|&word| Text::Plain(word.to_owned())).collect(),
        cwd: Text::Plain("/".to_owned()),
        umask: 0o022,
        ..CreateRequest::default()
    }
}
