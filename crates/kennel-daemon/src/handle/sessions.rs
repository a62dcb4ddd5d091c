//! Requests about sessions.

use kennel_types::api::{
    CreateRequest, InspectView, ListRequest, PruneRequest, PruneResponse, ResumeRequest, StdinFrom,
    StopRequest, StopResponse, Until,
};
use kennel_types::{SessionId, SessionView};
use rustix::fd::OwnedFd;
use tokio::sync::oneshot;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::launch::request::LaunchRequest;
use crate::os::clock;
use crate::owner::relaunch::Resume;
use crate::owner::waiters::Waiter;
use crate::owner::{Owner, inspect};

/// The requester in the event log, if the request does not name one.
const ANONYMOUS: &str = "the API";

/// Cancels a prompt when it is dropped before the prompt is over.
#[derive(Debug)]
#[must_use]
pub struct CancelOnDrop(
    #[expect(dead_code, reason = "its drop is the message")] oneshot::Sender<()>,
);

impl DaemonHandle {
    /// Creates a session and launches it; answers once it has reached `until`. With `rejoin`,
    /// finds the session that the same request created before a daemon was killed.
    /// Dropping the future ends a tethered session.
    pub async fn create(
        &self,
        mut request: CreateRequest,
        until: Until,
        rejoin: Option<SessionId>,
    ) -> Result<SessionView, ApiError> {
        if request.spec.asked_by.is_empty() {
            ANONYMOUS.clone_into(&mut request.spec.asked_by);
        }
        let stdin = self.take_stdin(&request.stdin);
        let launch = Box::new(LaunchRequest::new(request, stdin)?);
        self.request_with_disconnect(launch.spec.tethered, move |owner, disconnect, answer| {
            let waiter = Waiter::Until(until, answer);
            match rejoin {
                None => owner.create(launch, disconnect, waiter),
                Some(session) => owner.repeat_request(&session, launch, disconnect, waiter),
            }
        })
        .await
    }

    /// Launches an ended session again. Dropping the future ends a tethered one.
    pub async fn resume(
        &self,
        reference: String,
        request: ResumeRequest,
        until: Until,
    ) -> Result<SessionView, ApiError> {
        let given = self.take_stdin(&request.stdin);
        self.request_with_disconnect(request.tethered, move |owner, disconnect, answer| {
            owner.resume(Resume { reference, request, given, until, disconnect, answer });
        })
        .await
    }

    fn take_stdin(&self, from: &StdinFrom) -> Option<OwnedFd> {
        match from {
            StdinFrom::Deposit { ticket } => self.0.stdin.take(ticket),
            StdinFrom::Null | StdinFrom::Pipe => None,
        }
    }

    /// Returns a page of sessions, as JSON: views are encoded once, however often they are listed.
    pub async fn list(&self, request: ListRequest) -> Result<Vec<u8>, ApiError> {
        request.check().map_err(ApiError::invalid)?;
        let listing = self.ask(move |owner| owner.list(&request)).await?;
        listing.json().map_err(ApiError::internal)
    }

    pub async fn show(&self, reference: String) -> Result<SessionView, ApiError> {
        self.ask(move |owner| owner.find(&reference).and_then(|id| owner.show(&id))).await
    }

    /// Shows one session, with its processes and its history.
    pub async fn inspect(&self, reference: String) -> Result<InspectView, ApiError> {
        let inspected = self.ask(move |owner| {
            let id = owner.find(&reference)?;
            Ok((owner.inspected(&id)?, id))
        });
        let (mut view, id) = inspected.await?;
        inspect::inspect(&self.0.home, &self.0.register, id, &mut view).await;
        Ok(view)
    }

    /// Waits until a session is over. Dropping the future ends it with `cancel_on_disconnect`.
    pub async fn wait(
        &self,
        reference: String,
        cancel_on_disconnect: bool,
    ) -> Result<SessionView, ApiError> {
        self.request_with_disconnect(cancel_on_disconnect, move |owner, disconnect, answer| {
            owner.wait_for(&reference, disconnect, answer);
        })
        .await
    }

    /// Returns a guard that cancels the prompt when it is dropped.
    pub fn cancel_on_drop(&self, reference: String) -> CancelOnDrop {
        let (holder, disconnect) = oneshot::channel();
        let handle = self.clone();
        tokio::spawn(async move {
            let wait = move |owner: &mut Owner, answer| {
                owner.wait_for(&reference, Some(disconnect), answer)
            };
            // The caller gets the outcome from another request.
            handle.request(wait).await.ok();
        });
        CancelOnDrop(holder)
    }

    pub async fn stop(
        &self,
        reference: String,
        mut request: StopRequest,
    ) -> Result<StopResponse, ApiError> {
        if request.by.is_empty() {
            ANONYMOUS.clone_into(&mut request.by);
        }
        self.request(move |owner, answer| owner.stop(&reference, request, answer)).await
    }

    /// Gives up a lost session, or an adopted one.
    pub async fn forget(&self, reference: String, by: String) -> Result<SessionView, ApiError> {
        self.request(move |owner, answer| owner.forget(&reference, by, answer)).await
    }

    pub async fn remove(&self, reference: String) -> Result<(), ApiError> {
        self.request(move |owner, answer| owner.remove(&reference, answer)).await
    }

    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneResponse, ApiError> {
        self.pruned(request, false).await
    }

    pub async fn preview_prune(&self, request: &PruneRequest) -> Result<PruneResponse, ApiError> {
        self.pruned(request, true).await
    }

    async fn pruned(
        &self,
        request: &PruneRequest,
        dry_run: bool,
    ) -> Result<PruneResponse, ApiError> {
        let before_ms = request.older_than_ms.map(|age| clock::now_ms().saturating_sub(age));
        self.request(move |owner, answer| owner.prune(before_ms, dry_run, answer)).await
    }
}
