//! The dashboard's files. The build script builds them with npm and embeds them in the program.
//!
//! If they can't be built, the crate is built without them, and [`Site::missing_reason`] returns the reason.

mod file;
mod folder;

use std::borrow::Cow;
use std::path::PathBuf;

pub use folder::ReadAssetError;

/// The page for every path of the dashboard.
pub const INDEX: &str = "/index.html";

/// The folder of files whose names contain a hash of their content.
const HASHED: &str = "/assets/";

/// A file of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// Its media type.
    pub content_type: &'static str,
    /// A hash of its content.
    pub hash: Cow<'static, str>,
    /// Its content.
    pub plain: Cow<'static, [u8]>,
    /// Its compressed content, if that is smaller.
    pub gzip: Option<Cow<'static, [u8]>>,
    /// Whether the content at its path never changes.
    pub immutable: bool,
}

/// Where the dashboard's files come from: the program itself, or, for developers of the dashboard, a folder that is read for
/// each request.
#[derive(Debug, Clone, Default)]
pub struct Site(pub Option<PathBuf>);

impl Site {
    /// Returns whether files are read from the disk, which may block.
    #[must_use]
    pub fn is_in_folder(&self) -> bool {
        self.0.is_some()
    }

    /// Returns why there is no dashboard, or `None` if there is one.
    #[must_use]
    pub fn missing_reason(&self) -> Option<&'static str> {
        match self.0 {
            Some(_) => None,
            None => file::missing_reason(),
        }
    }

    /// Returns the file at a path, which begins with a slash.
    ///
    /// # Errors
    /// The file exists but can't be read.
    pub fn find(&self, address: &str) -> Result<Option<Asset>, ReadAssetError> {
        match &self.0 {
            Some(folder) => folder::find(folder, address),
            None => Ok(file::find(address)),
        }
    }
}

/// Returns the media type for the extension of a path.
fn content_type(address: &str) -> &'static str {
    let (_, extension) = address.rsplit_once('.').unwrap_or_default();
    match extension {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
