//! The agent's surroundings: ours, with what the command line adds.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use anyhow::{Context, bail};
use kennel_pen::Command;

use crate::cli::RunArgs;

/// The variable with the session's name.
const NAME: &str = "KENNEL_SESSION_NAME";

/// The command with our environment, folder, umask and limits. The last word on a variable wins: first
/// ours, then files, then `--env`.
pub(crate) fn command(args: &RunArgs) -> anyhow::Result<Command> {
    let mut argv = args.command.iter();
    let Some(program) = argv.next() else { bail!("no command given") };
    let mut command = Command::new(program);
    // One that no program could have set on purpose (`=x=y`) is not worth a refusal.
    let sound = |name: &OsStr| !name.is_empty() && !name.as_bytes().contains(&b'=');
    command.args(argv).envs(std::env::vars_os().filter(|(name, _)| sound(name)));
    for file in &args.env_file {
        let text = fs::read(file).with_context(|| format!("--env-file {}", file.display()))?;
        command.envs(parse_file(&text, file)?);
    }
    for given in &args.env {
        let (name, value) = variable(given)?;
        command.env(name, value);
    }
    if let Some(name) = &args.name {
        command.env(NAME, name);
    }
    if let Some(cwd) = &args.cwd {
        command
            .folder(std::path::absolute(cwd).with_context(|| format!("--cwd {}", cwd.display()))?);
    }
    Ok(command)
}

/// `NAME=VALUE`, or `NAME` alone: then ours, which must be there.
fn variable(given: &OsStr) -> anyhow::Result<(OsString, OsString)> {
    if let Some((name, value)) = split(given.as_bytes()) {
        if name.is_empty() {
            bail!("--env {given:?}: the name is missing");
        }
        return Ok((name, value));
    }
    let value = std::env::var_os(given).with_context(|| {
        format!("--env {}: it is not set here, and no value was given", given.to_string_lossy())
    })?;
    Ok((given.to_owned(), value))
}

fn split(text: &[u8]) -> Option<(OsString, OsString)> {
    let at = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}

/// Lines of `NAME=VALUE`, taken as they are; empty lines and those that start with `#` are skipped.
fn parse_file(text: &[u8], file: &Path) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let mut variables = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || line.trim_ascii_start().starts_with(b"#") {
            continue;
        }
        match split(line) {
            Some((name, value)) if !name.is_empty() => variables.push((name, value)),
            // The line itself may be a secret, so it is not shown.
            _ => bail!("--env-file {}: line {} is not NAME=VALUE", file.display(), number + 1),
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_is_taken_as_it_is() {
        let text = b"# comment\n\nA=1\nB = two words \nC=a=b\r\nD=\"q\"";
        let variables = parse_file(text, Path::new("f")).unwrap();
        let expected = [("A", "1"), ("B ", " two words "), ("C", "a=b"), ("D", "\"q\"")];
        assert_eq!(variables, expected.map(|(n, v)| (n.into(), v.into())));
    }

    #[test]
    fn a_bad_line_is_named_by_number_and_never_shown() {
        let error = parse_file(b"A=1\nsecret", Path::new("f")).unwrap_err().to_string();
        assert_eq!(error, "--env-file f: line 2 is not NAME=VALUE");
    }

    #[test]
    fn a_name_alone_must_be_set_here() {
        let error = variable("KENNEL_NO_SUCH_VARIABLE".as_ref()).unwrap_err().to_string();
        assert!(error.contains("KENNEL_NO_SUCH_VARIABLE") && error.contains("not set"), "{error}");
        assert!(variable("=x".as_ref()).is_err());
        assert_eq!(variable("A=b=c".as_ref()).unwrap(), ("A".into(), "b=c".into()));
    }
}
