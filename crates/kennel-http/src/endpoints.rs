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

use crate::endpoint::{Endpoint, delete, get, post};
use crate::{
    access, answer, daemon, events, members, observe, openapi, output, plans, processes, sessions,
    terminal, worktrees,
};

const LINES: &[&str] = &["application/x-ndjson"];

pub(crate) fn all() -> Vec<Endpoint> {
    [sessions(), members(), plans(), observe::endpoints(), access::endpoints(), misc_endpoints()]
        .into_iter()
        .flatten()
        .collect()
}

fn sessions() -> Vec<Endpoint> {
    vec![
        get("/v1/sessions", sessions::list, ("listSessions", "Lists sessions, a page at a time"))
            .query::<ListRequest>()
            .answer::<SessionPage>(200),
        post(
            "/v1/sessions",
            sessions::create,
            (
                "createSession",
                "Creates a session, from a command or from a prompt to an agent, and launches it",
            ),
        )
        .query::<sessions::CreateQuery>()
        .body::<CreateRequest>()
        .answer::<SessionView>(201),
        get("/v1/sessions/{reference}", sessions::show, ("getSession", "Shows a session"))
            .answer::<SessionView>(200),
        delete(
            "/v1/sessions/{reference}",
            sessions::remove,
            ("removeSession", "Removes an ended session from the record"),
        ),
        get(
            "/v1/sessions/{reference}/inspect",
            sessions::inspect,
            (
                "inspectSession",
                "Shows a session with its processes, their resource usage and its history",
            ),
        )
        .answer::<InspectView>(200),
        get(
            "/v1/sessions/{reference}/wait",
            sessions::wait,
            (
                "waitForSession",
                "Waits until a session is over; a prompt is over when its verdict is on record",
            ),
        )
        .query::<sessions::WaitQuery>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/stop",
            sessions::stop,
            ("stopSession", "Stops all processes of a session and reports the outcome"),
        )
        .body::<StopRequest>()
        .answer::<StopResponse>(200),
        post(
            "/v1/sessions/{reference}/resume",
            sessions::resume,
            ("resumeSession", "Launches an ended session again"),
        )
        .query::<sessions::CreateQuery>()
        .body::<ResumeRequest>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/forget",
            sessions::forget,
            ("forgetSession", "Gives up a lost session: one that can't be observed any more"),
        )
        .body::<ByRequest>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/signal",
            processes::signal,
            ("signalSession", "Sends a signal to every process of a session"),
        )
        .body::<SignalRequest>(),
        post(
            "/v1/sessions/{reference}/input",
            processes::input,
            ("sendInput", "Writes to the standard input of a session"),
        )
        .body::<InputRequest>(),
        get(
            "/v1/sessions/{reference}/output",
            output::output,
            ("readOutput", "Returns the output of a session; with `follow`, until it ends"),
        )
        .query::<output::OutputQuery>()
        .stream::<serde_json::Value>(&[
            "application/octet-stream",
            "application/x-ndjson",
            "text/event-stream",
        ]),
        get(
            "/v1/sessions/{reference}/terminal",
            terminal::terminal,
            ("attach", "Attaches to the terminal of a session"),
        )
        .query::<terminal::TerminalQuery>()
        .web_socket(),
        get(
            "/v1/sessions/{reference}/answer",
            answer::answer,
            ("getAnswer", "Returns the answer of an agent; as events, everything the agent does"),
        )
        .query::<answer::AnswerQuery>()
        .answer::<AnswerView>(200)
        .or_events(),
        post(
            "/v1/ask",
            answer::ask,
            ("ask", "Sends a prompt to a member or an agent; as events, streams the answer"),
        )
        .body::<AskRequest>()
        .answer::<SessionView>(201),
        get(
            "/v1/prune",
            sessions::preview_prune,
            ("previewPrune", "Lists the sessions that a prune would remove"),
        )
        .query::<PruneRequest>()
        .answer::<PruneResponse>(200),
        post("/v1/prune", sessions::prune, ("prune", "Removes ended sessions from the record"))
            .body::<PruneRequest>()
            .answer::<PruneResponse>(200),
    ]
}

