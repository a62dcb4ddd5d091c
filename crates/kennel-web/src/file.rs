//! The files that are built into the program.

use std::borrow::Cow;

use crate::{Asset, HASHED, content_type};

/// A file, as the build script writes it to the table.
#[derive(Debug)]
struct BuiltInFile {
    path: &'static str,
    hash: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
}

// The table of files, sorted by path, and the reason if it is empty.
include!(concat!(env!("OUT_DIR"), "/table.rs"));

pub(crate) fn missing_reason() -> Option<&'static str> {
    MISSING_REASON
}

pub(crate) fn find(address: &str) -> Option<Asset> {
    let at = FILES.binary_search_by_key(&address, |file| file.path).ok()?;
    let BuiltInFile { path, hash, plain, gzip } = &FILES[at];
    Some(Asset {
        content_type: content_type(path),
        hash: Cow::Borrowed(hash),
        plain: Cow::Borrowed(plain),
        gzip: gzip.map(Cow::Borrowed),
        immutable: path.starts_with(HASHED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{INDEX, Site};

    /// The values of an attribute in an HTML page.
    fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        let parts = page.split(attribute).skip(1);
        parts.filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
    }

    #[test]
    fn the_dashboard_is_complete_or_has_a_reason_for_missing() {
        let site = Site::default();
        let Some(index) = find(INDEX) else {
            assert!(site.missing_reason().is_some_and(|reason| !reason.is_empty()));
            return;
        };
        assert_eq!(site.missing_reason(), None);
        assert!(!index.immutable && index.content_type.starts_with("text/html"));
        let page = String::from_utf8(index.plain.into_owned()).unwrap();
        let paths: Vec<_> = values(&page, "src").chain(values(&page, "href")).collect();
        assert!(paths.iter().any(|path| path.ends_with(".js")), "{page}");
        for path in paths {
            assert!(find(path).is_some(), "{path} is missing");
        }
        // Its content security policy forbids inline scripts.
        assert_eq!(page.matches("<script").count(), values(&page, "src").count(), "{page}");
        let sorted = FILES.is_sorted_by_key(|file| file.path);
        assert!(sorted && FILES.iter().all(|file| !file.hash.is_empty()));
    }
}
