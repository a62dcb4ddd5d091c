//! `kennel answer`: the answer to a detached prompt.

use super::outcome::{self, AnswerFormat, EXIT_CODES};
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AnswerArgs {
    /// Print the result as a JSON object
    #[arg(long)]
    json: bool,
    /// Fail instead of waiting if the prompt is still running
    #[arg(long)]
    no_wait: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

pub(crate) fn answer(daemon: &DaemonClient, args: &AnswerArgs) -> Result<u8, CommandError> {
    let session = daemon.session(&args.session)?;
    if !session.spec.is_prompt() {
        let text = format!("session {} is not a prompt", session.id);
        return Err(CommandError::refused(text)
            .hint(format!("`kennel logs {}` shows its output", session.id)));
    }
    let session = match args.no_wait && session.judged.is_none() {
        true => {
            let text = format!("session {} has not ended yet", session.id);
            return Err(CommandError::refused(text));
        }
        false => daemon.wait(&session.session)?,
    };
    let form = if args.json { AnswerFormat::Json } else { AnswerFormat::Text };
    outcome::print_outcome(&session, form, None)
}
