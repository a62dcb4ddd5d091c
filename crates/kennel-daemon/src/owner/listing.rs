//! The list of sessions, ready to be sent.
//!
//! The JSON of a session is kept with it and reused until the session changes: between two lists
//! only a few sessions do. A stamp decides whether it is current, so no code has to remember to
//! drop it.

use std::collections::BTreeMap;

use bytes::Bytes;
use kennel_core::Revision;
use kennel_register::SessionTimes;
use kennel_types::api::ListRequest;
use kennel_types::{Phase, SessionId, SessionView};
use serde_json::Error;

use super::Owner;
use crate::error::ApiError;

/// A `SessionPage` whose parts are already JSON.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    sessions: Vec<Bytes>,
    next: Option<SessionId>,
}

impl Listing {
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

/// The JSON of a session, and the state that it was made from.
#[derive(Debug, Clone)]
pub(super) struct CachedJson {
    of: Stamp,
    json: Bytes,
}

/// The state on which a view depends, as far as it belongs to one session alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    revision: Revision,
    times: SessionTimes,
    unsaved: bool,
    /// How many problems there were: the number only grows.
    trouble: usize,
    launches: u32,
}

fn write(view: &SessionView) -> Result<Bytes, Error> {
    serde_json::to_vec(view).map(Bytes::from)
}

impl Owner {
    pub(crate) fn list(&mut self, request: &ListRequest) -> Result<Listing, ApiError> {
        let (ids, next) = kennel_core::page(request, self.world.sessions());
        let mut listing = Listing { sessions: Vec::with_capacity(ids.len()), next };
        let mut places = None;
        let mut news = Vec::new();
        for id in ids {
            let stamp = self.stamp(id);
            if let Some(json) = stamp.and_then(|stamp| self.cached(id, stamp)) {
                listing.sessions.push(json);
                continue;
            }
            let Some(mut view) = self.view_without_position(id) else { continue };
            if view.phase == Phase::Queued {
                let places: &BTreeMap<_, _> =
                    places.get_or_insert_with(|| self.world.queue_positions());
                view.queue_position = places.get(id).map(|place| *place as u64);
            }
            let json = write(&view).map_err(ApiError::internal)?;
            listing.sessions.push(json.clone());
            news.extend(stamp.map(|of| (id.clone(), CachedJson { of, json })));
        }
        for (id, cached) in news {
            self.launches.update(&id, |runtime| runtime.cached = Some(cached));
        }
        Ok(listing)
    }

    /// Returns none if the view depends on other sessions: on the position in the queue, or on a
    /// later launch that has taken over its worktree.
    fn stamp(&self, id: &SessionId) -> Option<Stamp> {
        let session = self.world.get(id)?;
        if session.phase == Phase::Queued || !session.kept.is_empty() {
            return None;
        }
        let runtime = self.launches.get(id)?;
        Some(Stamp {
            revision: self.world.revision(id)?,
            times: runtime.times,
            unsaved: runtime.unsaved,
            trouble: runtime.trouble.len(),
            launches: self.launches_of(id),
        })
    }

    /// Returns the JSON of a session, if it is current.
    fn cached(&self, id: &SessionId, now: Stamp) -> Option<Bytes> {
        let cached = self.launches.get(id)?.cached.as_ref();
        let json = &cached.filter(|cached| cached.of == now)?.json;
        debug_assert!(self.is_as_shown(id, json), "session {id} has changed without its stamp");
        Some(json.clone())
    }

    /// Whether this is the current JSON of the session.
    fn is_as_shown(&self, id: &SessionId, json: &Bytes) -> bool {
        self.view(id).and_then(|view| write(&view).ok()).is_some_and(|shown| shown == *json)
    }
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
            let cached = sessions.iter().map(|view| write(view).unwrap()).collect();
            let listing = Listing { sessions: cached, next: next.clone() };
            let expected = serde_json::to_vec(&SessionPage { sessions, next }).unwrap();
            let json = listing.json().unwrap();
            assert_eq!(String::from_utf8_lossy(&json), String::from_utf8_lossy(&expected));
        }
    }
}
