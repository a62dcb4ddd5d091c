//! Runs cargo and other programs, and prints each command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target folder: the one that this program was built into, whatever set it.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("can't find this program's own path")?;
    let target = own.parent().and_then(Path::parent).context("no target folder")?;
    Ok(target.to_owned())
}

/// The cargo that runs this program, in the workspace. It inherits the environment, `RUSTFLAGS` and
/// the like included.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    command
}

/// Cargo with clippy as the compiler of the workspace: every crate is checked and compiled in one
/// pass, which takes about half the time of `cargo clippy` and `cargo build`. A warning is an
/// error.
///
/// All commands that use what another one has built need the same compiler, or cargo compiles
/// everything a second time.
pub(crate) fn linting_cargo(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    // The format in which `cargo clippy` passes its arguments on.
    command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    // The first build takes less time without debug information and the files for later builds.
    command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "none");
    command
}

/// Prints a command and runs it. The error contains the command, so that it can be repeated.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("can't start: {line}"))?;
    if !status.success() {
        bail!("{status}; to repeat: {line}");
    }
    Ok(())
}

/// Returns whether the command starts and succeeds; prints nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as a user would type it, without the variables that only tests read.
fn line(command: &Command) -> String {
    const SHOWN: [&str; 3] = ["KENNEL_TEST_AGENT", "KENNEL_TEST_SLICE", "KENNEL_WEB"];
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        let (name, value) = (name.to_string_lossy(), value.unwrap_or_default());
        if !name.starts_with("KENNEL_") || SHOWN.contains(&&*name) {
            words.push(format!("{name}={}", quoted(value)));
        }
    }
    let program = Path::new(command.get_program());
    words.push(quoted(program.file_name().unwrap_or(program.as_os_str())));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// Quotes a word for the shell, if it needs it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_a_command_that_a_shell_accepts() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["doc", "it's"]).env("RUSTDOCFLAGS", "-D warnings");
        command.env("KENNEL_TEST_SKIPS", "/tmp/x").env("KENNEL_TEST_SLICE", "7");
        assert_eq!(
            line(&command),
            r"KENNEL_TEST_SLICE=7 RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'"
        );
    }

    #[test]
    fn reports_how_to_repeat_a_failed_command() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 3; to repeat: sh -c 'exit 3'");
    }
}
