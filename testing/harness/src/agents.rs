//! The real agent programs that `cargo xtask agents` installs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scene::{Scene, Who};
use crate::skip::skip;

/// Returns the program of an agent that `cargo xtask agents` has installed; of several versions,
/// the one installed last. Records a skip and returns `None` if it is not installed.
///
/// # Panics
/// If a finished installation has no program.
#[must_use]
pub fn installed_agent(name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("KENNEL_AGENTS_DIR") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.agents"),
    };
    let versions = fs::read_dir(&folder).into_iter().flatten().flatten();
    let finished = versions
        .filter(|entry| {
            let folder = entry.file_name();
            folder.to_str().is_some_and(|folder| folder.starts_with(&format!("{name}-")))
        })
        .filter_map(|entry| {
            let finished = entry.path().join(".finished").metadata().ok()?;
            Some((finished.modified().ok()?, entry.path()))
        })
        .max();
    if finished.is_none() {
        let why = format!("not installed; run `cargo xtask agents {name}`");
        skip(&format!("the real {name}"), &why);
    }
    let (_, version) = finished?;
    let program = version.join("node_modules/.bin").join(name);
    // Absolute, because a scene has another working directory.
    Some(program.canonicalize().expect("an installed program"))
}

impl Scene {
    /// Returns a copy of the program that the scene's user can run: the workspace may be in a
    /// folder that other users can't read. Works for programs that consist of one file.
    ///
    /// # Panics
    /// If it can't be copied.
    #[must_use]
    pub fn within_reach(&self, program: &Path) -> PathBuf {
        if self.who == Who::Root {
            return program.to_owned();
        }
        let link = self.path("agent-program");
        if fs::hard_link(program, &link).is_err() {
            fs::copy(program, &link).expect("a copy of the program");
        }
        link
    }

    /// Makes the scene's user the owner of a folder and of everything in it.
    ///
    /// # Panics
    /// If it can't.
    pub fn give_all(&self, path: &Path) {
        self.give(path);
        if path.is_dir() {
            for entry in fs::read_dir(path).expect("the folder is readable") {
                self.give_all(&entry.expect("the folder is readable").path());
            }
        }
    }
}
