//! Benchmarks of Kennel: `kennel-bench pen|session|ask|api [--quick] [SECTION...]`.
//!
//! Every figure is a median with its ratio to a peer or to a raw floor, measured in the same run.
//! They take turns in a changing order, so that noise affects all alike. For pens each contender
//! has its own process ([`worker`]), since a pen owns all children of its process.
//!
//! A target that is not met is not a failure: the exit code is 0 unless the benchmark itself fails.

mod agent;
mod baseline;
mod big_caller;
mod bombs;
mod chain;
mod ending;
mod hop;
mod job;
mod launch;
mod machine;
mod pen;
mod raw;
mod session;
mod stats;
mod sweep;
mod target;
mod worker;

use std::process::ExitCode;

use session::BenchKind;

const USAGE: &str = "usage: kennel-bench pen [--quick] [SECTION...]
       kennel-bench session [--quick] [--peers] [--dir DIR] [SECTION...]
       kennel-bench ask [--quick] [--dir DIR] [SECTION...]
       kennel-bench api [--quick] [--dir DIR] [SECTION...]

sections of pen (all of them unless some are named):
  launch    launch /bin/true, reap it, remove the pen; against peers and a raw floor
  big       the same from a caller with 500 MB resident
  end       end a tree of 1,000 setsid'd processes, wide and deep
  hop       end a process that keeps forking and exiting
  baseline  descriptors, memory, pens and children before and after many launches
  bombs     end fork bombs

sections of session:
  serial    a durable session of /bin/true, one after another; against a bare spawn and tmux
  parallel  the same, 8 at once
  rest      a keeper at rest, and 1,000 idle sessions
  adoption  kill the daemon with 1,000 live sessions
  output    output through a session, against tee
  echo      how much a flooding session slows another's echo
  sweep     resources before and after 10,000 sessions

sections of ask:
  first-call  time to the first API call of Claude Code, directly and through `kennel ask`; memory
  parse       parse 100 MB of an agent's output
  many        prompt 50 members at once

sections of api:
  events    one event to 1,000 clients that follow the log
  idle      200 clients that follow a session without output
  list      the list of 1,000 sessions, against supervisord's
  create    start a session over TCP, against one over the socket
  terminal  echo of a key through a WebSocket, against a local terminal

  --quick   fewer rounds and smaller numbers
  --peers   install supervisord, pm2 and conmon beside this program, and measure them too
  --dir     the folder of the homes [default: beside this program]; it must be on a disk

The programs must be beside this one:
cargo build --profile dist -p kennel -p fake-agent -p kennel-bench";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.split_first() {
        Some((first, rest)) if first == "pen" => match pen::PenBenchOptions::parse(rest) {
            Some(choice) => pen::run(&choice),
            None => return usage(),
        },
        Some((first, rest)) if ["session", "ask", "api"].contains(&first.as_str()) => {
            let bench = match first.as_str() {
                "ask" => BenchKind::Ask,
                "api" => BenchKind::Api,
                _ => BenchKind::Session,
            };
            match session::BenchOptions::parse(bench, rest) {
                Some(choice) => session::run(&choice),
                None => return usage(),
            }
        }
        Some((first, rest)) if session::has_role(first) => session::take_role(first, rest),
        Some((first, rest)) if first == worker::ARGUMENT => worker::serve(rest),
        Some((first, rest)) if first == chain::ARGUMENT => return chain::link(rest),
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kennel-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
