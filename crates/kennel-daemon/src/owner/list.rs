//! The list of sessions.
//!
//! The JSON of a session is kept with it and reused until the session changes: between two lists only a few sessions do. A
//! stamp decides whether it is current, so no code has to remember to drop it.

use std::collections::BTreeMap;

use bytes::Bytes;
use kennel_types::api::ListRequest;
use kennel_types::{Phase, SessionId, SessionView};

use super::Owner;
use crate::error::ApiError;
use crate::owner::listing::{self, Listing, Stamp, Written};

impl Owner {
    pub(crate) fn list(&mut self, wish: &ListRequest) -> Result<Listing, ApiError> {
        let (ids, next) = kennel_core::page(wish, self.world.sessions());
        let mut listing = Listing { sessions: Vec::with_capacity(ids.len()), next };
        let mut places = None;
        let mut news = Vec::new();
        for id in ids {
            let stamp = self.stamp(id);
            if let Some(json) = stamp.and_then(|stamp| self.written(id, stamp)) {
                listing.sessions.push(json);
                continue;
            }
            let Some(mut view) = self.view_without_position(id) else { continue };
            if view.phase == Phase::Queued {
                let places: &BTreeMap<_, _> =
                    places.get_or_insert_with(|| self.world.queue_positions());
                view.queue_place = places.get(id).map(|place| *place as u64);
            }
            let json = listing::write(&view).map_err(ApiError::internal)?;
            listing.sessions.push(json.clone());
            news.extend(stamp.map(|of| (id.clone(), Written { of, json })));
        }
        for (id, written) in news {
            if let Some(runtime) = self.runtimes.get_mut(&id) {
                runtime.written = Some(written);
            }
        }
        Ok(listing)
    }

    /// Returns none if the view depends on other sessions: on the position in the queue, or on a later launch that has taken
    /// over its worktree.
    fn stamp(&self, id: &SessionId) -> Option<Stamp> {
        let session = self.world.get(id)?;
        if session.phase == Phase::Queued || !session.kept.is_empty() {
            return None;
        }
        let runtime = self.runtimes.get(id)?;
        Some(Stamp {
            revision: self.world.revision(id)?,
            times: runtime.times,
            unsaved: runtime.unsaved,
            trouble: runtime.trouble.len(),
            launches: self.launches_of(id),
        })
    }

    /// Returns the JSON of a session, if it is current.
    fn written(&self, id: &SessionId, now: Stamp) -> Option<Bytes> {
        let written = self.runtimes.get(id)?.written.as_ref();
        let json = &written.filter(|written| written.of == now)?.json;
        debug_assert!(self.is_as_shown(id, json), "session {id} has changed without its stamp");
        Some(json.clone())
    }

    /// Whether this is the JSON of the session now.
    fn is_as_shown(&self, id: &SessionId, json: &Bytes) -> bool {
        let shown: Option<SessionView> = self.view(id);
        shown.and_then(|view| listing::write(&view).ok()).is_some_and(|shown| shown == *json)
    }
}
