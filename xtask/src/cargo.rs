//! Running cargo and other programs, in the open.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds: the folder of the one that we were built into, whoever has set it.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("our own path")?;
    let target = own.parent().and_then(Path::parent).context("no target folder")?;
    Ok(target.to_owned())
}

/// The cargo that runs us, in the workspace. The environment is the caller's: `RUSTFLAGS` and the like
/// are nobody's business here.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    command
}

/// Says what is run, and runs it. A failure says how to repeat it.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("can't be started: {line}"))?;
    if !status.success() {
        bail!("{status}; to repeat it: {line}");
    }
    Ok(())
}

/// Whether the command can be run and succeeds, in silence.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as one would type it. What only the tests want to know is left out.
fn line(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        let (name, value) = (name.to_string_lossy(), value.unwrap_or_default());
        if !name.starts_with("KENNEL_") {
            words.push(format!("{name}={}", quoted(value)));
        }
    }
    let program = Path::new(command.get_program());
    words.push(quoted(program.file_name().unwrap_or(program.as_os_str())));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// A word that a shell takes for one.
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
    fn a_line_can_be_typed_as_it_is_shown() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["doc", "it's"]).env("RUSTDOCFLAGS", "-D warnings");
        command.env("KENNEL_TEST_SKIPS", "/tmp/x");
        assert_eq!(line(&command), r"RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'");
    }

    #[test]
    fn a_failure_says_how_to_repeat_it() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 3; to repeat it: sh -c 'exit 3'");
    }
}
