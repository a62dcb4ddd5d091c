//! Writes the files and a table of them to the folder from which the crate includes them.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::inputs::{add_files, hex};

const HASH_DIGITS: usize = 20;

/// Includes the files in `dist`.
pub(crate) fn write(dist: &Path, out: &Path) -> io::Result<()> {
    let folder = out.join("page");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&folder)?,
    }
    let mut files = Vec::new();
    add_files(dist, &mut files)?;
    let mut named: Vec<_> =
        files.into_iter().filter_map(|file| Some((address(dist, &file)?, file))).collect();
    named.sort();
    let mut table =
        "const MISSING_REASON: Option<&str> = None;\nstatic FILES: &[BuiltInFile] = &[\n"
            .to_owned();
    for (number, (address, file)) in named.iter().enumerate() {
        let bytes = fs::read(file)?;
        let plain = put(&folder, number.to_string(), &bytes)?;
        let compressed = compress(&bytes)?;
        // Images and fonts are compressed already.
        let gzip = match compressed.len() < bytes.len() * 9 / 10 {
            true => format!("Some({})", put(&folder, format!("{number}.gz"), &compressed)?),
            false => "None".to_owned(),
        };
        let hash = &hex(&Sha256::digest(&bytes))[..HASH_DIGITS];
        let line = format!(
            "    BuiltInFile {{ path: {address:?}, hash: {hash:?}, plain: {plain}, gzip: {gzip} }},"
        );
        writeln!(table, "{line}").map_err(io::Error::other)?;
    }
    table.push_str("];\n");
    fs::write(out.join("table.rs"), table)
}

/// Writes an empty table with the reason why there are no files.
pub(crate) fn write_none(out: &Path, reason: &str) -> io::Result<()> {
    let table = format!(
        "const MISSING_REASON: Option<&str> = Some({reason:?});\nstatic FILES: &[BuiltInFile] = &[];\n"
    );
    fs::write(out.join("table.rs"), table)
}

/// Returns the path of a file in URLs, or `None` for hidden files and source maps.
fn address(dist: &Path, file: &Path) -> Option<String> {
    let inside = file.strip_prefix(dist).ok()?.to_str()?;
    let hidden = inside.split('/').any(|part| part.starts_with('.'));
    (!hidden && !inside.ends_with(".map")).then(|| format!("/{inside}"))
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Writes a file; returns the expression that includes it.
fn put(folder: &Path, name: String, bytes: &[u8]) -> io::Result<String> {
    let path: PathBuf = folder.join(name);
    fs::write(&path, bytes)?;
    Ok(format!("include_bytes!({path:?})"))
}
