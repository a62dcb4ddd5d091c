//! The home: the folder with Kennel's records, and its random id.
//!
//! The id is in the name of every pen and in every cookie, so two homes must never have the same one. A
//! *copy* of a home would: so the file says which inode it is, and one that is another's gets a new id.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use kennel_pen::HomeId;
use rustix::fs::FlockOperation;

use crate::cli::HomeArgs;
use crate::command_error::say;
use crate::config::Config;

/// The file with the id.
const ID: &str = "id";
/// Where the id of the original goes, in a copy.
const COPIED: &str = "id.copied";

/// The folder with Kennel's records.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// Its path, absolute.
    pub(crate) folder: PathBuf,
    /// Its id.
    pub(crate) id: HomeId,
    /// What a daemon that is started for it gets.
    pub(crate) config: Config,
}

impl Home {
    /// The home that was named, made if it isn't there.
    pub(crate) fn open(args: &HomeArgs, config: &Config) -> anyhow::Result<Self> {
        Ok(Self { config: config.clone(), ..Self::at(folder(args)?)? })
    }

    /// The home that was named, if it is there.
    pub(crate) fn find(args: &HomeArgs) -> Option<Self> {
        let folder = folder(args).ok().filter(|folder| folder.join(ID).exists())?;
        Self::at(folder).ok()
    }

    /// The home in this folder, made if it isn't there.
    pub(crate) fn at(folder: PathBuf) -> anyhow::Result<Self> {
        if folder.metadata().is_ok_and(|found| !found.is_dir()) {
            bail!("the home {} is not a folder", folder.display());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("can't make the home {}", folder.display()))?;
        let id = id(&folder)?;
        Ok(Self { folder, id, config: Config::default() })
    }

    /// A file or folder in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Where the home is: as told, or in the place for state of the user's programs.
fn folder(args: &HomeArgs) -> anyhow::Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = args
        .home
        .clone()
        .or_else(|| variable("KENNEL_HOME"))
        .or_else(|| {
            variable("XDG_STATE_HOME").filter(|p| p.is_absolute()).map(|p| p.join("kennel"))
        })
        .or_else(|| variable("HOME").map(|home| home.join(".local/state/kennel")))
        .ok_or_else(|| anyhow!("no home: set HOME, KENNEL_HOME or --home"))?;
    std::path::absolute(&folder).with_context(|| format!("home {}", folder.display()))
}

/// What the file with the id tells.
#[derive(Debug, PartialEq, Eq)]
enum HomeIdFile {
    /// It is this home's.
    Own(HomeId),
    /// It is from a time when its inode was not written down.
    Old(HomeId),
    /// It was copied here.
    Copied,
}

/// The id of the home in this folder, which is made if it isn't there.
fn id(folder: &Path) -> anyhow::Result<HomeId> {
    let path = folder.join(ID);
    // Two that start at once must agree: one makes the file, in whole, the other reads it.
    for _ in 0..3 {
        match read(&path)? {
            Some(HomeIdFile::Own(id)) => return Ok(id),
            Some(HomeIdFile::Old(id)) => {
                // A home that can't be written to keeps its old file, which is as good as it was.
                upgrade(folder, &path).ok();
                return Ok(id);
            }
            Some(HomeIdFile::Copied) => replace_copy(folder, &path)
                .with_context(|| format!("can't write {}", path.display()))?,
            None => {
                let made = HomeId::random().and_then(|id| make(folder, &path, &id));
                made.with_context(|| format!("can't write {}", path.display()))?;
            }
        }
    }
    bail!("{} comes and goes", path.display())
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
    understand(&text, inode).map(Some).with_context(|| {
        format!(
            "{} does not hold a home id; if no session of this home runs, remove it and a new one is made",
            path.display()
        )
    })
}

/// `text` is what a file with this inode holds.
fn understand(text: &str, inode: u64) -> anyhow::Result<HomeIdFile> {
    let mut lines = text.trim_end().lines();
    let id = HomeId::parse(lines.next().unwrap_or_default().trim())?;
    let Some(line) = lines.next() else { return Ok(HomeIdFile::Old(id)) };
    let written = line.strip_prefix("inode ").and_then(|number| number.trim().parse::<u64>().ok());
    let written = written.ok_or_else(|| anyhow!("its second line is {line:?}"))?;
    Ok(if written == inode { HomeIdFile::Own(id) } else { HomeIdFile::Copied })
}

