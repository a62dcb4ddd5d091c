//! `report`: everything that a process inherits, as one JSON object, so that a test can compare it
//! with what the supervisor was asked to pass on.
//!
//! Three things come from std and not from the supervisor, because they happen before `main`: PIPE
//! is ignored (bit 0x1000 of `sig_ignored`, always), SEGV and BUS are handled (0x440 of
//! `sig_caught`, unless they were ignored), and those of the descriptors 0 to 2 that were closed
//! are `/dev/null`.

use std::fs;
use std::io::IsTerminal as _;

use crate::args::Args;
use crate::cgroup;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::json::Json;
use crate::output;

/// The names of `/proc/self/limits` and those of `setrlimit`.
const LIMITS: &[(&str, &str)] = &[
    ("Max cpu time", "RLIMIT_CPU"),
    ("Max file size", "RLIMIT_FSIZE"),
    ("Max data size", "RLIMIT_DATA"),
    ("Max stack size", "RLIMIT_STACK"),
    ("Max core file size", "RLIMIT_CORE"),
    ("Max resident set", "RLIMIT_RSS"),
    ("Max processes", "RLIMIT_NPROC"),
    ("Max open files", "RLIMIT_NOFILE"),
    ("Max locked memory", "RLIMIT_MEMLOCK"),
    ("Max address space", "RLIMIT_AS"),
    ("Max file locks", "RLIMIT_LOCKS"),
    ("Max pending signals", "RLIMIT_SIGPENDING"),
    ("Max msgqueue size", "RLIMIT_MSGQUEUE"),
    ("Max nice priority", "RLIMIT_NICE"),
    ("Max realtime priority", "RLIMIT_RTPRIO"),
    ("Max realtime timeout", "RLIMIT_RTTIME"),
];

/// `report`. Accepts further arguments, which appear in `argv`.
///
/// Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn report(mut args: Args) -> Outcome {
    args.remaining();
    args.finish()?;
    let status = read("/proc/self/status")?;
    let stat = read("/proc/self/stat")?;
    let ids = Ids::of(&stat)?;
    let object = Json::Object(vec![
        field("argv", argv()),
        field("cwd", cwd()?),
        field("umask", status_text(&status, "Umask")?),
        field("env", environment()),
        field("fds", descriptors()?),
        field("sid", Json::Number(ids.session)),
        field("pgid", Json::Number(ids.group)),
        field("pid", Json::Number(i64::from(std::process::id()))),
        field("ppid", Json::Number(ids.parent)),
        field("tty", Json::Bool(ids.terminal != 0)),
        field("isatty", terminals()),
        field("sigmask_blocked", status_text(&status, "SigBlk")?),
        field("sig_ignored", status_text(&status, "SigIgn")?),
        field("sig_caught", status_text(&status, "SigCgt")?),
        field("limits", limits(&read("/proc/self/limits")?)),
        field("oom_score_adj", oom_score_adj()?),
        field("cgroup", Json::text(cgroup::own_path()?)),
    ]);
    output::print(format!("{object}\n").as_bytes())?;
    Ok(0)
}

fn field(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

fn argv() -> Json {
    let words = std::env::args_os();
    Json::List(words.map(|word| Json::text(word.to_string_lossy())).collect())
}

fn cwd() -> Result<Json, Failure> {
    let cwd = std::env::current_dir().or_fail(failure::SYSTEM, "reading the working folder")?;
    Ok(Json::text(cwd.to_string_lossy()))
}

fn environment() -> Json {
    let variables = std::env::vars_os();
    Json::Object(
        variables
            .map(|(name, value)| {
                let value = Json::text(value.to_string_lossy());
                (name.to_string_lossy().into_owned(), value)
            })
            .collect(),
    )
}

/// The open descriptors and what they are.
///
/// The folder is closed before the links are read, so the descriptor it was read by has gone.
fn descriptors() -> Result<Json, Failure> {
    const FOLDER: &str = "/proc/self/fd";
    let entries = fs::read_dir(FOLDER).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut numbers: Vec<u32> = entries
        .or_fail(failure::SYSTEM, FOLDER)?
        .iter()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let links = numbers.into_iter().filter_map(|number| {
        let target = fs::read_link(format!("{FOLDER}/{number}")).ok()?;
        Some((number.to_string(), Json::text(target.to_string_lossy())))
    });
    Ok(Json::Object(links.collect()))
}

/// Which of the standard descriptors are terminals.
fn terminals() -> Json {
    Json::List(vec![
        Json::Bool(std::io::stdin().is_terminal()),
        Json::Bool(std::io::stdout().is_terminal()),
        Json::Bool(std::io::stderr().is_terminal()),
    ])
}

/// A field of `/proc/self/status`.
fn status_text(status: &str, name: &str) -> Result<Json, Failure> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(|value| Json::text(value.trim())).ok_or_else(|| missing(name, "/proc/self/status"))
}

/// The ids of the process from `/proc/self/stat`. Read there and not with
/// calls, since it can be 0 for what lies outside of the pid namespace.
#[derive(Debug, PartialEq, Eq)]
struct Ids {
    parent: i64,
    group: i64,
    session: i64,
    terminal: i64,
}

impl Ids {
    /// The fields 4 to 7; they are counted from the name on, which may hold spaces and parentheses.
    fn of(stat: &str) -> Result<Self, Failure> {
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        let mut numbers =
            after_name.unwrap_or_default().split(' ').skip(1).map_while(|word| word.parse().ok());
        let mut next = |name| numbers.next().ok_or_else(|| missing(name, "/proc/self/stat"));
        Ok(Self {
            parent: next("ppid")?,
            group: next("pgrp")?,
            session: next("session")?,
            terminal: next("tty_nr")?,
        })
    }
}

/// The limits, each as its soft and hard value.
fn limits(text: &str) -> Json {
    let known = LIMITS.iter().filter_map(|(label, name)| {
        let values = text.lines().find_map(|line| line.strip_prefix(label))?;
        let mut values = values.split_whitespace();
        let pair = vec![Json::text(values.next()?), Json::text(values.next()?)];
        Some(((*name).to_owned(), Json::List(pair)))
    });
    Json::Object(known.collect())
}

fn oom_score_adj() -> Result<Json, Failure> {
    const FILE: &str = "/proc/self/oom_score_adj";
    let number = read(FILE)?.trim().parse();
    Ok(Json::Number(number.map_err(|_| missing("a number", FILE))?))
}

fn read(path: &str) -> Result<String, Failure> {
    fs::read_to_string(path).or_fail(failure::SYSTEM, format_args!("reading {path}"))
}

fn missing(what: &str, file: &str) -> Failure {
    Failure { code: failure::SYSTEM, message: format!("{file} lacks {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_past_an_odd_name() {
        let ids = Ids::of("7 (a) b) R) R 3 4 5 34816 -1 0").expect("four numbers");
        let expected = Ids { parent: 3, group: 4, session: 5, terminal: 34816 };
        assert_eq!(ids, expected);
    }

    #[test]
    fn reads_limits() {
        let text = "Limit     Soft Limit  Hard Limit  Units\n\
                    Max cpu time  unlimited  7  seconds\n\
                    Max nice priority  0  0  \n";
        let expected = r#"{"RLIMIT_CPU":["unlimited","7"],"RLIMIT_NICE":["0","0"]}"#;
        assert_eq!(limits(text).to_string(), expected);
    }
}
