//! What the page is made from, and a sum by which the same is known.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Folders that are part of it, with all that is in them.
const FOLDERS: [&str; 2] = ["src", "public"];
/// Of the files beside them those that end so: the page itself, packages, and how it is built.
const KINDS: [&str; 6] = ["html", "json", "ts", "js", "mjs", "cjs"];

/// What changes the page when it changes, of all that is there; folders stand for all that is in them.
pub(crate) fn watched(web: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(web).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| counts(path)).collect();
    paths.sort();
    paths
}

fn counts(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if path.is_dir() {
        return FOLDERS.contains(&name);
    }
    let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    // Vite has its configuration compiled beside it for a moment.
    name == ".npmrc" || (KINDS.contains(&kind) && !name.contains(".timestamp-"))
}

/// The sum of them all, with their names.
pub(crate) fn sum(web: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for path in watched(web) {
        add_files(&path, &mut files)?;
    }
    files.sort();
    let mut sum = Sha256::new();
    for file in files {
        let name = file.strip_prefix(web).unwrap_or(&file).as_os_str().as_encoded_bytes();
        let bytes = fs::read(&file)?;
        sum.update((name.len() as u64).to_le_bytes());
        sum.update(name);
        sum.update((bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    }
    Ok(hex(&sum.finalize()))
}

/// The path itself, or all files below it.
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

/// Bytes as people write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
