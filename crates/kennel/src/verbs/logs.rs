//! `kennel logs`: shows the output of a session.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use kennel_keeper::journal::{JournalItem, JournalReader, STDERR, STDOUT};
use kennel_keeper::protocol::{KeeperReport, PeerRole};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_types::Phase;
use kennel_types::api::OsText;
use serde::Serialize;

use super::refuse_adopted;
use crate::command_prelude::*;
use crate::foreground::{self, QueryFilter, ScreenTracker, missing};
use crate::print::print_error;
use crate::timestamp::{self, parse_since};

/// How often to check for a keeper that has not started yet.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct LogsArgs {
    /// Keep showing new output until the session ends
    #[arg(short, long)]
    follow: bool,
    /// Show only output since this time (10m for 10 minutes ago,
    /// 2026-01-31T12:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = parse_since, allow_hyphen_values = true)]
    since: Option<u64>,
    /// Number of lines to show from the end
    #[arg(short = 'n', long, value_name = "N|all", value_parser = parse_tail, allow_hyphen_values = true)]
    tail: Option<Tail>,
    /// Show only this stream
    #[arg(long, value_enum)]
    stream: Option<StreamChoice>,
    /// Show the time of each line
    #[arg(short, long)]
    timestamps: bool,
    /// Print JSON, one object per line
    #[arg(long, conflicts_with = "timestamps")]
    json: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    All,
    Lines(usize),
}

