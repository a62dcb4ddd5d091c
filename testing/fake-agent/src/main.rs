//! A program that misbehaves on demand: `fake-agent BEHAVIOUR [ARGS...]`.
//!
//! The tests of a supervisor need trees of processes that do what real agents and their tools have
//! been seen to do: daemonize, clear their environment, ignore TERM, stop, leave their cgroup, fork
//! without end. Each of these is a behaviour with a name here, so that a test selects it in one
//! word and doesn't depend on the shell or the tools of the machine.
//!
//! # The contract with tests
//!
//! * Every process of a behaviour that lives on appends `PID ROLE\n` to the file named by
//!   `FAKE_AGENT_PIDS`, so that a test can check which processes are alive.
//! * When all of them have done so the agent prints `ready\n`, so that a test need not guess. The
//!   behaviours whose output is their point (`flood`, `echo`, `cat-tty-line`, `post`, `report`,
//!   `winsize`, `uid`) and those that end at once (`exit`, `signal`, `die`) do not.
//! * Nothing lives longer than five minutes, whatever the test forgets to end.
//! * A failure prints one line to stderr and exits with one of the codes of [`failure`].

mod args;
mod bomb;
mod cgroup;
mod claude;
mod failure;
mod identity;
mod json;
mod listen;
mod lock;
mod output;
mod post;
mod presence;
mod report;
mod signals;
mod simple;
mod spawn;
mod terminal;
mod thread;
mod tree;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use args::Args;
use bomb::Sessions;
use failure::{Failure, Outcome};
use presence::Then;
use spawn::Session;

/// One thing that this program can do.
struct Behaviour {
    /// The first argument that selects it.
    name: &'static str,
    /// The form of its further arguments, for the usage.
    args: &'static str,
    /// What it does, in one line.
    does: &'static str,
    run: fn(Args) -> Outcome,
}

/// A row of the table: the columns in the order in which the usage shows them.
const fn row(
    name: &'static str,
    args: &'static str,
    does: &'static str,
    run: fn(Args) -> Outcome,
) -> Behaviour {
    Behaviour { name, args, does, run }
}

