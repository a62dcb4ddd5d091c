//! All endpoints of the API.

use kennel_types::api::{
    AdoptRequest, AdoptResponse, AnswerView, AskRequest, ByRequest, CreateMemberRequest,
    CreateRequest, DaemonView, EndStraysRequest, InputRequest, InspectView, ListRequest,
    MemberView, PlanRequest, PlanResumeRequest, PruneRequest, PruneResponse, ReplaceRequest,
    ReportRequest, ResumeRequest, SessionPage, ShutdownLine, ShutdownRequest, SignalRequest,
    StopRequest, StopResponse, StraysEnded, StraysView, WorktreeLosses, WorktreesView,
};
use kennel_types::plan::PlanView;
use kennel_types::{EventView, SessionView};

use crate::endpoint::ResponseContent::{Empty, WebSocket};
use crate::endpoint::{Endpoint, delete, get, post};
use crate::handlers::{CreateQuery, RemoveQuery, WaitQuery};
use crate::stream::NDJSON;
use crate::stream::sse::EVENT_STREAM;
use crate::{access, answer, events, handlers, observe, openapi, output, terminal};

pub(crate) fn all() -> Vec<Endpoint> {
    [sessions(), members(), plans(), observe::endpoints(), access::endpoints(), misc_endpoints()]
        .into_iter()
        .flatten()
        .collect()
}

fn sessions() -> Vec<Endpoint> {
    vec![
        get("/v1/sessions", "listSessions", handlers::list_sessions)
            .query::<ListRequest>()
            .answer::<SessionPage>("Lists sessions, a page at a time"),
        post("/v1/sessions", "createSession", handlers::create_session)
            .query::<CreateQuery>()
            .body::<CreateRequest>()
            .created::<SessionView>(
                "Creates a session, from a command or from a prompt to an agent, and launches it",
            ),
        get("/v1/sessions/{reference}", "getSession", handlers::show_session)
            .answer::<SessionView>("Shows a session"),
        delete("/v1/sessions/{reference}", "removeSession", handlers::remove_session)
            .empty("Removes an ended session from the record"),
        get("/v1/sessions/{reference}/inspect", "inspectSession", handlers::inspect_session)
            .answer::<InspectView>(
            "Shows a session with its processes, their resource usage and its history",
        ),
        get("/v1/sessions/{reference}/wait", "waitForSession", handlers::wait_for_session)
            .query::<WaitQuery>()
            .answer::<SessionView>(
                "Waits until a session ends, or, for a prompt, until its verdict is on record",
            ),
        post("/v1/sessions/{reference}/stop", "stopSession", handlers::stop_session)
            .body::<StopRequest>()
            .answer::<StopResponse>("Stops all processes of a session and reports the outcome"),
        post("/v1/sessions/{reference}/resume", "resumeSession", handlers::resume_session)
            .query::<CreateQuery>()
            .body::<ResumeRequest>()
            .answer::<SessionView>("Launches an ended session again"),
        post("/v1/sessions/{reference}/forget", "forgetSession", handlers::forget_session)
            .body::<ByRequest>()
            .answer::<SessionView>("Forgets a lost session, which Kennel can no longer observe"),
        post("/v1/sessions/{reference}/signal", "signalSession", handlers::send_signal)
            .body::<SignalRequest>()
            .empty("Sends a signal to every process of a session"),
        post("/v1/sessions/{reference}/input", "sendInput", handlers::send_input)
            .body::<InputRequest>()
            .empty("Writes to the standard input of a session"),
        get("/v1/sessions/{reference}/output", "readOutput", output::output)
            .query::<output::OutputQuery>()
            .stream::<serde_json::Value>(
                &["application/octet-stream", NDJSON, EVENT_STREAM],
                "Returns the output of a session; with `follow`, until it ends",
            ),
        get("/v1/sessions/{reference}/terminal", "attach", terminal::terminal)
            .query::<terminal::TerminalQuery>()
            .respond(101, WebSocket, "Attaches to the terminal of a session"),
        get("/v1/sessions/{reference}/answer", "getAnswer", answer::answer)
            .query::<answer::AnswerQuery>()
            .answer::<AnswerView>(
                "Returns the answer of an agent, or streams everything it does as events",
            )
            .or_events(),
        post("/v1/ask", "ask", answer::ask).body::<AskRequest>().created::<SessionView>(
            "Sends a prompt to a member or an agent; can stream the answer as events",
        ),
        get("/v1/prune", "previewPrune", handlers::preview_prune)
            .query::<PruneRequest>()
            .answer::<PruneResponse>("Lists the sessions that a prune would remove"),
        post("/v1/prune", "prune", handlers::prune)
            .body::<PruneRequest>()
            .answer::<PruneResponse>("Removes ended sessions from the record"),
    ]
}

