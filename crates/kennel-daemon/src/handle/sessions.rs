//! Requests about sessions.

use kennel_types::api::{
    CreateRequest, InspectView, ListRequest, PruneRequest, PruneResponse, ResumeRequest, StdinFrom,
    StopRequest, StopResponse,
};
use kennel_types::{SessionId, SessionView};
use rustix::fd::OwnedFd;
use tokio::sync::oneshot;

use kennel_types::api::Until;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::launch::request::LaunchRequest;
use crate::os::clock;
use crate::owner::bus::Tether;
use crate::owner::relaunch::Resume;
use crate::owner::waiters::Waiter;
use crate::owner::{Owner, inspect};

/// Who asks, in the event log, if the request does not say so.
const ANONYMOUS: &str = "the API";

/// Cancels a prompt when it is dropped before the prompt is over.
#[derive(Debug)]
#[must_use]
pub struct CancelOnDrop(
    #[expect(dead_code, reason = "its drop is the message")] oneshot::Sender<()>,
);

/// The two ends of a tether: what it is tied to ends if the first is dropped without a message.
pub(super) fn tether(tied: bool) -> (oneshot::Sender<()>, Option<Tether>) {
    let (holder, tether) = oneshot::channel();
    (holder, tied.then_some(tether))
}

impl DaemonHandle {
    /// Creates a session and launches it; answers once it has come as far as `until`. With `rejoin`, finds the session
    /// that the same request created before a daemon was killed. Dropping the future ends a tethered session.
    ///
    /// # Errors
    /// The request is invalid or refused.
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
        let (holder, tether) = tether(launch.spec.tethered);
        let create = move |owner: &mut Owner, answer| {
            let waiter = Waiter::until(until, answer);
            match rejoin {
                None => owner.create(launch, tether, waiter),
                Some(session) => owner.ask_again(&session, launch, tether, waiter),
            }
        };
        let view = self.request(create).await?;
        // Without a tether the other end is gone.
        holder.send(()).ok();
        Ok(view)
    }

    /// Launches an ended session again. Dropping the future ends a tethered one.
    ///
    /// # Errors
    /// The request is invalid or refused.
    pub async fn resume(
        &self,
        reference: String,
        request: ResumeRequest,
        until: Until,
    ) -> Result<SessionView, ApiError> {
        let given = self.take_stdin(&request.stdin);
        let (holder, tether) = tether(request.tethered);
        let resume = move |owner: &mut Owner, answer| {
            owner.resume(Resume { reference, request, given, until, tether, answer });
        };
        let view = self.request(resume).await?;
        holder.send(()).ok();
        Ok(view)
    }

    fn take_stdin(&self, from: &StdinFrom) -> Option<OwnedFd> {
        match from {
            StdinFrom::Deposit { ticket } => self.0.stdin.take(ticket),
            StdinFrom::Null | StdinFrom::Pipe => None,
        }
    }

    /// A page of sessions, as JSON: views are encoded once, however often they are listed.
    ///
    /// # Errors
    /// The request is invalid.
    pub async fn list(&self, request: ListRequest) -> Result<Vec<u8>, ApiError> {
        request.check().map_err(ApiError::invalid)?;
        let listing = self.ask(move |owner| owner.list(&request)).await?;
        listing.json().map_err(ApiError::internal)
    }

    /// One session.
    ///
    /// # Errors
    /// It is unknown.
    pub async fn show(&self, reference: String) -> Result<SessionView, ApiError> {
        self.ask(move |owner| owner.find(&reference).and_then(|id| owner.show(&id))).await
    }

    /// One session, with its processes and its history.
    ///
    /// # Errors
    /// It is unknown.
    pub async fn inspect(&self, reference: String) -> Result<InspectView, ApiError> {
        let inspected = self.ask(move |owner| {
            let id = owner.find(&reference)?;
            Ok((owner.inspected(&id)?, id))
        });
        let (mut view, id) = inspected.await?;
        inspect::inspect(&self.0.home, &self.0.register, id, &mut view).await;
        Ok(view)
    }

    /// Waits until a session is over. Dropping the future ends it if it is `tied` to the caller.
    ///
    /// # Errors
    /// It is unknown, or the daemon shuts down first.
    pub async fn wait(&self, reference: String, tied: bool) -> Result<SessionView, ApiError> {
        let (holder, tether) = tether(tied);
        let wait = move |owner: &mut Owner, answer| owner.wait_for(&reference, tether, answer);
        let ended = self.request(wait).await;
        holder.send(()).ok();
        ended
    }

    /// Ties a prompt to what this returns.
    pub fn cancel_on_drop(&self, reference: String) -> CancelOnDrop {
        let (holder, tether) = oneshot::channel();
        let handle = self.clone();
        tokio::spawn(async move {
            let wait =
                move |owner: &mut Owner, answer| owner.wait_for(&reference, Some(tether), answer);
            // The caller learns the outcome elsewhere.
            handle.request(wait).await.ok();
        });
        CancelOnDrop(holder)
    }

    /// Stops a session.
    ///
    /// # Errors
    /// It is unknown, or can't be stopped.
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
    ///
    /// # Errors
    /// It is unknown, or can't be given up.
    pub async fn forget(&self, reference: String, by: String) -> Result<SessionView, ApiError> {
        self.request(move |owner, answer| owner.forget(&reference, by, answer)).await
    }

    /// Removes an ended session from the record.
    ///
    /// # Errors
    /// It is unknown or has not ended.
    pub async fn remove(&self, reference: String) -> Result<(), ApiError> {
        self.request(move |owner, answer| owner.remove(&reference, answer)).await
    }

    /// Removes ended sessions from the record.
    ///
    /// # Errors
    /// The daemon is shutting down.
    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneResponse, ApiError> {
        self.pruned(request, false).await
    }

    /// Lists the sessions that a prune would remove.
    ///
    /// # Errors
    /// The daemon is shutting down.
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