/// Every behaviour, grouped like the files that contain them.
const BEHAVIOURS: &[Behaviour] = &[
    // One process
    row("sleep", "[SECS]", "ready, then sleeps", simple::sleep),
    row("exit", "CODE", "exits at once with CODE", simple::exit),
    row("slow", "SECS", "silent for SECS, then ready, exits 0", simple::slow),
    row("die", "", "exits 1 at once, before any output", simple::die),
    row("signal", "N", "ends itself by signal N", signals::end_by_signal),
    // Trees
    row("double-fork", "", "a double-forked daemon; the agent stays", |a| {
        tree::double_fork(a, Then::Rest)
    }),
    row("double-fork-exit", "", "a double-forked daemon; the agent exits 0", |a| {
        tree::double_fork(a, Then::Exit(0))
    }),
    row("setsid", "[N]", "N children in sessions of their own", |a| tree::setsid(a, Then::Rest)),
    row("setsid-exit", "[N]", "the same; the agent exits 0", |a| tree::setsid(a, Then::Exit(0))),
    row("env-i", "", "a daemon with an empty environment", |a| {
        tree::empty_environment(a, Then::Rest)
    }),
    row("env-i-exit", "", "the same; the agent exits 0", |a| {
        tree::empty_environment(a, Then::Exit(0))
    }),
    row("children", "N", "N plain children", tree::children),
    row("chain", "N", "N descendants, each the child of the former", |a| {
        tree::chain(a, Session::Same)
    }),
    row("chain-setsid", "N", "the same, each in a session of its own", |a| {
        tree::chain(a, Session::Own)
    }),
    row(
        "with-daemon",
        "BEHAVIOUR [ARGS..]",
        "a daemon with an empty environment, then that",
        tree::with_daemon,
    ),
    row("zombie", "", "a dead child that it never reaps", tree::zombie),
    row("hold-stdout", "", "a child keeps stdout open; the agent exits 0", tree::hold_stdout),
    row("daemonize-storm", "N", "N daemons in quick succession; exits 0", tree::storm),
    row("fork-exec-other", "PATH [ARGS..]", "runs PATH in a session of its own", |a| {
        tree::run_other(a, Then::Rest)
    }),
    row("fork-exec-other-exit", "PATH [ARGS..]", "the same; the agent exits 0", |a| {
        tree::run_other(a, Then::Exit(0))
    }),
    // Signals
    row(
        "ignore-term",
        "[CHILDREN]",
        "it and its setsid children survive TERM, INT, HUP",
        signals::ignore_term,
    ),
    row(
        "ignore-term-exit",
        "",
        "a child that survives TERM; the agent exits 3",
        signals::ignore_term_exit,
    ),
    row("kill-parent", "", "ready, kills its parent, sleeps", signals::kill_parent),
    row("stop-self", "", "it and a setsid child stop themselves", signals::stop_self),
    // Cgroups
    row("move-cgroup", "PATH", "moves itself into the cgroup at PATH", cgroup::move_self),
    row(
        "move-cgroup-child",
        "PATH",
        "a child with an empty environment moves there",
        cgroup::move_child,
    ),
    row("nest-cgroup", "NAME", "makes NAME/inner below its cgroup, a child in each", cgroup::nest),
    // Forking without end
    row("bomb", "MAX SECS", "up to MAX processes that replace each other, own sessions", |a| {
        bomb::bomb(a, Sessions::Own)
    }),
    row("bomb-plain", "MAX SECS", "the same in one session", |a| bomb::bomb(a, Sessions::Shared)),
    row("hop", "SECS", "each generation forks the next and exits at once", bomb::hop),
    // Threads
    row("thread-leader-exit", "", "the first thread ends, another continues", thread::leader_exit),
    // Output and input
    row("flood", "BYTES [LINE]", "writes BYTES of numbered lines", output::flood),
    row("lines", "COUNT PAUSE_MS CODE", "ready, COUNT numbered lines, exits CODE", output::lines),
    row("marker", "TEXT", "prints TEXT in two writes, then sleeps", output::marker),
    row("echo", "", "copies stdin to stdout", output::echo),
    row("cat-tty-line", "", "reads a line, prints got:LINE", terminal::cat_line),
    row(
        "winsize",
        "[COUNT]",
        "prints ROWSxCOLS of stdin, again at COUNT changes",
        terminal::winsize,
    ),
    // Services
    row("listen-socket", "PATH GO", "listens at the socket PATH once GO is there", listen::socket),
    row("listen-tcp", "PORT GO", "listens at PORT once GO is there", listen::tcp),
    row("serve-http", "PORT GO", "/health is 503, and 204 once GO is there", listen::http),
    row("post", "SOCKET PATH BODY", "sends BODY to PATH at SOCKET, prints the answer", post::post),
    // State
    row("report", "", "prints what it was started with as JSON", report::report),
    row("lock", "PATH LOG [SECS]", "holds PATH alone, or logs COLLISION and exits 70", lock::lock),
    row(
        "work",
        "PATH LOG [CODE]",
        "the same, with a daemon below it and numbered lines",
        lock::work,
    ),
    row(
        "alone",
        "PATH LOG BEHAVIOUR [ARGS..]",
        "logs start and end, the whole tree holds PATH alone",
        lock::alone,
    ),
    row("uid", "", "prints its real and effective uid", identity::uid),
    row(
        "setuid-sleep",
        "",
        "becomes its effective user permanently, sleeps",
        identity::setuid_sleep,
    ),
    // Agent CLIs
    row("claude", "[FLAGS..]", "prints what Claude Code prints, by a script", claude::claude),
    // For itself
    row(
        spawn::LINGER,
        "ROLE PIDS [CGROUP]",
        "(internal) what env-i and move-cgroup-child exec",
        spawn::linger,
    ),
];

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // Under the name of an agent CLI it is one.
    let own = words.first().map(std::path::Path::new).and_then(std::path::Path::file_name);
    let itself = words.get(1).is_some_and(|word| word == spawn::LINGER);
    if own.is_some_and(|own| own == "claude") && !itself {
        words[0] = "claude".into();
    } else if !words.is_empty() {
        words.remove(0);
    }
    let code = match run(words) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    };
    ExitCode::from(code)
}

/// Finds the behaviour and runs it.
pub(crate) fn run(mut words: Vec<OsString>) -> Outcome {
    if words.is_empty() {
        return Err(Failure::usage(usage()));
    }
    let name = words.remove(0);
    if name == "help" || name == "--help" || name == "-h" {
        output::print(usage().as_bytes())?;
        return Ok(0);
    }
    let Some(behaviour) = BEHAVIOURS.iter().find(|known| name == known.name) else {
        return Err(Failure::usage(format!(
            "unknown behaviour {name:?}; `fake-agent help` lists all"
        )));
    };
    (behaviour.run)(Args::new(behaviour.name, behaviour.args, words))
}

/// One line for each behaviour.
fn usage() -> String {
    let mut text = String::from("usage: fake-agent BEHAVIOUR [ARGS...]\n\n");
    for behaviour in BEHAVIOURS {
        let form = format!("{} {}", behaviour.name, behaviour.args);
        writeln!(text, "  {form:<34} {}", behaviour.does).expect("a String takes any text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = BEHAVIOURS.iter().map(|known| known.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BEHAVIOURS.len());
    }

    #[test]
    fn unknown_behaviour_is_named() {
        let failure = run(vec!["nonsense".into()]).expect_err("no such behaviour");
        assert_eq!(failure.code, failure::USAGE);
        assert!(failure.message.contains("nonsense"), "{}", failure.message);
    }
}
