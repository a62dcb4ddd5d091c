//! Everything that the API has.

use kennel_types::api::{
    AdoptAnswer, AdoptRequest, AnswerView, AskRequest, ByRequest, CreateRequest, DaemonView,
    EndStraysRequest, InputRequest, InspectView, ListRequest, MemberAnswer, NewMember, PlanRequest,
    PlanResumeRequest, PruneAnswer, PruneRequest, ReplaceRequest, ReportRequest, ResumeRequest,
    SessionPage, ShutdownLine, ShutdownRequest, SignalRequest, StopAnswer, StopRequest,
    StraysEnded, StraysView, WorktreeLosses, WorktreesView,
};
use kennel_types::plan::PlanView;
use kennel_types::{EventView, SessionView};

use super::endpoint::{Endpoint, delete, get, post};
use super::{
    access, adopt, answer, ask, daemon, description, events, input, members, observe, output,
    plans, report, resume, sessions, stray, terminal, worktrees,
};

const LINES: &[&str] = &["application/x-ndjson"];

pub(super) fn all() -> Vec<Endpoint> {
    [sessions(), members(), plans(), observe::endpoints(), access::endpoints(), the_rest()]
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
            ("createSession", "Starts a session: a command, or a prompt to an agent"),
        )
        .query::<sessions::Patience>()
        .body::<CreateRequest>()
        .answer::<SessionView>(201),
        get("/v1/sessions/{reference}", sessions::show, ("getSession", "Shows a session"))
            .answer::<SessionView>(200),
        delete(
            "/v1/sessions/{reference}",
            sessions::remove,
            ("removeSession", "Removes a session that has ended from the record"),
        ),
        get(
            "/v1/sessions/{reference}/inspect",
            sessions::inspect,
            (
                "inspectSession",
                "Shows a session with its processes, what they use, and all that happened to it",
            ),
        )
        .answer::<InspectView>(200),
        get(
            "/v1/sessions/{reference}/wait",
            sessions::wait,
            (
                "waitForSession",
                "Waits until a session is over; that of a prompt, until its verdict is on record",
            ),
        )
        .query::<sessions::Tied>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/stop",
            sessions::stop,
            ("stopSession", "Stops a session wholly, and says what came of it"),
        )
        .body::<StopRequest>()
        .answer::<StopAnswer>(200),
        post(
            "/v1/sessions/{reference}/resume",
            resume::resume,
            ("resumeSession", "Launches a session that has ended again"),
        )
        .query::<sessions::Patience>()
        .body::<ResumeRequest>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/forget",
            sessions::forget,
            ("forgetSession", "Gives up a session that can't be observed any more"),
        )
        .body::<ByRequest>()
        .answer::<SessionView>(200),
        post(
            "/v1/sessions/{reference}/signal",
            input::signal,
            ("signalSession", "Sends a signal to the agent of a session"),
        )
        .body::<SignalRequest>(),
        post(
            "/v1/sessions/{reference}/input",
            input::input,
            ("sendInput", "Sends input to a session"),
        )
        .body::<InputRequest>(),
        get(
            "/v1/sessions/{reference}/output",
            output::output,
            ("readOutput", "Tells what a session has printed, and what it prints"),
        )
        .query::<output::Wish>()
        .stream::<serde_json::Value>(&[
            "application/octet-stream",
            "application/x-ndjson",
            "text/event-stream",
        ]),
        get(
            "/v1/sessions/{reference}/terminal",
            terminal::terminal,
            ("attach", "Sits down at the terminal of a session"),
        )
        .query::<terminal::Manner>()
        .web_socket(),
        get(
            "/v1/sessions/{reference}/answer",
            answer::answer,
            ("getAnswer", "Tells what an agent has answered; as events, what it does meanwhile"),
        )
        .query::<answer::Manner>()
        .answer::<AnswerView>(200)
        .or_events(),
        post(
            "/v1/ask",
            ask::ask,
            ("ask", "Asks a member or an agent; as events, the answer as it comes"),
        )
        .body::<AskRequest>()
        .answer::<SessionView>(201),
        get("/v1/prune", sessions::would_prune, ("previewPrune", "Says what a prune would remove"))
            .query::<PruneRequest>()
            .answer::<PruneAnswer>(200),
        post(
            "/v1/prune",
            sessions::prune,
            ("prune", "Removes sessions that have ended from the record"),
        )
        .body::<PruneRequest>()
        .answer::<PruneAnswer>(200),
    ]
}

