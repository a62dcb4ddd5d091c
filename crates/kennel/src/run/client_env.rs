//! The environment that a session gets from the client: variables, folder, umask and resource
//! limits.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use kennel_pen::{HOME_COOKIE, SESSION_COOKIE};
use kennel_sys::resources::RESOURCES;
use kennel_types::api::{CreateRequest, Environment, OsText};
use rustix::fs::Mode;
use rustix::process::Resource;

use crate::command_prelude::*;

const NAME: &str = "KENNEL_SESSION_NAME";

/// Variables that Kennel itself sets for the agent. A user's value would be lost or misleading.
const RESERVED: [&str; 8] = [
    HOME_COOKIE,
    SESSION_COOKIE,
    NAME,
    "KENNEL_HOME",
    "KENNEL_SESSION",
    "KENNEL_SOCKET",
    "KENNEL_TOKEN",
    "KENNEL_TOKEN_FILE",
];

/// Starts a request for a session with our environment: variables, folder, umask and limits.
pub(crate) fn request(
    files: &[PathBuf],
    given: &[OsString],
    name: Option<&str>,
    cwd: Option<&Path>,
) -> Result<CreateRequest, CommandError> {
    let usage = |error| CommandError::new(exit_code::USAGE, error);
    Ok(CreateRequest {
        env: environment(files, given, name).map_err(usage)?,
        cwd: folder(cwd).map_err(CommandError::setup)?.as_os_str().into(),
        umask: umask(),
        limits: limits(),
        ..CreateRequest::default()
    })
}

/// Builds the environment: our own variables, then files, then `--env`; the last value wins. The
/// marks of a session that contains this process are removed.
pub(crate) fn environment(
    files: &[PathBuf],
    given: &[OsString],
    name: Option<&str>,
) -> anyhow::Result<Environment> {
    // A malformed variable (`=x=y`) is skipped: no program sets it on purpose.
    let valid = |name: &OsStr| !name.is_empty() && !name.as_bytes().contains(&b'=');
    let removed = |name: &OsStr| [HOME_COOKIE, SESSION_COOKIE, NAME].iter().any(|it| name == *it);
    let ours = std::env::vars_os().filter(|(name, _)| valid(name) && !removed(name));
    let mut assignments = ours.collect::<Vec<_>>();
    for file in files {
        let text = fs::read(file).with_context(|| format!("--env-file {}", file.display()))?;
        assignments.extend(parse_file(&text, file)?);
    }
    for given in given {
        assignments.push(variable(given)?);
    }
    assignments.extend(name.map(|name| (NAME.into(), name.into())));
    // The variables stay in the order in which they are first set.
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in assignments {
        match variables.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None => variables.push((name, value)),
        }
    }
    let text = |text: &OsString| OsText::from(text.as_os_str());
    Ok(variables.iter().map(|(name, value)| (text(name), text(value))).collect())
}

pub(crate) fn folder(cwd: Option<&Path>) -> anyhow::Result<PathBuf> {
    match cwd {
        Some(cwd) => std::path::absolute(cwd).with_context(|| format!("--cwd {}", cwd.display())),
        None => std::env::current_dir().context("the current folder no longer exists; use --cwd"),
    }
}

/// Returns our umask. Reading it requires setting it; no other thread creates files yet.
pub(crate) fn umask() -> u32 {
    let ours = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(ours);
    ours.as_raw_mode()
}

/// Returns our resource limits: resource, soft, hard. The maximum number means unlimited.
pub(crate) fn limits() -> Vec<(u32, u64, u64)> {
    let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    let limit = |resource: Resource| {
        let limit = rustix::process::getrlimit(resource);
        (resource as u32, number(limit.current), number(limit.maximum))
    };
    RESOURCES.map(limit).to_vec()
}

/// Parses `NAME=VALUE`, or `NAME` alone: then our own value, which must be set.
fn variable(given: &OsStr) -> anyhow::Result<(OsString, OsString)> {
    if let Some((name, value)) = split(given.as_bytes()) {
        // The value may be a secret, so the error doesn't contain it.
        check_name(&name).map_err(|why| anyhow!("--env {}: {why}", name.display()))?;
        return Ok((name, value));
    }
    let flag = format!("--env {}", given.display());
    check_name(given).map_err(|why| anyhow!("{flag}: {why}"))?;
    let value = std::env::var_os(given);
    let value = value
        .with_context(|| format!("{flag}: the variable is not set, and no value was given"))?;
    Ok((given.to_owned(), value))
}

