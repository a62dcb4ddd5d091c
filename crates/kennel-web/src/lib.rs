//! The page of the dashboard: files that were made by npm when this crate was built, and are part of the program.
//!
//! Where they could not be made, the crate is built all the same, and [`Site::why_not`] tells why.

mod content_type;
mod file;
mod folder;

use std::borrow::Cow;
use std::path::PathBuf;

pub use folder::ReadAssetError;

/// The page that an address of the app leads to.
pub const INDEX: &str = "/index.html";

/// Where the files are whose names change with what is in them.
const HASHED: &str = "/assets/";

/// A file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its media type.
    pub content_type: &'static str,
    /// A sum of what is in it.
    pub sum: Cow<'static, str>,
    /// What is in it.
    pub plain: Cow<'static, [u8]>,
    /// The same, compressed, if that is worth it.
    pub gzip: Option<Cow<'static, [u8]>>,
    /// Whether there will never be anything else at its address.
    pub immutable: bool,
}

/// Where the files of the page are.
#[derive(Debug, Clone, Default)]
pub struct Site(Option<PathBuf>);

impl Site {
    /// In the program.
    #[must_use]
    pub fn built_in() -> Self {
        Self(None)
    }

    /// In a folder, read anew each time: for those who work on the page.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self(Some(folder))
    }

    /// Whether files are read from disk, which may take its time.
    #[must_use]
    pub fn is_in_folder(&self) -> bool {
        self.0.is_some()
    }

    /// Why there is no page; none if there is one.
    #[must_use]
    pub fn why_not(&self) -> Option<&'static str> {
        match self.0 {
            Some(_) => None,
            None => file::why_not(),
        }
    }

    /// The file at an address, which begins with a slash; none if there is none.
    pub fn find(&self, address: &str) -> Result<Option<Asset>, ReadAssetError> {
        match &self.0 {
            Some(folder) => folder::find(folder, address),
            None => Ok(file::find(address)),
        }
    }
}
