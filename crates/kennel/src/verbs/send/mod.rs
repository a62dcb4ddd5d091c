//! `kennel send`: input for a session.

mod keys;

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use kennel_keeper::journal::{JournalItem, JournalReader, STDERR};
use kennel_types::api::InputRequest;
use kennel_types::{Phase, SessionView};

use super::refuse_terminal;
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon, session_path};
use crate::exit_code;
use crate::foreground::ScreenTracker;
use crate::home::Home;
use crate::quantity::parse_session;
use keys::CursorKeys;

/// The most that goes to the daemon at once.
const PIECE: usize = 4 * 1024;
/// How far back the journal is looked at for the modes of a terminal.
const FAR_BACK: u64 = 1024 * 1024;

/// The flags of `kennel send`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: Enter Tab BTab Space BSpace Escape Up Down Left Right Home End PageUp
PageDown Insert Delete F1 to F12; C-x (Control), M-x (Alt), C-M-x, S-Up.
What is no key is text.

  kennel send fix 'and now run the tests' --enter
  kennel send --keys fix Escape :wq Enter
  git diff | kennel send fix -

Exit codes: 0; 1 if it was refused or there is no such session; 201 if the
command line was not understood; 202 if home or daemon can't be used; 207 if
Kennel itself failed.")]
pub(crate) struct SendArgs {
    /// TEXT is names of keys, as tmux has them, and text
    #[arg(short, long)]
    keys: bool,
    /// Press Enter after it
    #[arg(short, long)]
    enter: bool,
    /// End its standard input after it (on a terminal: Control-D)
    #[arg(long)]
    eof: bool,
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// What to send, as it is; - is our standard input
    #[arg(value_name = "TEXT", required_unless_present_any = ["eof", "enter"])]
    text: Vec<OsString>,
}

/// Sends input.
pub(crate) fn send(home: &Home, args: &SendArgs) -> Result<u8, CommandError> {
    if args.text.len() > 1 && !args.keys {
        let text = "more than one TEXT; put quotes around it, or use --keys";
        return Err(CommandError::because(exit_code::USAGE, text));
    }
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let session = daemon.session(&args.session)?;
    refuse_terminal(&session, "type into it there")?;
    if args.text == ["-"] && !args.keys {
        send_stdin(&daemon, &session)?;
    } else {
        send_bytes(&daemon, &session, &bytes(args, &session)?)?;
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
    Ok(words.map_err(|error| CommandError::because(exit_code::USAGE, error))?.concat())
}

/// Programs may ask for arrow keys in another form: their output tells.
fn cursor_keys(session: &SessionView) -> CursorKeys {
    let tracked = || -> io::Result<ScreenTracker> {
        let mut reader = JournalReader::open(&Path::new(&session.folder).join("journal"))?;
        reader.seek(reader.start()?.max(reader.end()?.saturating_sub(FAR_BACK)))?;
        let mut tracker = ScreenTracker::default();
        loop {
            match reader.next()? {
                JournalItem::Data { stream, data, .. } if stream != STDERR => tracker.look(data),
                JournalItem::Data { .. } | JournalItem::Gap { .. } => {}
                JournalItem::End => return Ok(tracker),
            }
        }
    };
    // The usual form is understood by nearly all.
    match tracked() {
        Ok(tracker) if tracker.modes.application_cursor() => CursorKeys::Application,
        _ => CursorKeys::Usual,
    }
}

fn send_stdin(daemon: &DaemonClient, session: &SessionView) -> Result<(), CommandError> {
    let mut buffer = [0; PIECE];
    loop {
        match io::stdin().read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => post(daemon, session, &buffer[..length], false)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("can't read standard input")?,
        }
    }
}

fn send_bytes(
    daemon: &DaemonClient,
    session: &SessionView,
    bytes: &[u8],
) -> Result<(), CommandError> {
    bytes.chunks(PIECE).try_for_each(|piece| post(daemon, session, piece, false))
}

fn post(
    daemon: &DaemonClient,
    session: &SessionView,
    bytes: &[u8],
    eof: bool,
) -> Result<(), CommandError> {
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let told = daemon.tell(&session_path(&session.id, "/input"), &InputRequest { hex, eof });
    told.map_err(|error| {
        let failure = CommandError::from(error.about(session));
        // Whether it has one is settled by how it was started.
        match session.spec.stdin || session.phase != Phase::Running {
            true => failure,
            false => failure.hint(
                "it was started without an input that can be sent to: `kennel run -i` keeps one open, `-t` gives a terminal",
            ),
        }
    })
}
