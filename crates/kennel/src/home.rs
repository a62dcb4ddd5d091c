//! The home: the folder with Kennel's records, and its random id.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use kennel_pen::HomeId;

use crate::cli::HomeArgs;

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

/// The id of the home, which is made if it isn't there.
pub(crate) fn id(args: &HomeArgs) -> anyhow::Result<HomeId> {
    let folder = folder(args)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("can't make the home {}", folder.display()))?;
    let path = folder.join("id");
    // Two that start at once must agree: one makes the file, in whole, the other reads it.
    for _ in 0..2 {
        match fs::read_to_string(&path) {
            Ok(text) => return parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(&folder, &path).with_context(|| format!("can't write {}", path.display()))?;
            }
            Err(error) => {
                return Err(error).with_context(|| format!("can't read {}", path.display()));
            }
        }
    }
    bail!("{} comes and goes", path.display())
}

fn parse(path: &Path, text: &str) -> anyhow::Result<HomeId> {
    HomeId::parse(text.trim()).with_context(|| {
        format!(
            "{} does not hold a home id; if no session of this home runs, remove it and a new one is made",
            path.display()
        )
    })
}

/// Writes a new id beside its place and links it there; the first wins.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    let id = HomeId::random()?;
    let draft = folder.join(format!("id.{}.{id}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = writeln!(file, "{id}").and_then(|()| file.sync_all());
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
