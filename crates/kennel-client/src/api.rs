//! The API as functions. [`Client::send`] sends any other request.

use kennel_types::api::{
    CreateMemberRequest, CreateRequest, DaemonView, InputRequest, InspectView, ListRequest,
    MemberView, PlanRequest, ResumeRequest, SessionPage, SignalRequest, StopRequest, StopResponse,
    StraysEnded, StraysView, Until, WorktreesView,
};
use kennel_types::plan::PlanView;
use kennel_types::{EventView, SessionView};
use serde::Serialize;

use crate::client::{Client, Lines, Timeout};
use crate::error::ClientError;

/// Selects events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Only events after this number.
    pub since: u64,
    /// Only events of this session.
    pub session: Option<String>,
    /// Whether to wait for further events.
    pub follow: bool,
}

type Answer<T> = Result<T, ClientError>;

/// # Errors
/// All of these fail if the daemon does not respond, or responds with an error.
impl Client {
    /// Fetches the status of the daemon.
    pub fn daemon(&self) -> Answer<DaemonView> {
        self.get("/v1/daemon")
    }

    /// Fetches a page of sessions.
    pub fn page(&self, request: &ListRequest) -> Answer<SessionPage> {
        self.get(&format!("/v1/sessions{}", query(request)?))
    }

    /// Fetches all sessions that the request selects, page by page.
    pub fn sessions(&self, request: &ListRequest) -> Answer<Vec<SessionView>> {
        let mut request = request.clone();
        let mut sessions = Vec::new();
        loop {
            let page = self.page(&request)?;
            sessions.extend(page.sessions);
            if page.next.is_none() {
                return Ok(sessions);
            }
            request.after = page.next;
        }
    }

    /// Fetches one session by its id, an unambiguous prefix of its id, or its name.
    pub fn session(&self, reference: &str) -> Answer<SessionView> {
        self.get(&session_path(reference, ""))
    }

    /// Creates a session. A repeated request with the same key returns the same session.
    pub fn create(&self, request: &CreateRequest, until: Until) -> Answer<SessionView> {
        self.send_and_wait("POST", &format!("/v1/sessions?until={}", until.name()), Some(request))
    }

    /// Launches a session again.
    pub fn resume(
        &self,
        reference: &str,
        request: &ResumeRequest,
        until: Until,
    ) -> Answer<SessionView> {
        let path = session_path(reference, &format!("/resume?until={}", until.name()));
        self.send_and_wait("POST", &path, Some(request))
    }

    /// Waits until a session is over.
    pub fn wait(&self, reference: &str) -> Answer<SessionView> {
        self.send_and_wait("GET", &session_path(reference, "/wait"), None::<&()>)
    }

    /// Stops all processes of a session.
    pub fn stop(&self, reference: &str, request: &StopRequest) -> Answer<StopResponse> {
        self.send_and_wait("POST", &session_path(reference, "/stop"), Some(request))
    }

    /// Fetches a session with its processes, resource usage and history.
    pub fn inspect(&self, reference: &str) -> Answer<InspectView> {
        self.get(&session_path(reference, "/inspect"))
    }

    /// Sends a signal to every process in the pen of a session.
    pub fn signal(&self, reference: &str, request: &SignalRequest) -> Answer<()> {
        self.execute(&session_path(reference, "/signal"), request)
    }

    /// Writes to the standard input of a session.
    pub fn input(&self, reference: &str, request: &InputRequest) -> Answer<()> {
        self.execute(&session_path(reference, "/input"), request)
    }

    /// Removes an ended session from the record.
    pub fn remove(&self, reference: &str) -> Answer<()> {
        self.delete(&session_path(reference, ""))
    }

    /// Reads the event log.
    pub fn events(&self, events: &Events) -> Answer<Lines<EventView>> {
        let Events { since, session, follow } = events;
        let session = session.as_deref().map(|session| format!("&session={}", escape(session)));
        let session = session.unwrap_or_default();
        let path = format!("/v1/events?since={since}&follow={follow}{session}");
        self.lines("GET", &path, None::<&()>)
    }

    /// Lists members.
    pub fn members(&self) -> Answer<Vec<MemberView>> {
        self.get("/v1/members")
    }

    /// Fetches one member.
    pub fn member(&self, name: &str) -> Answer<MemberView> {
        self.get(&format!("/v1/members/{}", escape(name)))
    }

    /// Adds a member.
    pub fn add_member(&self, member: &CreateMemberRequest) -> Answer<MemberView> {
        self.post("/v1/members", member)
    }

    /// Lists plans.
    pub fn plans(&self) -> Answer<Vec<PlanView>> {
        self.get("/v1/plans")
    }

    /// Fetches one plan.
    pub fn plan(&self, reference: &str) -> Answer<PlanView> {
        self.get(&format!("/v1/plans/{}", escape(reference)))
    }

    /// Runs a plan.
    pub fn run_plan(&self, request: &PlanRequest) -> Answer<PlanView> {
        self.post("/v1/plans", request)
    }

    /// Lists the worktrees of sessions.
    pub fn worktrees(&self) -> Answer<WorktreesView> {
        self.get("/v1/worktrees")
    }

    /// Finds processes that belong to no live session.
    pub fn strays(&self) -> Answer<StraysView> {
        self.get("/v1/strays")
    }

    /// Ends all strays.
    pub fn end_strays(&self) -> Answer<StraysEnded> {
        self.post("/v1/strays/end", &serde_json::json!({}))
    }

    /// Sends a request and waits without a timeout, because the daemon itself waits for something.
    fn send_and_wait<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Answer<T> {
        self.send(method, path, body, Timeout::None)?.receive()
    }
}

/// Returns the fields of a flat value that are not null, as a query.
fn query(value: &impl Serialize) -> Answer<String> {
    let value = serde_json::to_value(value).map_err(|error| ClientError::Call(error.into()))?;
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let pairs = fields.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        format!("{name}={}", escape(&text))
    });
    let pairs: Vec<_> = pairs.collect();
    Ok(if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) })
}

/// Escapes one segment of a path or one value of a query.
#[must_use]
pub fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Returns the path of a session, followed by `rest`.
#[must_use]
pub fn session_path(reference: &str, rest: &str) -> String {
    format!("/v1/sessions/{}{rest}", escape(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_becomes_a_query_of_its_fields() {
        let plain = ListRequest::default();
        assert_eq!(query(&plain).unwrap(), "?all=false");
        let request = ListRequest { all: true, name: Some("a b".into()), limit: Some(5), ..plain };
        assert_eq!(query(&request).unwrap(), "?all=true&limit=5&name=a%20b");
    }

    #[test]
    fn any_text_can_be_part_of_a_path() {
        assert_eq!(escape("fix-login.2"), "fix-login.2");
        assert_eq!(escape("../a b?c=ü"), "..%2Fa%20b%3Fc%3D%C3%BC");
        assert_eq!(session_path("a/b", "/stop"), "/v1/sessions/a%2Fb/stop");
    }
}