fn parse_tail(text: &str) -> Result<Tail, String> {
    match text {
        "all" => Ok(Tail::All),
        text => text.parse().map(Tail::Lines).map_err(|_| {
            format!("invalid number of lines {text:?}: expected for example 20, or all")
        }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StreamChoice {
    /// Standard output, or the terminal
    #[value(alias = "stdout")]
    Out,
    /// Standard error
    #[value(alias = "stderr")]
    Err,
}

impl StreamChoice {
    fn shows(self, stream: u8) -> bool {
        (self == Self::Err) == (stream == STDERR)
    }
}

pub(crate) fn logs(daemon: &DaemonClient, args: &LogsArgs) -> Result<u8, CommandError> {
    let session = daemon.session(&args.session)?;
    refuse_adopted(&session, "its output is only in its own terminal")?;
    let folder = Path::new(&session.folder);
    // Connected before the first read, so that no output is missed.
    let keeper = if args.follow { find_keeper(daemon, &session)? } else { None };
    let mut reader =
        JournalReader::open(&folder.join("journal")).context("can't read the output")?;
    seek_start(&mut reader, args).context("can't read the output")?;
    let mut printer = LogPrinter::new(args, session.spec.terminal.is_some());
    // After a signal, the terminal must be reset.
    let signals = printer.mute.is_some().then(Signals::listen).transpose();
    let signals = signals?;
    printer.drain(&mut reader)?;
    let signal = match &keeper {
        Some(keeper) => follow(keeper, &mut reader, &mut printer, signals.as_ref())?,
        None => None,
    };
    // The output may have set modes in our terminal.
    print(&printer.tracker.modes.leave())?;
    Ok(signal.map_or(0, exit_code::of_signal))
}

/// Waits for the keeper; none if it has exited.
fn find_keeper(
    daemon: &DaemonClient,
    session: &SessionView,
) -> Result<Option<KeeperClient>, CommandError> {
    let folder = Path::new(&session.folder);
    let mut phase = session.phase;
    loop {
        let keeper = foreground::connect_keeper(folder, PeerRole::Client)?;
        if keeper.is_some() || !matches!(phase, Phase::Reserved | Phase::Launching) {
            return Ok(keeper);
        }
        poll(&mut [], Some(Instant::now() + CHECK_INTERVAL))?;
        phase = daemon.session(&session.id)?.phase;
    }
}

/// Prints new output until the keeper exits or a signal arrives. Returns the signal.
fn follow(
    keeper: &KeeperClient,
    reader: &mut JournalReader,
    printer: &mut LogPrinter,
    signals: Option<&Signals>,
) -> Result<Option<i32>, CommandError> {
    loop {
        if let Some(signals) = signals
            && let Some(signal) = signals.next_end()?
        {
            return Ok(Some(signal));
        }
        match keeper.receive() {
            Ok(Some((KeeperReport::Grown(_), _))) => printer.drain(reader)?,
            Ok(Some((KeeperReport::Gone(_), _))) | Err(KeeperClientError::Closed) => {
                return printer.drain(reader).map(|()| None);
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let mut fds = vec![PollFd::new(keeper, PollFlags::IN)];
                fds.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
                poll(&mut fds, None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Seeks to the later of the positions that --since and --tail select.
fn seek_start(reader: &mut JournalReader, args: &LogsArgs) -> io::Result<()> {
    let mut from = None;
    if let Some(since) = args.since {
        reader.seek_since(since)?;
        from = Some(reader.position());
    }
    if let Some(Tail::Lines(lines)) = args.tail {
        match args.stream {
            Some(wanted) => reader.seek_tail_of(lines, |stream| wanted.shows(stream))?,
            None => reader.seek_tail(lines)?,
        }
        if from.is_some_and(|from| from > reader.position()) {
            from.map_or(Ok(()), |from| reader.seek(from))?;
        }
    }
    Ok(())
}

#[derive(Debug, Serialize)]
struct LogChunk {
    offset: u64,
    time: String,
    stream: &'static str,
    data: OsText,
}

#[derive(Debug, Serialize)]
struct LogGap {
    offset: u64,
    lost: Option<u64>,
    why: String,
}

struct LogPrinter {
    stream: Option<StreamChoice>,
    timestamps: bool,
    json: bool,
    /// Set if the output comes from a terminal and goes to one.
    mute: Option<QueryFilter>,
    tracker: ScreenTracker,
    /// Whether the next byte starts a line, for standard output and standard error.
    at_line_start: [bool; 2],
}

impl LogPrinter {
    fn new(args: &LogsArgs, terminal: bool) -> Self {
        let shown = terminal && isatty(rustix::stdio::stdout());
        Self {
            stream: args.stream,
            timestamps: args.timestamps,
            json: args.json,
            mute: shown.then(QueryFilter::default),
            tracker: ScreenTracker::default(),
            at_line_start: [true; 2],
        }
    }

    fn drain(&mut self, reader: &mut JournalReader) -> Result<(), CommandError> {
        loop {
            match reader.next().context("can't read the output")? {
                JournalItem::Data { offset, time_ms, stream, data } => {
                    if self.stream.is_none_or(|wanted| wanted.shows(stream)) {
                        self.data(offset, time_ms, stream, data)?;
                    }
                }
                JournalItem::Gap { offset, lost, why } => {
                    let text = missing(lost, why);
                    if self.json {
                        print::json_line(&LogGap { offset, lost, why: text })?;
                    } else {
                        print_message(&text);
                    }
                }
                JournalItem::End => return Ok(()),
            }
        }
    }

    fn data(
        &mut self,
        offset: u64,
        time_ms: u64,
        stream: u8,
        data: &[u8],
    ) -> Result<(), CommandError> {
        if self.json {
            let name = match stream {
                STDOUT => "stdout",
                STDERR => "stderr",
                _ => "terminal",
            };
            let (time, data) = (timestamp::format(time_ms), OsStr::from_bytes(data).into());
            return print::json_line(&LogChunk { offset, time, stream: name, data });
        }
        let muted = self.mute.as_mut().filter(|_| stream != STDERR).map(|mute| mute.filter(data));
        let data = muted.as_deref().unwrap_or(data);
        if self.mute.is_some() && stream != STDERR {
            self.tracker.look(data);
        }
        let stamped = self.timestamps.then(|| self.stamp(time_ms, stream, data));
        let data = stamped.as_deref().unwrap_or(data);
        if stream == STDERR {
            let mut stderr = io::stderr().lock();
            return stderr.write_all(data).map_err(print_error);
        }
        print::bytes(data)
    }

    /// Inserts the time before each line.
    fn stamp(&mut self, time_ms: u64, stream: u8, data: &[u8]) -> Vec<u8> {
        let time = format!("{} ", timestamp::format(time_ms));
        let start = &mut self.at_line_start[usize::from(stream == STDERR)];
        let mut stamped = Vec::with_capacity(data.len() + time.len());
        for byte in data {
            if std::mem::replace(start, *byte == b'\n') {
                stamped.extend(time.as_bytes());
            }
            stamped.push(*byte);
        }
        stamped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kennel_keeper::journal::{JournalWriter, TERMINAL};

    fn journal(folder: &Path) -> JournalReader {
        let mut writer = JournalWriter::create(folder, 1 << 20).unwrap();
        let pieces: [(u8, &[u8]); 5] = [
            (STDOUT, b"one\ntw"),
            (STDERR, b"bad\n"),
            (STDOUT, b"o\nthree\n"),
            (STDERR, b"worse\nwor"),
            (STDERR, b"st"),
        ];
        for (at, (stream, data)) in pieces.into_iter().enumerate() {
            let _kept = writer.append(stream, 1000 * at as u64, data);
        }
        JournalReader::open(folder).unwrap()
    }

    fn rest(reader: &mut JournalReader, stream: StreamChoice) -> String {
        let mut text = String::new();
        loop {
            match reader.next().unwrap() {
                JournalItem::Data { stream: from, data, .. } if stream.shows(from) => {
                    text += std::str::from_utf8(data).unwrap();
                }
                JournalItem::Data { .. } | JournalItem::Gap { .. } => {}
                JournalItem::End => return text,
            }
        }
    }

    #[test]
    fn finds_the_last_lines_of_one_stream() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = journal(folder.path());
        for (lines, stream, expected) in [
            (1, StreamChoice::Out, "three\n"),
            (2, StreamChoice::Out, "two\nthree\n"),
            (9, StreamChoice::Out, "one\ntwo\nthree\n"),
            (1, StreamChoice::Err, "worst"),
            (2, StreamChoice::Err, "worse\nworst"),
            (0, StreamChoice::Err, ""),
        ] {
            reader.seek_tail_of(lines, |from| stream.shows(from)).unwrap();
            assert_eq!(rest(&mut reader, stream), expected, "{lines} of {stream:?}");
        }
    }

    #[test]
    fn stamps_each_line_of_each_stream_with_its_start_time() {
        let mut printer = LogPrinter {
            stream: None,
            timestamps: true,
            json: false,
            mute: None,
            tracker: ScreenTracker::default(),
            at_line_start: [true; 2],
        };
        let mut stamp = |ms, stream, data: &str| {
            String::from_utf8(printer.stamp(ms, stream, data.as_bytes())).unwrap()
        };
        assert_eq!(
            stamp(0, STDOUT, "a\nb"),
            "1970-01-01T00:00:00.000Z a\n1970-01-01T00:00:00.000Z b"
        );
        assert_eq!(stamp(1, STDERR, "e\n"), "1970-01-01T00:00:00.001Z e\n");
        assert_eq!(stamp(2, STDOUT, "c\n"), "c\n");
        assert_eq!(stamp(3, TERMINAL, "d"), "1970-01-01T00:00:00.003Z d");
    }
}
