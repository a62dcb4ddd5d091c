//! `kennel daemon status`.

use std::time::Duration;

use clap::Args;
use kennel_types::api::{DaemonView, ListenState, ListenView, SettingsView};
use serde_json::json;

use crate::command_error::{CommandError, say};
use crate::connect::{DaemonClient, StartDaemon, YardStatus};
use crate::exit_code;
use crate::home::Home;
use crate::plural::counted;
use crate::print::{self, print};
use crate::quantity::{size, span};
use crate::timestamp;

/// The flags of `kennel daemon status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if it runs; 1 if not; 201 if the command line was not
understood; 202 if the home can't be used; 207 if Kennel itself failed.")]
pub(crate) struct DaemonStatusArgs {
    /// Print JSON, for programs; pid is null if no daemon runs
    #[arg(long)]
    json: bool,
}

/// Says whether a daemon runs. Starts none.
pub(crate) fn status(home: &Home, args: &DaemonStatusArgs) -> Result<u8, CommandError> {
    match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(daemon) => {
            let view = daemon.view()?;
            if args.json {
                print::json(&view)?;
            } else {
                print(&text(&view, timestamp::now_ms()))?;
            }
            Ok(0)
        }
        Err(_) => not_running(home, args.json),
    }
}

fn text(view: &DaemonView, now: u64) -> String {
    let yard = view.yard_pid.map_or("-".to_owned(), |pid| pid.to_string());
    let mut out = format!(
        "\
daemon     runs, pid {}
yard       pid {yard}
version    {}
since      {} ({} ago)
home       {} ({})
sessions   {} live, {} on record
",
        view.pid,
        view.version,
        view.started_at,
        timestamp::age(&view.started_at, now),
        view.home,
        view.home_id,
        view.live,
        view.total
    );
    out += &view.listen.as_ref().map(listening).unwrap_or_default();
    out += &view.settings.as_ref().map(in_force).unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    if view.version != own {
        out += &format!("\nThis program is version {own}; `kennel daemon restart` brings it.\n");
    }
    out
}

/// Where its API is had besides its socket.
fn listening(listen: &ListenView) -> String {
    match (listen.state, &listen.why) {
        (ListenState::Open, _) => format!("API        {}\n", listen.url),
        (ListenState::Failing, why) => {
            let why = why.as_deref().unwrap_or("unknown");
            format!("API        not over TCP for now, and tried again: {why}\n")
        }
    }
}

/// The settings that it was started with, as they are called in kennel.toml.
fn in_force(settings: &SettingsView) -> String {
    let cap = |most: Option<u32>| most.map_or("any number".to_owned(), |most| most.to_string());
    let by_name = settings.max_live_by_name.iter().map(|(name, most)| format!("{name} = {most}"));
    let by_name = by_name.collect::<Vec<_>>().join(", ");
    let by_name = if by_name.is_empty() { "-".to_owned() } else { by_name };
    format!(
        "
In force, from when it was started:
max_live          {}
max_launching     {}
max_live_by_name  {by_name}
key_retention     {}
ended_kept        {}
min_free_disk     {}
min_free_memory   {}
worktrees         {}
",
        cap(settings.max_live),
        cap(settings.max_launching),
        span(Duration::from_millis(settings.key_retention_ms)),
        settings.ended_kept,
        size(settings.min_free_disk),
        size(settings.min_free_memory),
        settings.worktrees,
    )
}

fn not_running(home: &Home, json: bool) -> Result<u8, CommandError> {
    let yard = YardStatus::look(home).unwrap_or_else(|error| {
        say(&format!("the yard: {error:#}"));
        None
    });
    if json {
        let (folder, id) = (home.folder.display().to_string(), home.id.as_str());
        print::json(&json!({
            "pid": null,
            "yard_pid": yard.as_ref().map(|yard| yard.pid),
            "version": null,
            "home": folder,
            "home_id": id,
        }))?;
        return Err(CommandError::said(exit_code::REFUSED));
    }
    let text = match yard {
        None => "no daemon runs for this home".to_owned(),
        Some(YardStatus { pid, daemon: Some(daemon), .. }) => {
            format!("daemon {daemon} was started by yard {pid}, and does not listen")
        }
        Some(YardStatus { pid, keepers, .. }) => {
            let keepers = counted(keepers, "keeper");
            format!("no daemon runs; yard {pid} does, with {keepers}, and starts one when asked")
        }
    };
    Err(CommandError::because(exit_code::REFUSED, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_few_lines_and_tells_of_another_version() {
        let mut view = DaemonView {
            pid: 12,
            yard_pid: Some(11),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            home: "/h".to_owned(),
            home_id: "0123456789abcdef".to_owned(),
            started_at: "2026-01-31T12:00:00.000Z".to_owned(),
            live: 3,
            total: 40,
            settings: None,
            listen: None,
            environment: [].into(),
        };
        let now = timestamp::parse("2026-01-31T14:00:00Z").unwrap();
        let shown = text(&view, now);
        assert!(shown.starts_with("daemon     runs, pid 12\nyard       pid 11\n"), "{shown}");
        assert!(shown.contains("(2h ago)") && shown.contains("3 live, 40 on record"), "{shown}");
        assert!(!shown.contains("restart") && !shown.contains("In force"), "{shown}");
        view.settings = Some(SettingsView {
            max_live: Some(7),
            max_live_by_name: [("ci-*".to_owned(), 2)].into(),
            key_retention_ms: 90_000,
            min_free_disk: 64 << 20,
            ..SettingsView::default()
        });
        let shown = text(&view, now);
        for line in [
            "max_live          7\n",
            "max_launching     any number\n",
            "max_live_by_name  ci-* = 2\n",
            "key_retention     1m 30s\n",
            "min_free_disk     64.0 MiB\n",
        ] {
            assert!(shown.contains(line), "{line} is not in {shown}");
        }
        view.version = "0.0.1".to_owned();
        assert!(text(&view, now).contains("`kennel daemon restart` brings it"));
    }
}
