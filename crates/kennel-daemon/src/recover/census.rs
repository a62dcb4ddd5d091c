//! What recovery has to know about the sessions on record, and its requests to the owner.

use std::collections::{HashMap, HashSet};
use std::io;

use kennel_types::SessionId;
use tokio::sync::oneshot;

use crate::event_sender::EventSender;
use crate::keeper::yard::YardKeepers;

#[derive(Debug)]
pub(crate) enum RecoveryRequest {
    Census {
        answer: oneshot::Sender<SessionCensus>,
    },
    /// Asks for the yard's keepers. The answer is dropped if the yard is gone.
    Keepers {
        answer: oneshot::Sender<YardKeepers>,
    },
    Note {
        session: Option<SessionId>,
        kind: &'static str,
        cause: String,
    },
}

/// The sessions on record at one moment.
#[derive(Debug, Default)]
pub(crate) struct SessionCensus {
    /// Sessions that are not cleaned yet, with what is known of their processes.
    pub(crate) live: HashMap<String, LiveSession>,
    pub(crate) known: HashSet<SessionId>,
    pub(crate) own: HashSet<i32>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSession {
    pub(crate) keeper: Option<i32>,
    pub(crate) lost: bool,
}

impl SessionCensus {
    pub(crate) async fn take(owner: &EventSender<RecoveryRequest>) -> io::Result<Self> {
        let (answer, census) = oneshot::channel();
        // If the owner is gone, the answer is dropped.
        owner.send(RecoveryRequest::Census { answer });
        census.await.map_err(|_| io::Error::other("the daemon is shutting down"))
    }

    pub(crate) fn keepers(&self) -> impl Iterator<Item = (&str, i32)> {
        self.live.iter().filter_map(|(id, session)| Some((id.as_str(), session.keeper?)))
    }
}
