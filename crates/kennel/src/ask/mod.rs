//! `kennel ask`: sends a prompt to an agent and prints its answer.
//!
//! ```text
//! kennel ask ──HTTP── daemon: a session, judged when it has ended, retried if that may help
//!     │                  │
//!     ├── waits, tied ───┘            if this process is killed, the daemon ends the session
//!     └── reads the journal and shows the agent's activity
//! ```

mod args;
mod follow;
mod outcome;
mod progress;
mod request;

use crate::command_prelude::*;

pub(crate) use args::{AgentArgs, AgentSessionArgs, AnswerArgs, AskArgs, ConversationArgs};
pub(crate) use outcome::{answer_of, used};

use outcome::AnswerFormat;
use progress::{Progress, ProgressFormat};

pub(crate) fn ask(home: &HomeDir, args: &AskArgs) -> Result<u8, CommandError> {
    let request = request::request(home, args)?;
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on, signals are queued until they are read.
    let signals = Signals::listen()?;
    let session = request::send(&daemon, &request)?;
    if args.detach {
        print(&format!("{}\n", session.session))?;
        return Ok(0);
    }
    let progress = Progress::new(if args.stream {
        ProgressFormat::Json
    } else if !args.json && !args.quiet && isatty(rustix::stdio::stderr()) {
        ProgressFormat::Terminal
    } else {
        ProgressFormat::Hidden
    });
    // With a key, an earlier client may have created the session, and then controls its end.
    let ours = session.spec.asked_by == request.spec.asked_by;
    let (session, signal) = follow::follow(&daemon, session, ours, &signals, progress)?;
    outcome::print_outcome(&session, args.format(), signal)
}

/// `kennel answer`: waits for the answer to a detached prompt, and prints it.
pub(crate) fn answer(daemon: &DaemonClient, args: &AnswerArgs) -> Result<u8, CommandError> {
    let session = daemon.session(&args.session)?;
    if !session.spec.is_prompt() {
        let text = format!("session {} is not a prompt", session.id);
        return Err(CommandError::refused(text)
            .hint(format!("`kennel logs {}` shows its output", session.id)));
    }
    if args.no_wait && session.judged.is_none() {
        return Err(CommandError::refused(format!("session {} has not ended yet", session.id)));
    }
    let session = daemon.wait(&session.session)?;
    let format = if args.json { AnswerFormat::Json } else { AnswerFormat::Text };
    outcome::print_outcome(&session, format, None)
}
