//! The home: the folder with Kennel's state, and its random id.
//!
//! The id is part of every pen name and cookie, so two homes must never share one. A *copy* of a
//! home would. Therefore the id file contains its own inode: a copied file is recognised, and the
//! copy gets a new id.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use kennel_pen::HomeId;
use rustix::fs::FlockOperation;

use crate::command_prelude::*;
use crate::config::Config;

const ID: &str = "id";
/// The file that keeps the original's id in a copied home.
const COPIED: &str = "id.copied";

#[derive(Debug, Clone)]
pub(crate) struct HomeDir {
    pub(crate) folder: PathBuf,
    pub(crate) id: HomeId,
    /// The configuration for a daemon that is started for this home.
    pub(crate) config: Config,
}

impl HomeDir {
    /// Opens the home that the flag or the environment selects, and creates it if needed.
    pub(crate) fn open(flag: Option<&Path>, config: &Config) -> anyhow::Result<Self> {
        Ok(Self { config: config.clone(), ..Self::at(folder(flag)?)? })
    }

    /// Opens the home that the flag or the environment selects, if it exists.
    pub(crate) fn find(flag: Option<&Path>) -> Option<Self> {
        let folder = folder(flag).ok().filter(|folder| folder.join(ID).exists())?;
        Self::at(folder).ok()
    }

