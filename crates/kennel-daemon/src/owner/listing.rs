//! A page of sessions, ready to be sent.

use bytes::Bytes;
use kennel_core::Revision;
use kennel_types::{SessionId, SessionView};
use serde_json::Error;

use kennel_register::SessionTimes;

/// A `SessionPage`, of parts that are JSON already.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The JSON of each session.
    pub(crate) sessions: Vec<Bytes>,
    pub(crate) next: Option<SessionId>,
}

impl Listing {
    /// Returns the JSON of the page.
    pub(crate) fn json(&self) -> Result<Vec<u8>, Error> {
        const PARTS: [&[u8]; 3] = [b"{\"sessions\":[", b"],\"next\":", b"}"];
        let [begin, next, end] = PARTS;
        let following = serde_json::to_vec(&self.next)?;
        let around = PARTS.concat().len() + following.len();
        let views: usize = self.sessions.iter().map(|view| view.len() + 1).sum();
        let mut page = Vec::with_capacity(around + views);
        page.extend(begin);
        for (place, view) in self.sessions.iter().enumerate() {
            if place > 0 {
                page.push(b',');
            }
            page.extend(view);
        }
        for part in [next, &following, end] {
            page.extend(part);
        }
        Ok(page)
    }
}

/// The JSON of a session, and the state that it was made of.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) of: Stamp,
    pub(crate) json: Bytes,
}

/// The state on which a view depends, as far as it belongs to one session alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) revision: Revision,
    pub(crate) times: SessionTimes,
    pub(crate) unsaved: bool,
    /// How many problems there were: the number only grows.
    pub(crate) trouble: usize,
    /// How many launches there are of the session.
    pub(crate) launches: u32,
}

/// Returns the JSON of a view.
pub(crate) fn write(view: &SessionView) -> Result<Bytes, Error> {
    serde_json::to_vec(view).map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kennel_core::Session;
    use kennel_types::api::SessionPage;
    use kennel_types::{IdMaker, LaunchToken, SessionSpec};

    use super::*;

    #[test]
    fn a_page_has_the_json_of_its_type() {
        let mut ids = IdMaker::default();
        let views: Vec<_> = (0..3)
            .map(|number| {
                let name = Some(format!("\"{number}\\"));
                let spec = SessionSpec { name, ..SessionSpec::default() };
                let session = Session::new(ids.next(0, 1), spec, LaunchToken::new(1), Vec::new());
                crate::owner::view::session(
                    &session,
                    SessionTimes::default(),
                    Path::new("/h"),
                    false,
                )
            })
            .collect();
        for (count, next) in [(0, None), (1, None), (3, Some(ids.next(0, 1)))] {
            let sessions = views[..count].to_vec();
            let written = sessions.iter().map(|view| write(view).unwrap()).collect();
            let listing = Listing { sessions: written, next: next.clone() };
            let expected = serde_json::to_vec(&SessionPage { sessions, next }).unwrap();
            let json = listing.json().unwrap();
            assert_eq!(String::from_utf8_lossy(&json), String::from_utf8_lossy(&expected));
        }
    }
}