/// Checks whether a variable of this name can be set.
fn check_name(name: &OsStr) -> Result<(), String> {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control();
    if name.is_empty() {
        return Err("the variable's name is missing".to_owned());
    }
    if name.as_bytes().iter().any(blank) {
        let why =
            "a variable's name can't contain spaces: write NAME=VALUE without spaces around the =";
        return Err(why.to_owned());
    }
    match RESERVED.iter().find(|reserved| name == **reserved) {
        Some(reserved) => Err(format!("{reserved} is reserved: Kennel sets it for the session")),
        None => Ok(()),
    }
}

fn split(text: &[u8]) -> Option<(OsString, OsString)> {
    let at = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
}

/// Parses lines of `NAME=VALUE`, optionally preceded by `export`. Values are literal. Empty lines
/// and lines that start with `#` are skipped.
fn parse_file(text: &[u8], file: &Path) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let mut variables = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || line.trim_ascii_start().starts_with(b"#") {
            continue;
        }
        let bare = line.strip_prefix(b"export ").map_or(line, <[u8]>::trim_ascii_start);
        let place = || format!("--env-file {}: line {}", file.display(), number + 1);
        match split(bare) {
            Some((name, value)) if !name.is_empty() => {
                check_name(&name).map_err(|why| anyhow!("{}: {why}", place()))?;
                variables.push((name, value));
            }
            // The line may be a secret, so the error doesn't contain it.
            _ => bail!("{} is not NAME=VALUE", place()),
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_file_of_variables_literally() {
        let text = b"# comment\n\nA=1\nB= two words \nC=a=b\r\nD=\"q\"\nexport  E=e\nexport=f";
        let variables = parse_file(text, Path::new("f")).unwrap();
        let expected = [
            ("A", "1"),
            ("B", " two words "),
            ("C", "a=b"),
            ("D", "\"q\""),
            ("E", "e"),
            ("export", "f"),
        ];
        assert_eq!(variables, expected.map(|(n, v)| (n.into(), v.into())));
    }

    #[test]
    fn reports_a_bad_line_by_number_without_its_content() {
        let error = parse_file(b"A=1\nsecret", Path::new("f")).unwrap_err().to_string();
        assert_eq!(error, "--env-file f: line 2 is not NAME=VALUE");
        let error = parse_file(b"A=1\nsecret = 2", Path::new("f")).unwrap_err().to_string();
        assert!(error.starts_with("--env-file f: line 2: a variable's name"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        let error = parse_file(b"\nKENNEL_HOME=/x", Path::new("f")).unwrap_err().to_string();
        assert!(error.starts_with("--env-file f: line 2: KENNEL_HOME is reserved"), "{error}");
    }

    #[test]
    fn limits_and_umask_are_those_of_this_process() {
        let limits = limits();
        assert_eq!(limits.len(), 16);
        let descriptors = rustix::process::getrlimit(Resource::Nofile).current;
        assert!(limits.contains(&(7, descriptors.unwrap_or(u64::MAX), limits[7].2)));
        assert_eq!(umask(), umask());
    }

    #[test]
    fn the_last_value_wins_and_the_order_is_kept() {
        let given = ["A=1", "B=2", "A=3"].map(OsString::from);
        let variables = environment(&[], &given, None).unwrap();
        let ours =
            |name: &OsText| ["A", "B"].iter().any(|it| *name == OsText::from(OsStr::new(it)));
        let ours = variables.into_iter().filter(|(name, _)| ours(name)).collect::<Vec<_>>();
        let expected = [("A", "3"), ("B", "2")];
        let text = |text| OsText::from(OsStr::new(text));
        assert_eq!(ours, expected.map(|(name, value)| (text(name), text(value))));
    }

    #[test]
    fn a_name_alone_requires_the_variable_to_be_set() {
        let error = variable("KENNEL_NO_SUCH_VARIABLE".as_ref()).unwrap_err().to_string();
        assert!(error.contains("KENNEL_NO_SUCH_VARIABLE") && error.contains("not set"), "{error}");
        assert!(variable("=x".as_ref()).is_err());
        for (given, expected) in [
            ("A B=secret", "--env A B: a variable's name can't contain spaces"),
            ("A\t=secret", "a variable's name can't contain spaces"),
            ("KENNEL_TOKEN=secret", "--env KENNEL_TOKEN: KENNEL_TOKEN is reserved"),
            ("KENNEL_SESSION_ID=secret", "is reserved"),
            ("KENNEL_HOME", "is reserved"),
        ] {
            let error = variable(given.as_ref()).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        }
        assert_eq!(variable("A=b=c".as_ref()).unwrap(), ("A".into(), "b=c".into()));
    }
}
