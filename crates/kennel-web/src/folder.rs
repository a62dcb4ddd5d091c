//! Files that are read from a folder for each request.

use std::borrow::Cow;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::{Asset, content_type};

#[derive(Debug, thiserror::Error)]
#[error("can't read {path}")]
pub struct ReadAssetError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

pub(crate) fn find(folder: &Path, address: &str) -> Result<Option<Asset>, ReadAssetError> {
    let Some(inside) = address.strip_prefix('/').map(Path::new) else { return Ok(None) };
    if !inside.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(None);
    }
    let path = folder.join(inside);
    match read(folder, &path) {
        Ok(found) => Ok(found.map(|bytes| asset(address, bytes))),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(ReadAssetError { path, source }),
    }
}

/// Returns `None` if the path is not a regular file, or if a symbolic link leads out of the folder.
fn read(folder: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let real = path.canonicalize()?;
    if !real.starts_with(folder.canonicalize()?) || !real.is_file() {
        return Ok(None);
    }
    fs::read(real).map(Some)
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}

/// Creates an asset that is never immutable, because the file may change at any time.
fn asset(address: &str, bytes: Vec<u8>) -> Asset {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Asset {
        content_type: content_type(address),
        hash: Cow::Owned(format!("{:016x}", hasher.finish())),
        plain: Cow::Owned(bytes),
        gzip: None,
        immutable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_current_files_and_nothing_outside_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("dist");
        fs::create_dir_all(folder.join("assets")).unwrap();
        fs::write(parent.path().join("secret"), "no").unwrap();
        fs::write(folder.join("assets/a.js"), "1").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("out.js")).unwrap();
        let bytes =
            |address: &str| find(&folder, address).unwrap().map(|asset| asset.plain.into_owned());
        assert_eq!(bytes("/assets/a.js").as_deref(), Some(&b"1"[..]));
        fs::write(folder.join("assets/a.js"), "2").unwrap();
        assert_eq!(bytes("/assets/a.js").as_deref(), Some(&b"2"[..]));
        let found = find(&folder, "/assets/a.js").unwrap().unwrap();
        assert!(!found.immutable && found.content_type.starts_with("text/javascript"));
        let secret = parent.path().join("secret");
        let absolute = format!("/{}", secret.display());
        for address in [
            "/../secret",
            "/assets/../../secret",
            "/assets/../assets/a.js",
            "/./assets/a.js",
            "/out.js",
            "/assets",
            "/",
            "",
            "assets/a.js",
            "/assets/b.js",
            "/assets/a.js/x",
            "/nul\0",
            &absolute,
        ] {
            assert_eq!(bytes(address), None, "{address:?}");
        }
    }
}