fn members() -> Vec<Endpoint> {
    vec![
        get("/v1/members", members::list, ("listMembers", "Lists members"))
            .answer::<Vec<MemberView>>(200),
        post("/v1/members", members::add, ("addMember", "Adds a member"))
            .body::<CreateMemberRequest>()
            .answer::<MemberView>(201),
        get("/v1/members/{name}", members::show, ("getMember", "Shows a member"))
            .answer::<MemberView>(200),
        delete("/v1/members/{name}", members::remove, ("removeMember", "Removes a member"))
            .query::<members::RemoveQuery>(),
    ]
}

fn plans() -> Vec<Endpoint> {
    vec![
        get("/v1/plans", plans::list, ("listPlans", "Lists plans")).answer::<Vec<PlanView>>(200),
        post("/v1/plans", plans::run, ("runPlan", "Runs a plan"))
            .body::<PlanRequest>()
            .answer::<PlanView>(201),
        get("/v1/plans/{reference}", plans::show, ("getPlan", "Shows a plan"))
            .answer::<PlanView>(200),
        get(
            "/v1/plans/{reference}/wait",
            plans::wait,
            ("waitForPlan", "Waits until a plan is over"),
        )
        .query::<sessions::WaitQuery>()
        .answer::<PlanView>(200),
        post(
            "/v1/plans/{reference}/cancel",
            plans::cancel,
            ("cancelPlan", "Cancels a plan and stops its agents"),
        )
        .body::<ByRequest>()
        .answer::<PlanView>(200),
        post(
            "/v1/plans/{reference}/resume",
            plans::resume,
            ("resumePlan", "Runs the unfinished steps of a plan"),
        )
        .body::<PlanResumeRequest>()
        .answer::<PlanView>(200),
    ]
}

fn misc_endpoints() -> Vec<Endpoint> {
    vec![
        get("/v1/daemon", daemon::show, ("getDaemon", "Shows the daemon"))
            .answer::<DaemonView>(200),
        post(
            "/v1/daemon/stop",
            daemon::stop,
            (
                "stopDaemon",
                "Stops the daemon, with or without its sessions, and reports the progress",
            ),
        )
        .body::<ShutdownRequest>()
        .stream::<ShutdownLine>(LINES),
        post(
            "/v1/daemon/replace",
            daemon::replace,
            ("replaceDaemon", "Replaces the daemon with a new one, which takes over all sessions"),
        )
        .body::<ReplaceRequest>()
        .status(202),
        post(
            "/v1/adopt",
            processes::adopt,
            ("adopt", "Adopts a process that a user started as a session"),
        )
        .body::<AdoptRequest>()
        .answer::<AdoptResponse>(201),
        post(
            "/v1/report",
            processes::report,
            ("report", "Reports the state of an agent, sent by the agent itself"),
        )
        .body::<ReportRequest>(),
        get(
            "/v1/strays",
            processes::find_strays,
            ("findStrays", "Finds processes that belong to no live session"),
        )
        .answer::<StraysView>(200),
        post(
            "/v1/strays/end",
            processes::end_strays,
            ("endStrays", "Ends strays: all, or the ones that are named"),
        )
        .body::<EndStraysRequest>()
        .answer::<StraysEnded>(200),
        get(
            "/v1/events",
            events::events,
            ("listEvents", "Returns the event log; with `follow`, also new events"),
        )
        .query::<events::EventParams>()
        .stream::<EventView>(&["application/x-ndjson", "text/event-stream"]),
        get("/v1/worktrees", worktrees::list, ("listWorktrees", "Lists the worktrees of sessions"))
            .answer::<WorktreesView>(200),
        delete(
            "/v1/worktrees/{reference}",
            worktrees::remove,
            ("removeWorktree", "Removes a kept worktree"),
        )
        .query::<members::RemoveQuery>()
        .answer::<WorktreeLosses>(200),
        get(
            "/v1/worktrees/{reference}/losses",
            worktrees::losses,
            ("getWorktreeLosses", "Lists what would be lost if a worktree were removed"),
        )
        .answer::<WorktreeLosses>(200),
        get("/v1/openapi.json", openapi::serve, ("getDescription", "Returns this document"))
            .other("application/json"),
    ]
}