fn members() -> Vec<Endpoint> {
    vec![
        get("/v1/members", members::list, ("listMembers", "Lists members"))
            .answer::<Vec<MemberAnswer>>(200),
        post("/v1/members", members::add, ("addMember", "Adds a member"))
            .body::<NewMember>()
            .answer::<MemberAnswer>(201),
        get("/v1/members/{name}", members::show, ("getMember", "Shows a member"))
            .answer::<MemberAnswer>(200),
        delete("/v1/members/{name}", members::remove, ("removeMember", "Removes a member"))
            .query::<members::How>(),
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
        .query::<sessions::Tied>()
        .answer::<PlanView>(200),
        post(
            "/v1/plans/{reference}/cancel",
            plans::cancel,
            ("cancelPlan", "Cancels a plan, and ends all its agents"),
        )
        .body::<ByRequest>()
        .answer::<PlanView>(200),
        post(
            "/v1/plans/{reference}/resume",
            plans::resume,
            ("resumePlan", "Runs what is not done of a plan"),
        )
        .body::<PlanResumeRequest>()
        .answer::<PlanView>(200),
    ]
}

fn the_rest() -> Vec<Endpoint> {
    vec![
        get("/v1/daemon", daemon::show, ("getDaemon", "Shows the daemon"))
            .answer::<DaemonView>(200),
        post(
            "/v1/daemon/stop",
            daemon::stop,
            ("stopDaemon", "Stops the daemon, with or without its sessions; a line for each"),
        )
        .body::<ShutdownRequest>()
        .stream::<ShutdownLine>(LINES),
        post(
            "/v1/daemon/replace",
            daemon::replace,
            ("replaceDaemon", "Has the daemon replaced by another, which takes over everything"),
        )
        .body::<ReplaceRequest>()
        .status(202),
        post(
            "/v1/adopt",
            adopt::adopt,
            ("adopt", "Follows a process that a user started as a session"),
        )
        .body::<AdoptRequest>()
        .answer::<AdoptAnswer>(201),
        post("/v1/report", report::report, ("report", "What an agent tells of itself"))
            .body::<ReportRequest>(),
        get(
            "/v1/strays",
            stray::find,
            ("findStrays", "Looks for processes that belong to no live session"),
        )
        .answer::<StraysView>(200),
        post("/v1/strays/end", stray::end, ("endStrays", "Ends them, or some of them"))
            .body::<EndStraysRequest>()
            .answer::<StraysEnded>(200),
        get(
            "/v1/events",
            events::events,
            ("listEvents", "Tells what has happened, and what happens"),
        )
        .query::<events::Which>()
        .stream::<EventView>(&["application/x-ndjson", "text/event-stream"]),
        get("/v1/worktrees", worktrees::list, ("listWorktrees", "Lists the worktrees of sessions"))
            .answer::<WorktreesView>(200),
        delete(
            "/v1/worktrees/{reference}",
            worktrees::remove,
            ("removeWorktree", "Removes a worktree that is kept"),
        )
        .query::<worktrees::How>()
        .answer::<WorktreeLosses>(200),
        get(
            "/v1/worktrees/{reference}/losses",
            worktrees::losses,
            ("getWorktreeLosses", "Says what would be lost with a worktree"),
        )
        .answer::<WorktreeLosses>(200),
        get("/v1/openapi.json", description::serve, ("getDescription", "This description"))
            .other("application/json"),
    ]
}
