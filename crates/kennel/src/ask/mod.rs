//! `kennel ask`: a prompt to an agent, and its answer.
//!
//! ```text
//! kennel ask ──HTTP── daemon: a session, judged when it has ended, tried again if that helps
//!     │                  │
//!     ├── waits, tied ───┘            if we are killed, the daemon ends it
//!     └── reads the journal, and shows what the agent does
//! ```

mod agent_args;
mod answer;
mod args;
mod follow;
mod outcome;
mod progress;
mod request;

use rustix::termios::isatty;

use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::foreground::Signals;
use crate::home::Home;
use crate::print::print;

pub(crate) use agent_args::AgentArgs;
pub(crate) use answer::{AnswerArgs, answer};
pub(crate) use args::AskArgs;
pub(crate) use outcome::{answer_of, dollars, tokens};

use follow::PromptOutcome;
use progress::Progress;

/// Asks; gives the exit code.
pub(crate) fn ask(home: &Home, args: &AskArgs) -> Result<u8, CommandError> {
    let request = request::request(home, args)?;
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on a signal waits to be read, so that none falls into a gap.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let session = request::send(&daemon, &request)?;
    if args.detach {
        print(&format!("{}\n", session.session))?;
        return Ok(0);
    }
    let show = if args.stream {
        Progress::lines()
    } else if !args.json && !args.quiet && isatty(rustix::stdio::stderr()) {
        Progress::people()
    } else {
        Progress::nothing()
    };
    // Whoever asked for the same before us is the one that it ends with.
    let ours = session.spec.asked_by == request.spec.asked_by;
    let PromptOutcome { session, signal } = follow::follow(&daemon, session, ours, &signals, show)?;
    outcome::tell(&session, args.form(), signal)
}
