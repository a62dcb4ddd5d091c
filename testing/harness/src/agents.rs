//! The real agent programs, where `cargo xtask agents` puts them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scene::{Scene, Who};
use crate::skip::skip;

/// The program of an agent as `cargo xtask agents` has installed it, of several versions the last installed; `None`, said
/// loudly, if it isn't there.
///
/// # Panics
/// If an installation that was finished has no program.
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
        let why = format!("not installed; `cargo xtask agents {name}` does it");
        skip(&format!("the real {name}"), &why);
    }
    let (_, version) = finished?;
    let program = version.join("node_modules/.bin").join(name);
    // The scene's work folder is not ours.
    Some(program.canonicalize().expect("an installed program"))
}

impl Scene {
    /// The program where the scene's user can run it: the workspace may be in a folder that is closed to others. That
    /// works for programs of one file.
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

    /// Makes a folder and all in it the scene's user's own.
    ///
    /// # Panics
    /// If it can't.
    pub fn give_all(&self, path: &Path) {
        self.give(path);
        if path.is_dir() {
            for entry in fs::read_dir(path).expect("our own folder") {
                self.give_all(&entry.expect("our own folder").path());
            }
        }
    }
}
