//! The requests for sessions.

use anyhow::Result;
use kennel_types::api::{CreateRequest, OsText};
use kennel_types::{
    DEFAULT_LEASE, DEFAULT_LINGER, DEFAULT_OUTPUT_LIMIT, SessionSpec, TerminalSize,
};

/// Returns the body of a request for a session: with the defaults of the command line, an empty
/// environment and no input.
pub(crate) fn session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, None))?)
}

/// Returns the body of a request for a session in a terminal.
pub(crate) fn terminal_session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, Some(TerminalSize { rows: 24, columns: 80 })))?)
}

fn request(argv: &[&str], terminal: Option<TerminalSize>) -> CreateRequest {
    let spec = SessionSpec {
        terminal,
        linger: DEFAULT_LINGER,
        lease: Some(DEFAULT_LEASE),
        output_limit: DEFAULT_OUTPUT_LIMIT,
        asked_by: "kennel-bench".to_owned(),
        ..SessionSpec::default()
    };
    CreateRequest {
        spec,
        argv: argv.iter().map(|&word| OsText::Plain(word.to_owned())).collect(),
        cwd: OsText::Plain("/".to_owned()),
        umask: 0o022,
        ..CreateRequest::default()
    }
}
