//! Finding the file of a program, and explaining why it could not be executed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::wire::os_path;

/// Why a program could not be executed. The errno is in `source`.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum ExecError {
    /// A name without a slash that is in no folder of `PATH`.
    #[error("no program {program:?} in PATH ({searched})")]
    NotInPath {
        /// The name.
        program: String,
        /// The value of `PATH` in the command's environment.
        searched: String,
    },
    /// The file can't be executed.
    #[error("{path}: {why}")]
    File {
        /// The file.
        #[serde(with = "os_path")]
        path: PathBuf,
        /// The reason.
        why: String,
        /// The kernel's error.
        #[serde(with = "kennel_sys::errno")]
        source: io::Error,
    },
    /// The folder to start in can't be entered.
    #[error("can't start in folder {folder}")]
    BadFolder {
        /// The folder.
        #[serde(with = "os_path")]
        folder: PathBuf,
        /// The kernel's error.
        #[serde(with = "kennel_sys::errno")]
        source: io::Error,
    },
}

/// Finds the file of `program`. A name with a slash is a path, relative to the command's folder.
/// Any other name is searched for in `path`, the value of `PATH` in the command's environment.
pub(crate) fn find(
    program: &OsStr,
    path: Option<&OsStr>,
    folder: Option<&Path>,
) -> Result<PathBuf, ExecError> {
    if program.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    let searched = path.unwrap_or_default();
    let not_found = || ExecError::NotInPath {
        program: program.to_string_lossy().into_owned(),
        searched: searched.to_string_lossy().into_owned(),
    };
    if program.is_empty() {
        return Err(not_found());
    }
    let mut forbidden = None;
    for entry in std::env::split_paths(searched) {
        // An empty entry is the current folder, as in every shell.
        let entry = if entry.as_os_str().is_empty() { PathBuf::from(".") } else { entry };
        let candidate = folder.unwrap_or(Path::new("")).join(entry).join(program);
        match rustix::fs::accessat(CWD, &candidate, Access::EXEC_OK, AtFlags::EACCESS) {
            Ok(()) if candidate.is_file() => return Ok(candidate),
            Err(Errno::ACCESS) if candidate.is_file() => {
                forbidden.get_or_insert(candidate);
            }
            _ => {}
        }
    }
    Err(match forbidden {
        Some(path) => explain(&path, None, Errno::ACCESS.into()),
        None => not_found(),
    })
}

/// Explains why the exec of `path` failed with `source`. A relative path starts in `folder`.
pub(crate) fn explain(path: &Path, folder: Option<&Path>, source: io::Error) -> ExecError {
    let seen = folder.unwrap_or(Path::new("")).join(path);
    let why = match Errno::from_io_error(&source) {
        Some(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::LOOP)
            if seen.is_file() && is_executable(&seen) =>
        {
            match interpreter(&seen) {
                Some(name) => format!("its interpreter {} can't be executed", name.display()),
                None => "can't be executed".to_owned(),
            }
        }
        Some(Errno::NOENT | Errno::NOTDIR) => "not found".to_owned(),
        Some(Errno::ACCESS | Errno::ISDIR) => "not executable".to_owned(),
        Some(Errno::NOEXEC) => {
            "not a program (a script needs a first line such as #!/bin/sh)".to_owned()
        }
        _ => "can't be executed".to_owned(),
    };
    ExecError::File { path: path.to_owned(), why, source }
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// Returns the interpreter in a script's first line, or the loader of an ELF file.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let name = line.trim_ascii().split(|byte| byte.is_ascii_whitespace()).next()?;
        return Some(PathBuf::from(OsStr::from_bytes(name)));
    }
    head.starts_with(b"\x7fELF").then(|| PathBuf::from("(the loader named in its ELF header)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_used_as_it_is_and_a_name_is_searched_for() {
        assert_eq!(find("./x".as_ref(), None, None).unwrap(), Path::new("./x"));
        let found = find("sh".as_ref(), Some("/nowhere:/bin".as_ref()), None).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
    }

    #[test]
    fn without_a_path_variable_nothing_is_found_and_the_error_names_the_folders() {
        let error = find("sh".as_ref(), None, None).unwrap_err();
        assert!(matches!(error, ExecError::NotInPath { .. }), "{error:?}");
        let error = find("no-such".as_ref(), Some("/bin".as_ref()), None).unwrap_err();
        assert_eq!(error.to_string(), "no program \"no-such\" in PATH (/bin)");
        assert!(find("".as_ref(), Some("/bin".as_ref()), None).is_err());
    }

    #[test]
    fn a_relative_entry_of_path_starts_in_the_commands_folder() {
        let found = find("sh".as_ref(), Some("bin".as_ref()), Some(Path::new("/"))).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
    }
}
