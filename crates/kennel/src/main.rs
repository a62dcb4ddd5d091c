//! `kennel`: runs coding agents and owns every process of theirs.

mod cli;
mod doctor;
mod exit_code;
mod failure;
mod home;
mod run;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // A holder is this same program; it must take its role before anything else happens.
    kennel_pen::holder::take_role();
    doctor::take_trial_role();
    let code = match cli::Cli::try_parse() {
        Ok(cli) => match cli.verb {
            cli::Verb::Run(args) => run::run(&cli.home, &args).unwrap_or_else(failure::report),
            cli::Verb::Doctor(args) => doctor::doctor(&args).unwrap_or_else(failure::report),
        },
        Err(error) => failure::usage(&error),
    };
    ExitCode::from(code)
}