/// A new file with this id beside its place, which knows its own inode.
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

/// Writes the id beside its place and links it there; the first wins.
fn make(folder: &Path, path: &Path, id: &HomeId) -> io::Result<()> {
    let draft = draft(folder, id)?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Gives an old file its second line. One at a time, and only if it is still an old one.
fn upgrade(folder: &Path, path: &Path) -> anyhow::Result<()> {
    let _locked = lock(folder)?;
    if let Some(HomeIdFile::Old(id)) = read(path)? {
        fs::rename(draft(folder, &id)?, path)?;
    }
    Ok(())
}

/// Puts the original's id aside and makes one for the copy. One at a time, and only if it is still one.
fn replace_copy(folder: &Path, path: &Path) -> anyhow::Result<()> {
    let _locked = lock(folder)?;
    if read(path)? == Some(HomeIdFile::Copied) {
        let new = draft(folder, &HomeId::random()?)?;
        fs::copy(path, folder.join(COPIED))?;
        fs::rename(new, path)?;
        say(&format!(
            "the home {} is a copy of another: it gets an id of its own, and what runs for the original \
             is none of its business (the former id is kept in {COPIED})",
            folder.display()
        ));
    }
    Ok(())
}

/// Held as long as the folder is open.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let folder = File::open(folder)?;
    rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
    Ok(folder)
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
        let home = Home::at(folder.path().join("a/b")).unwrap();
        assert_eq!(Home::at(home.folder.clone()).unwrap().id, home.id);
        assert_eq!(first_line(&home.folder), home.id.as_str());
        let names = fs::read_dir(&home.folder).unwrap().count();
        assert_eq!(names, 1, "no draft is left");
    }

    #[test]
    fn a_file_of_one_line_is_upgraded_in_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(ID), "0123456789abcdef\n").unwrap();
        let home = Home::at(folder.path().to_owned()).unwrap();
        assert_eq!(home.id.as_str(), "0123456789abcdef");
        let text = fs::read_to_string(folder.path().join(ID)).unwrap();
        let inode = fs::metadata(folder.path().join(ID)).unwrap().ino();
        assert_eq!(text, format!("0123456789abcdef\ninode {inode}\n"));
    }

    #[test]
    fn a_copied_home_gets_an_id_of_its_own_and_the_original_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let original = Home::at(folder.path().join("original")).unwrap();
        let copy = folder.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(original.path(ID), copy.join(ID)).unwrap();
        let copied = Home::at(copy.clone()).unwrap();
        assert_ne!(copied.id, original.id);
        assert_eq!(first_line(&copy), copied.id.as_str());
        let kept = fs::read_to_string(copy.join(COPIED)).unwrap();
        assert!(kept.starts_with(original.id.as_str()), "{kept}");
        assert_eq!(Home::at(copy).unwrap().id, copied.id, "once and for all");
        assert_eq!(Home::at(original.folder.clone()).unwrap().id, original.id);
    }

    #[test]
    fn a_home_that_was_moved_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("here")).unwrap();
        let there = folder.path().join("there");
        fs::rename(&home.folder, &there).unwrap();
        assert_eq!(Home::at(there).unwrap().id, home.id);
    }

    #[test]
    fn garbage_is_refused_and_left_as_it_is() {
        for text in ["garbage\n", "", "0123456789abcdef\nnonsense\n"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(ID), text).unwrap();
            let error = format!("{:#}", Home::at(folder.path().to_owned()).unwrap_err());
            assert!(error.contains("does not hold a home id"), "{error}");
            assert_eq!(fs::read_to_string(folder.path().join(ID)).unwrap(), text);
        }
    }

    #[test]
    fn many_at_once_agree() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        let open = || Home::at(path.clone()).unwrap().id;
        let ids = std::thread::scope(|scope| {
            let threads = (0..8).map(|_| scope.spawn(open)).collect::<Vec<_>>();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}
