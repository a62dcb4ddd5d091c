//! `kennel`: runs coding agents and owns every process of theirs.

mod ask;
mod cli;
mod config;
mod connect;
mod doctor;
mod exit_code;
mod failure;
mod home;
mod live;
mod moment;
mod plan;
mod print;
mod quantity;
mod roles;
mod run;
mod stopper;
mod table;
mod verbs;
mod verdict;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Yard, daemon and others are this same program; they must take their role before anything else happens.
    roles::take();
    let code = match cli::Cli::read(std::env::args_os().collect()) {
        Ok(cli) => cli.perform().unwrap_or_else(failure::report),
        Err(cli::Unread::Usage(error)) => failure::usage(&error),
        Err(cli::Unread::Refused(failure)) => failure::report(failure),
    };
    ExitCode::from(code)
}
