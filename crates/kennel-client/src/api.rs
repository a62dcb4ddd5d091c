//! The API as functions. Those who need more than this have [`Client::send`].

use kennel_types::api::{
    CreateMemberRequest, CreateRequest, DaemonView, InputRequest, InspectView, ListRequest,
    MemberView, PlanRequest, ResumeRequest, SessionPage, SignalRequest, StopRequest, StopResponse,
    StraysEnded, StraysView, Until, WorktreesView,
};
use kennel_types::plan::PlanView;
use kennel_types::{EventView, SessionView};

use crate::client::{Client, Lines, Patience};
use crate::error::ClientError;
use crate::path::{escape, member_path, plan_path, session_path};

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Those after this number.
    pub since: u64,
    /// Those of this session only.
    pub session: Option<String>,
    /// Whether further ones are waited for.
    pub follow: bool,
}

type Answer<T> = Result<T, ClientError>;

/// # Errors
/// All of these fail if there is no answer, or a refusal.
impl Client {
    /// The daemon itself.
    pub fn daemon(&self) -> Answer<DaemonView> {
        self.get("/v1/daemon")
    }

    /// A page of sessions.
    pub fn page(&self, wish: &ListRequest) -> Answer<SessionPage> {
        self.get(&format!("/v1/sessions{}", query(wish)?))
    }

    /// All sessions of which this holds, page by page.
    pub fn sessions(&self, wish: &ListRequest) -> Answer<Vec<SessionView>> {
        let mut wish = wish.clone();
        let mut sessions = Vec::new();
        loop {
            let page = self.page(&wish)?;
            sessions.extend(page.sessions);
            if page.next.is_none() {
                return Ok(sessions);
            }
            wish.after = page.next;
        }
    }

    /// One session, by id, unique beginning of an id, or name.
    pub fn session(&self, reference: &str) -> Answer<SessionView> {
        self.get(&session_path(reference, ""))
    }

    /// A new session. With a key the same request may be made again, and is the same session.
    pub fn create(&self, request: &CreateRequest, until: Until) -> Answer<SessionView> {
        let path = format!("/v1/sessions?until={}", until.name());
        self.send("POST", &path, Some(request), Patience::Endless)?.receive()
    }

    /// Another launch of a session.
    pub fn resume(
        &self,
        reference: &str,
        request: &ResumeRequest,
        until: Until,
    ) -> Answer<SessionView> {
        let path = session_path(reference, &format!("/resume?until={}", until.name()));
        self.send("POST", &path, Some(request), Patience::Endless)?.receive()
    }

    /// A session, once it is over.
    pub fn wait(&self, reference: &str) -> Answer<SessionView> {
        let path = session_path(reference, "/wait");
        self.send("GET", &path, None::<&()>, Patience::Endless)?.receive()
    }

    /// Stops a session wholly.
    pub fn stop(&self, reference: &str, request: &StopRequest) -> Answer<StopResponse> {
        let path = session_path(reference, "/stop");
        self.send("POST", &path, Some(request), Patience::Endless)?.receive()
    }

    /// Everything about a session.
    pub fn inspect(&self, reference: &str) -> Answer<InspectView> {
        self.get(&session_path(reference, "/inspect"))
    }

    /// Sends a signal to every process in the pen of a session.
    pub fn signal(&self, reference: &str, request: &SignalRequest) -> Answer<()> {
        self.execute(&session_path(reference, "/signal"), request)
    }

    /// Sends input to a session.
    pub fn input(&self, reference: &str, request: &InputRequest) -> Answer<()> {
        self.execute(&session_path(reference, "/input"), request)
    }

    /// Removes a session that has ended from the record.
    pub fn remove(&self, reference: &str) -> Answer<()> {
        self.delete(&session_path(reference, ""))
    }

    /// What has happened, and what happens.
    pub fn events(&self, events: &Events) -> Answer<Lines<EventView>> {
        let session =
            events.session.as_deref().map(|session| format!("&session={}", escape(session)));
        let Events { since, follow, .. } = events;
        let path =
            format!("/v1/events?since={since}&follow={follow}{}", session.unwrap_or_default());
        self.lines("GET", &path, None::<&()>)
    }

    /// All members.
    pub fn members(&self) -> Answer<Vec<MemberView>> {
        self.get("/v1/members")
    }

    /// One member.
    pub fn member(&self, name: &str) -> Answer<MemberView> {
        self.get(&member_path(name))
    }

    /// A new member.
    pub fn add_member(&self, member: &CreateMemberRequest) -> Answer<MemberView> {
        self.post("/v1/members", member)
    }

    /// All plans.
    pub fn plans(&self) -> Answer<Vec<PlanView>> {
        self.get("/v1/plans")
    }

    /// One plan.
    pub fn plan(&self, reference: &str) -> Answer<PlanView> {
        self.get(&plan_path(reference, ""))
    }

    /// Runs a plan.
    pub fn run_plan(&self, request: &PlanRequest) -> Answer<PlanView> {
        self.post("/v1/plans", request)
    }

    /// The worktrees of sessions.
    pub fn worktrees(&self) -> Answer<WorktreesView> {
        self.get("/v1/worktrees")
    }

    /// Looks for processes that belong to no live session.
    pub fn strays(&self) -> Answer<StraysView> {
        self.get("/v1/strays")
    }

    /// Ends them.
    pub fn end_strays(&self) -> Answer<StraysEnded> {
        self.post("/v1/strays/end", &serde_json::json!({}))
    }
}

/// The fields of a flat value, as a query.
fn query(value: &impl serde::Serialize) -> Answer<String> {
    let value = serde_json::to_value(value).map_err(|error| ClientError::Call(error.into()))?;
    let fields = value.as_object().into_iter().flatten();
    let said = fields.filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        format!("{name}={}", escape(&text))
    });
    let said: Vec<_> = said.collect();
    Ok(if said.is_empty() { String::new() } else { format!("?{}", said.join("&")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_query_of_what_it_says() {
        let plain = ListRequest::default();
        assert_eq!(query(&plain).unwrap(), "?all=false");
        let wish = ListRequest { all: true, name: Some("a b".into()), limit: Some(5), ..plain };
        assert_eq!(query(&wish).unwrap(), "?all=true&limit=5&name=a%20b");
    }
}