    /// Opens the home in this folder, and creates it if needed.
    pub(crate) fn at(folder: PathBuf) -> anyhow::Result<Self> {
        if folder.metadata().is_ok_and(|found| !found.is_dir()) {
            bail!("home {} is not a folder", folder.display());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("can't create home {}", folder.display()))?;
        let id = id(&folder)?;
        Ok(Self { folder, id, config: Config::default() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Returns the home's folder: the flag, the variable, or the default location.
fn folder(flag: Option<&Path>) -> anyhow::Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = flag
        .map(Path::to_owned)
        .or_else(|| variable("KENNEL_HOME"))
        .or_else(|| {
            variable("XDG_STATE_HOME").filter(|p| p.is_absolute()).map(|p| p.join("kennel"))
        })
        .or_else(|| variable("HOME").map(|home| home.join(".local/state/kennel")))
        .ok_or_else(|| anyhow!("can't locate the home: set HOME, KENNEL_HOME or --home"))?;
    std::path::absolute(&folder).with_context(|| format!("home {}", folder.display()))
}

#[derive(Debug, PartialEq, Eq)]
enum HomeIdFile {
    Own(HomeId),
    /// The file was copied from another home.
    Copied,
}

/// Returns the id of the home in this folder, and creates it if needed.
fn id(folder: &Path) -> anyhow::Result<HomeId> {
    let path = folder.join(ID);
    // Of two processes that start at once, one creates the complete file and the other reads it.
    for _ in 0..3 {
        match read(&path)? {
            Some(HomeIdFile::Own(id)) => return Ok(id),
            Some(HomeIdFile::Copied) => replace_copy(folder, &path)
                .with_context(|| format!("can't write {}", path.display()))?,
            None => {
                let created = HomeId::random().and_then(|id| create(folder, &path, &id));
                created.with_context(|| format!("can't write {}", path.display()))?;
            }
        }
    }
    bail!("other processes keep replacing {}; try again", path.display())
}

fn read(path: &Path) -> anyhow::Result<Option<HomeIdFile>> {
    let unreadable = || format!("can't read {}", path.display());
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(unreadable),
    };
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(unreadable)?;
    let inode = file.metadata().with_context(unreadable)?.ino();
    parse(&text, inode).map(Some).with_context(|| {
        format!(
            "{} does not contain a home id; if no session of this home runs, remove it to get a new one",
            path.display()
        )
    })
}

/// Parses the text of an id file with this inode.
fn parse(text: &str, inode: u64) -> anyhow::Result<HomeIdFile> {
    let mut lines = text.trim_end().lines();
    let id = HomeId::parse(lines.next().unwrap_or_default().trim())?;
    let line = lines.next().unwrap_or_default();
    let written = line.strip_prefix("inode ").and_then(|number| number.trim().parse::<u64>().ok());
    let written = written.ok_or_else(|| anyhow!("invalid second line {line:?}"))?;
    Ok(if written == inode { HomeIdFile::Own(id) } else { HomeIdFile::Copied })
}

/// Writes a draft of the id file next to it, with its own inode.
fn draft(folder: &Path, id: &HomeId) -> io::Result<PathBuf> {
    let path = folder.join(format!("id.{}.{}", std::process::id(), HomeId::random()?));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let inode = file.metadata()?.ino();
    match write!(file, "{id}\ninode {inode}\n").and_then(|()| file.sync_all()) {
        Ok(()) => Ok(path),
        Err(error) => {
            fs::remove_file(&path)?;
            Err(error)
        }
    }
}

/// Writes a draft and links it as the id file; the first process wins.
fn create(folder: &Path, path: &Path, id: &HomeId) -> io::Result<()> {
    let draft = draft(folder, id)?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Saves the original's id in [`COPIED`] and gives the copy its own, in one process at a time.
fn replace_copy(folder: &Path, path: &Path) -> anyhow::Result<()> {
    let locked = File::open(folder)?;
    rustix::fs::flock(&locked, FlockOperation::LockExclusive)?;
    if read(path)? == Some(HomeIdFile::Copied) {
        let new = draft(folder, &HomeId::random()?)?;
        fs::copy(path, folder.join(COPIED))?;
        fs::rename(new, path)?;
        print_message(&format!(
            "home {} is a copy of another home and gets a new id; sessions of the original are not \
             affected (its id is kept in {COPIED})",
            folder.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_line(folder: &Path) -> String {
        let text = fs::read_to_string(folder.join(ID)).unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_home_keeps_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().join("a/b")).unwrap();
        assert_eq!(HomeDir::at(home.folder.clone()).unwrap().id, home.id);
        assert_eq!(first_line(&home.folder), home.id.as_str());
        let names = fs::read_dir(&home.folder).unwrap().count();
        assert_eq!(names, 1, "no draft is left");
    }

    #[test]
    fn a_copied_home_gets_a_new_id_and_the_original_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let original = HomeDir::at(folder.path().join("original")).unwrap();
        let copy = folder.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(original.path(ID), copy.join(ID)).unwrap();
        let copied = HomeDir::at(copy.clone()).unwrap();
        assert_ne!(copied.id, original.id);
        assert_eq!(first_line(&copy), copied.id.as_str());
        let kept = fs::read_to_string(copy.join(COPIED)).unwrap();
        assert!(kept.starts_with(original.id.as_str()), "{kept}");
        assert_eq!(HomeDir::at(copy).unwrap().id, copied.id, "it keeps the new id");
        assert_eq!(HomeDir::at(original.folder.clone()).unwrap().id, original.id);
    }

    #[test]
    fn a_moved_home_keeps_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().join("here")).unwrap();
        let there = folder.path().join("there");
        fs::rename(&home.folder, &there).unwrap();
        assert_eq!(HomeDir::at(there).unwrap().id, home.id);
    }

    #[test]
    fn refuses_an_invalid_id_file_and_leaves_it_alone() {
        for text in ["garbage\n", "", "0123456789abcdef\n", "0123456789abcdef\nnonsense\n"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(ID), text).unwrap();
            let error = format!("{:#}", HomeDir::at(folder.path().to_owned()).unwrap_err());
            assert!(error.contains("does not contain a home id"), "{error}");
            assert_eq!(fs::read_to_string(folder.path().join(ID)).unwrap(), text);
        }
    }

    #[test]
    fn concurrent_processes_agree_on_the_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        let open = || HomeDir::at(path.clone()).unwrap().id;
        let ids = std::thread::scope(|scope| {
            let threads = (0..8).map(|_| scope.spawn(open)).collect::<Vec<_>>();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}
