//! `kennel member`: manages members, which are named agents.

use std::path::PathBuf;

use kennel_types::Permissions;
use kennel_types::api::{CreateMemberRequest, MemberView};

use super::{asked_by, for_each};
use crate::ask::{AgentArgs, used};
use crate::command_prelude::*;
use crate::run::client_env;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct MemberArgs {
    #[command(subcommand)]
    verb: MemberVerb,
}

#[derive(Debug, Subcommand)]
enum MemberVerb {
    /// Add a member
    Add(MemberAddArgs),
    /// List members
    #[command(visible_alias = "ls")]
    List(MemberListArgs),
    /// Show details of a member
    Show(MemberShowArgs),
    /// Remove members; their files stay
    ///
    /// A busy member is removed only with --force, which stops its prompt and waits for its end.
    Rm(MemberRmArgs),
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct MemberAddArgs {
    /// Agent of the member: claude, codex, gemini, opencode, or the one in
    /// --description
    #[arg(long, value_name = "AGENT")]
    agent: String,
    /// Working folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Name of the member
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    agent_args: AgentArgs,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
struct MemberListArgs {
    /// Print a JSON array of members
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct MemberShowArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Name of the member
    #[arg(value_name = "MEMBER")]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct MemberRmArgs {
    /// Remove busy members, too: their prompts are stopped first
    #[arg(short, long)]
    force: bool,
    /// Names of the members
    #[arg(required = true, value_name = "MEMBER")]
    names: Vec<String>,
}

pub(crate) fn member(daemon: &DaemonClient, args: &MemberArgs) -> Result<u8, CommandError> {
    match &args.verb {
        MemberVerb::Add(args) => add(daemon, args),
        MemberVerb::List(args) => {
            let members: Vec<MemberView> = daemon.get("/v1/members")?;
            let text = || list(&members, print::width(), ColorMode::of_stdout());
            print::json_or_text(args.json, &members, text)
        }
        MemberVerb::Show(args) => {
            let member: MemberView = daemon.get(&path(&args.name))?;
            print::json_or_text(args.json, &member, || details(&member))
        }
        MemberVerb::Rm(args) => for_each(&args.names, |name| {
            let by = escape(&asked_by("member rm"));
            let target = format!("{}?force={}&by={by}", path(name), args.force);
            // Stopping a prompt may take a while.
            daemon.send("DELETE", &target, None::<&()>, Timeout::None)?.accepted()?;
            print(&format!("{name}: removed\n"))
        }),
    }
}

fn path(name: &str) -> String {
    format!("/v1/members/{}", escape(name))
}

fn add(daemon: &DaemonClient, args: &MemberAddArgs) -> Result<u8, CommandError> {
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let wrong =
        |why| CommandError::because(exit_code::SETUP, format!("--cwd {}: {why}", cwd.display()));
    if !cwd.is_dir() {
        return Err(wrong("no such folder"));
    }
    let cwd = cwd.to_str().ok_or_else(|| wrong("the path is not valid UTF-8"))?.to_owned();
    let member = CreateMemberRequest {
        name: args.name.clone(),
        settings: args.agent_args.settings(&args.agent)?,
        cwd,
    };
    let added: MemberView = daemon.post("/v1/members", &member)?;
    print(&format!("{}\n", added.name))?;
    Ok(0)
}

fn list(members: &[MemberView], width: Option<usize>, color: ColorMode) -> String {
    if members.is_empty() {
        return "no members; add one with `kennel member add NAME --agent claude`\n".to_owned();
    }
    let columns = [
        Column::whole("NAME"),
        Column::whole("AGENT"),
        Column::whole("STATE"),
        Column::whole("LAST"),
        Column::whole("USAGE").spare(),
        Column::cut("FOLDER", 12),
    ];
    let mut table = TextTable::new(&columns);
    for member in members {
        let state = match &member.busy_with {
            Some(session) => Cell::styled(format!("busy: {session}"), TextStyle::Good),
            None => Cell::new("idle"),
        };
        table.row(vec![
            Cell::new(sanitize(&member.name)),
            Cell::new(sanitize(&member.settings.agent)),
            state,
            Cell::new(member.last_verdict.map_or_else(dash, |kind| kind.to_string())),
            Cell::new(used(&member.usage).unwrap_or_else(dash)),
            Cell::new(sanitize(&member.cwd)),
        ]);
    }
    table.text(width, color)
}

fn dash() -> String {
    "-".to_owned()
}

fn details(member: &MemberView) -> String {
    let mut lines = vec![
        ("name", sanitize(&member.name)),
        ("agent", sanitize(&member.settings.agent)),
        ("folder", sanitize(&member.cwd)),
        ("model", member.settings.model.as_deref().map_or_else(dash, sanitize)),
        ("turns", member.settings.turns.map_or_else(dash, |turns| turns.to_string())),
        ("permissions", permissions(member.settings.permissions).to_owned()),
        ("conversation", member.conversation.as_deref().map_or_else(dash, sanitize)),
        ("attempts", member.attempts.to_string()),
        ("usage", used(&member.usage).unwrap_or_else(dash)),
        ("last verdict", member.last_verdict.map_or_else(dash, |kind| kind.to_string())),
        ("added", member.created_at.clone()),
    ];
    if let Some(session) = &member.last_session {
        let at = member.last_at.as_deref().unwrap_or_default();
        lines.insert(10, ("last session", format!("{session} at {at}")));
    }
    if !member.settings.args.is_empty() {
        lines.insert(6, ("arguments", sanitize(&member.settings.args.join(" "))));
    }
    let state = match (&member.busy_with, &member.busy_since) {
        (Some(session), since) => {
            format!("busy with {session} since {}", since.as_deref().unwrap_or("just now"))
        }
        (None, _) => "idle".to_owned(),
    };
    let waiting = match member.waiting {
        0 => String::new(),
        more => format!(", {more} queued"),
    };
    lines.insert(1, ("state", format!("{state}{waiting}")));
    lines.iter().map(|(name, value)| format!("{name:<13} {value}\n")).collect()
}

fn permissions(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Default => "agent default",
        Permissions::ReadOnly => "read-only",
        Permissions::Edit => "edit files in its folder",
        Permissions::All => "all",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn member(name: &str, busy: bool) -> MemberView {
        let tokens = u64::from(busy) * 12_345;
        let member = json!({
            "name": name,
            "settings": {"agent": "claude", "description": null, "model": "opus", "turns": 5, "permissions": "edit", "args": ["--verbose"]},
            "cwd": "/src/repo", "conversation": "c5645b23",
            "usage": {"input_tokens": tokens, "cached_tokens": 0, "output_tokens": 0, "cost_micros": tokens * 10},
            "attempts": 3, "last_verdict": busy.then_some("overloaded"),
            "last_session": busy.then_some("0c3k5d9wq2fa"), "last_at": "2026-01-31T12:00:00.000Z",
            "busy_with": busy.then_some("0c3k5d9wq2fb"),
            "busy_since": busy.then_some("2026-01-31T12:05:00.000Z"),
            "waiting": u32::from(busy), "created_at": "2026-01-31T11:00:00.000Z",
        });
        serde_json::from_value(member).unwrap()
    }

    #[test]
    fn formats_a_list_and_details() {
        let members = [member("anna", true), member("bert", false)];
        insta::assert_snapshot!("member_list", list(&members, Some(80), ColorMode::Plain));
        insta::assert_snapshot!("member_show", details(&members[0]));
        assert_eq!(list(&[], None, ColorMode::Plain).lines().count(), 1);
    }
}
