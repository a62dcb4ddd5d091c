//! Puts the files of a page where the crate finds them, with a table of them.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::inputs::{add_files, hex};

/// How many digits of a sum tell two files apart.
const DIGITS: usize = 20;

/// The files of this page.
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
    let mut table = "const WHY_NOT: Option<&str> = None;\nstatic FILES: &[File] = &[\n".to_owned();
    for (number, (address, file)) in named.iter().enumerate() {
        let bytes = fs::read(file)?;
        let plain = put(&folder, number.to_string(), &bytes)?;
        let compressed = compress(&bytes)?;
        // What is compressed already gains nothing.
        let gzip = match compressed.len() < bytes.len() * 9 / 10 {
            true => format!("Some({})", put(&folder, format!("{number}.gz"), &compressed)?),
            false => "None".to_owned(),
        };
        let sum = &hex(&Sha256::digest(&bytes))[..DIGITS];
        let line = format!(
            "    File {{ path: {address:?}, sum: {sum:?}, plain: {plain}, gzip: {gzip} }},"
        );
        writeln!(table, "{line}").map_err(io::Error::other)?;
    }
    table.push_str("];\n");
    fs::write(out.join("table.rs"), table)
}

/// No page, and why.
pub(crate) fn write_none(out: &Path, why_not: &str) -> io::Result<()> {
    let table =
        format!("const WHY_NOT: Option<&str> = Some({why_not:?});\nstatic FILES: &[File] = &[];\n");
    fs::write(out.join("table.rs"), table)
}

/// At which address a file is served; hidden ones at none, nor what only a debugger wants.
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

/// Writes it down; gives how the crate says it.
fn put(folder: &Path, name: String, bytes: &[u8]) -> io::Result<String> {
    let path: PathBuf = folder.join(name);
    fs::write(&path, bytes)?;
    Ok(format!("include_bytes!({path:?})"))
}
