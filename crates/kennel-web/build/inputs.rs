//! The inputs of the dashboard's build, and a hash of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Folders that are inputs, with everything in them.
const FOLDERS: [&str; 2] = ["src", "public"];
/// Extensions of other input files: the page itself, packages and configuration.
const EXTENSIONS: [&str; 6] = ["html", "json", "ts", "js", "mjs", "cjs"];

/// Returns the existing inputs. A folder includes everything in it.
pub(crate) fn watched(web: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(web).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| is_input(path)).collect();
    paths.sort();
    paths
}

fn is_input(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if path.is_dir() {
        return FOLDERS.contains(&name);
    }
    let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    // Vite briefly writes its compiled configuration next to the source.
    name == ".npmrc" || (EXTENSIONS.contains(&kind) && !name.contains(".timestamp-"))
}

pub(crate) fn hash(web: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for path in watched(web) {
        add_files(&path, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.strip_prefix(web).unwrap_or(&file).as_os_str().as_encoded_bytes();
        let bytes = fs::read(&file)?;
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(hex(&hash.finalize()))
}

/// Returns the path itself, or all files below it.
pub(crate) fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        add_files(&entry?.path(), files)?;
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
