//! `kennel`: runs coding agents and owns every process of theirs.

mod cli;
mod connect;
mod doctor;
mod exit_code;
mod failure;
mod home;
mod live;
mod moment;
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

use clap::Parser;

fn main() -> ExitCode {
    // Yard, daemon and others are this same program; they must take their role before anything else happens.
    roles::take();
    let code = match cli::Cli::try_parse() {
        Ok(cli) => cli.perform().unwrap_or_else(failure::report),
        Err(error) => failure::usage(&error),
    };
    ExitCode::from(code)
}
