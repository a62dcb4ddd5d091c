//! `kennel completions`: what shells need to complete our command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::print::bytes;

/// The flags of `kennel completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
bash:
  kennel completions bash > ~/.local/share/bash-completion/completions/kennel
zsh:
  kennel completions zsh > ~/.zfunc/_kennel
fish:
  kennel completions fish > ~/.config/fish/completions/kennel.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints them.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kennel", &mut text);
    bytes(&text)?;
    Ok(0)
}
