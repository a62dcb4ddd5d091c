//! `kennel send`: sends input to a session.

mod keys;

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader, STDERR};
use kennel_types::Phase;
use kennel_types::api::InputRequest;

use super::refuse_adopted;
use crate::command_prelude::*;
use crate::foreground::ScreenTracker;
use keys::CursorKeys;

const CHUNK: usize = 4 * 1024;
/// How much of the journal is searched for terminal modes.
const LOOKBACK: u64 = 1024 * 1024;

const KEYS: &str = "\
Keys: Enter Tab BTab Space BSpace Escape Up Down Left Right Home End PageUp
PageDown Insert Delete F1 to F12; C-x (Control), M-x (Alt), C-M-x, S-Up.
Other words are sent as text.

  kennel send fix 'and now run the tests' --enter
  kennel send --keys fix Escape :wq Enter
  git diff | kennel send fix -";

#[derive(Debug, Args)]
#[command(after_help = format!("{KEYS}\n\n{}", exit_code::SHORT_HELP))]
pub(crate) struct SendArgs {
    /// Interpret TEXT as key names, like tmux
    #[arg(short, long)]
    keys: bool,
    /// Press Enter after the text
    #[arg(short, long)]
    enter: bool,
    /// Close standard input after the text (on a terminal: send Ctrl-D)
    #[arg(long)]
    eof: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// Text to send; - reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present_any = ["eof", "enter"])]
    text: Vec<OsString>,
}

pub(crate) fn send(home: &HomeDir, args: &SendArgs) -> Result<u8, CommandError> {
    if args.text.len() > 1 && !args.keys {
        let text = "only one TEXT is allowed: put it in quotes, or use --keys";
        return Err(CommandError::usage(text));
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let session = daemon.session(&args.session)?;
    refuse_adopted(&session, "type into its own terminal")?;
    if args.text == ["-"] && !args.keys {
        send_stdin(&daemon, &session)?;
    } else {
        for piece in bytes(args, &session)?.chunks(CHUNK) {
            post(&daemon, &session, piece, false)?;
        }
    }
    let enter: &[u8] = if session.spec.terminal.is_some() { b"\r" } else { b"\n" };
    let last = if args.enter { enter } else { b"" };
    if args.eof || !last.is_empty() {
        post(&daemon, &session, last, args.eof)?;
    }
    Ok(0)
}

fn bytes(args: &SendArgs, session: &SessionView) -> Result<Vec<u8>, CommandError> {
    if !args.keys {
        return Ok(args.text.iter().flat_map(|text| text.as_bytes()).copied().collect());
    }
    let cursor = cursor_keys(session);
    let words = args.text.iter().map(|word| match word.to_str() {
        Some(text) => keys::bytes(text, cursor),
        None => Ok(word.as_bytes().to_vec()),
    });
    let words = words.collect::<Result<Vec<_>, _>>();
    Ok(words.map_err(CommandError::usage)?.concat())
}

/// Finds out from the output whether the program has requested another encoding of cursor keys.
fn cursor_keys(session: &SessionView) -> CursorKeys {
    let tracked = || -> io::Result<ScreenTracker> {
        let mut reader = JournalReader::open(&Path::new(&session.folder).join("journal"))?;
        reader.seek(reader.start()?.max(reader.end()?.saturating_sub(LOOKBACK)))?;
        let mut tracker = ScreenTracker::default();
        loop {
            match reader.next()? {
                JournalItem::Data { stream, data, .. } if stream != STDERR => tracker.look(data),
                JournalItem::Data { .. } | JournalItem::Gap { .. } => {}
                JournalItem::End => return Ok(tracker),
            }
        }
    };
    // Most programs understand the normal encoding.
    match tracked() {
        Ok(tracker) if tracker.modes.application_cursor() => CursorKeys::Application,
        _ => CursorKeys::Normal,
    }
}

fn send_stdin(daemon: &DaemonClient, session: &SessionView) -> Result<(), CommandError> {
    let mut buffer = [0; CHUNK];
    loop {
        match io::stdin().read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => post(daemon, session, &buffer[..length], false)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("can't read standard input")?,
        }
    }
}

fn post(
    daemon: &DaemonClient,
    session: &SessionView,
    bytes: &[u8],
    eof: bool,
) -> Result<(), CommandError> {
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let sent = daemon.execute(&session_path(&session.id, "/input"), &InputRequest { hex, eof });
    sent.map_err(|error| {
        let failure = CommandError::from(error.about(session));
        // The options of its start decide whether it takes input.
        match session.spec.stdin || session.phase != Phase::Running {
            true => failure,
            false => failure.hint(
                "to keep standard input open, start the session with `kennel run -i`, or with -t for a terminal",
            ),
        }
    })
}
