//! The files that are in the program.

use std::borrow::Cow;

use crate::{Asset, HASHED, content_type};

/// One of them, as the build script writes it down.
#[derive(Debug)]
struct File {
    path: &'static str,
    sum: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
}

// The table, by path, and why it is empty.
include!(concat!(env!("OUT_DIR"), "/table.rs"));

pub(crate) fn why_not() -> Option<&'static str> {
    WHY_NOT
}

pub(crate) fn find(address: &str) -> Option<Asset> {
    let at = FILES.binary_search_by_key(&address, |file| file.path).ok()?;
    let File { path, sum, plain, gzip } = &FILES[at];
    Some(Asset {
        content_type: content_type::of(path),
        sum: Cow::Borrowed(sum),
        plain: Cow::Borrowed(plain),
        gzip: gzip.map(Cow::Borrowed),
        immutable: path.starts_with(HASHED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{INDEX, Site};

    /// The values of an attribute in a page.
    fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        let parts = page.split(attribute).skip(1);
        parts.filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
    }

    #[test]
    fn the_page_is_whole_or_it_is_said_why_there_is_none() {
        let site = Site::built_in();
        let Some(index) = find(INDEX) else {
            assert!(site.why_not().is_some_and(|why| !why.is_empty()));
            return;
        };
        assert_eq!(site.why_not(), None);
        assert!(!index.immutable && index.content_type.starts_with("text/html"));
        let page = String::from_utf8(index.plain.into_owned()).unwrap();
        let places: Vec<_> = values(&page, "src").chain(values(&page, "href")).collect();
        assert!(places.iter().any(|place| place.ends_with(".js")), "{page}");
        for place in places {
            assert!(find(place).is_some(), "{place} is not there");
        }
        // The policy that it is served with lets no script run that stands in the page itself.
        assert_eq!(page.matches("<script").count(), values(&page, "src").count(), "{page}");
        let sorted = FILES.is_sorted_by_key(|file| file.path);
        assert!(sorted && FILES.iter().all(|file| !file.sum.is_empty()));
    }
}
