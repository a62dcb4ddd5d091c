//! `kennel`: runs coding agents and owns every process they start.

mod ask;
mod cli;
mod command_error;
mod command_prelude;
mod config;
mod connect;
mod doctor;
mod exit_code;
mod foreground;
mod home;
mod plan;
mod poll;
mod print;
mod quantity;
mod roles;
mod run;
mod session_outcome;
mod stopper;
mod table;
mod timestamp;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The yard, the daemon and others are this same program.
    roles::take();
    let code = match cli::Cli::parse_with_config(std::env::args_os().collect()) {
        Ok(cli) => cli.perform().unwrap_or_else(command_error::report),
        Err(cli::CliError::Usage(error)) => command_error::usage(&error),
        Err(cli::CliError::Refused(failure)) => command_error::report(failure),
    };
    ExitCode::from(code)
}