fn members() -> Vec<Endpoint> {
    vec![
        get("/v1/members", "listMembers", handlers::list_members)
            .answer::<Vec<MemberView>>("Lists members"),
        post("/v1/members", "addMember", handlers::add_member)
            .body::<CreateMemberRequest>()
            .created::<MemberView>("Adds a member"),
        get("/v1/members/{name}", "getMember", handlers::show_member)
            .answer::<MemberView>("Shows a member"),
        delete("/v1/members/{name}", "removeMember", handlers::remove_member)
            .query::<RemoveQuery>()
            .empty("Removes a member"),
    ]
}

fn plans() -> Vec<Endpoint> {
    vec![
        get("/v1/plans", "listPlans", handlers::list_plans).answer::<Vec<PlanView>>("Lists plans"),
        post("/v1/plans", "runPlan", handlers::run_plan)
            .body::<PlanRequest>()
            .created::<PlanView>("Runs a plan"),
        get("/v1/plans/{reference}", "getPlan", handlers::show_plan)
            .answer::<PlanView>("Shows a plan"),
        get("/v1/plans/{reference}/wait", "waitForPlan", handlers::wait_for_plan)
            .query::<WaitQuery>()
            .answer::<PlanView>("Waits until a plan ends"),
        post("/v1/plans/{reference}/cancel", "cancelPlan", handlers::cancel_plan)
            .body::<ByRequest>()
            .answer::<PlanView>("Cancels a plan and stops its agents"),
        post("/v1/plans/{reference}/resume", "resumePlan", handlers::resume_plan)
            .body::<PlanResumeRequest>()
            .answer::<PlanView>("Runs the unfinished agents of a plan"),
    ]
}

fn misc_endpoints() -> Vec<Endpoint> {
    vec![
        get("/v1/daemon", "getDaemon", handlers::show_daemon)
            .answer::<DaemonView>("Shows the state of the daemon"),
        post("/v1/daemon/stop", "stopDaemon", handlers::stop_daemon)
            .body::<ShutdownRequest>()
            .stream::<ShutdownLine>(
            &[NDJSON],
            "Shuts the daemon down, with or without its sessions, and reports the progress",
        ),
        post("/v1/daemon/replace", "replaceDaemon", handlers::replace_daemon)
            .body::<ReplaceRequest>()
            .respond(
                202,
                Empty,
                "Replaces the daemon with a new one, which takes over all sessions",
            ),
        post("/v1/adopt", "adopt", handlers::adopt)
            .body::<AdoptRequest>()
            .created::<AdoptResponse>("Adopts a user's process as a session"),
        post("/v1/report", "report", handlers::report)
            .body::<ReportRequest>()
            .empty("Receives a report from an agent about its own state"),
        get("/v1/strays", "findStrays", handlers::find_strays)
            .answer::<StraysView>("Finds processes that belong to no live session"),
        post("/v1/strays/end", "endStrays", handlers::end_strays)
            .body::<EndStraysRequest>()
            .answer::<StraysEnded>("Ends all strays, or only the given ones"),
        get("/v1/events", "listEvents", events::events)
            .query::<events::EventParams>()
            .stream::<EventView>(
                &[NDJSON, EVENT_STREAM],
                "Returns the event log; with `follow`, also new events",
            ),
        get("/v1/worktrees", "listWorktrees", handlers::list_worktrees)
            .answer::<WorktreesView>("Lists the worktrees of sessions"),
        delete("/v1/worktrees/{reference}", "removeWorktree", handlers::remove_worktree)
            .query::<RemoveQuery>()
            .answer::<WorktreeLosses>("Removes a kept worktree"),
        get("/v1/worktrees/{reference}/losses", "getWorktreeLosses", handlers::worktree_losses)
            .answer::<WorktreeLosses>("Lists what would be lost if a worktree were removed"),
        get("/v1/openapi.json", "getDescription", openapi::serve)
            .other("application/json", "Returns this document"),
    ]
}
