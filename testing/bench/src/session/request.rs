//! What the daemon is asked for.

use std::time::Duration;

use anyhow::Result;
use kennel_core::api::{CreateRequest, StdinFrom, Text};
use kennel_core::{PenKind, SessionSpec, Terminal};

/// A request for a session, as the body of a POST: with the defaults of the command line, an empty
/// environment and no input.
pub(crate) fn session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, None))?)
}

/// The same in a terminal.
pub(crate) fn terminal_session(argv: &[&str]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(&request(argv, Some(Terminal { rows: 24, columns: 80 })))?)
}

fn request(argv: &[&str], terminal: Option<Terminal>) -> CreateRequest {
    let spec = SessionSpec {
        name: None,
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        cwd: "/".to_owned(),
        terminal,
        stdin: terminal.is_some(),
        pen: PenKind::Auto,
        grace: Duration::from_secs(10),
        linger: Duration::from_secs(2),
        lease: Some(Duration::from_secs(15 * 60)),
        tethered: false,
        parent: None,
        outlives_parent: false,
        output_limit: 64 << 20,
        asked_by: "kennel-bench".to_owned(),
        ..SessionSpec::default()
    };
    CreateRequest {
        spec,
        argv: argv.iter().map(|&word| Text::Plain(word.to_owned())).collect(),
        env: Vec::new(),
        cwd: Text::Plain("/".to_owned()),
        umask: 0o022,
        limits: Vec::new(),
        stdin: StdinFrom::Null,
        terminal_settings: None,
        stderr_apart: false,
        queue: false,
        prompt: None,
    }
}
