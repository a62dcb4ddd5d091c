//! `kennel daemon status`: shows whether the daemon runs, and its settings.

use kennel_types::api::{DaemonView, ListenState, ListenView, SettingsView};
use serde_json::json;

use crate::command_prelude::*;
use crate::connect::YardStatus;
use crate::quantity::{size, span};
use crate::timestamp;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if the daemon runs; 1 if not; 201 for an invalid command line;
202 if the home can't be used; 207 if Kennel itself failed.")]
pub(crate) struct DaemonStatusArgs {
    /// Print JSON; `pid` is null if no daemon is running
    #[arg(long)]
    json: bool,
}

/// Shows whether a daemon runs. Starts none.
pub(crate) fn status(home: &HomeDir, args: &DaemonStatusArgs) -> Result<u8, CommandError> {
    match DaemonClient::connect(home, StartDaemon::Never) {
        Ok(daemon) => {
            let view = daemon.view()?;
            print::json_or_text(args.json, &view, || text(&view, timestamp::now_ms()))
        }
        Err(_) => not_running(home, args.json),
    }
}

fn text(view: &DaemonView, now: u64) -> String {
    let yard = view.yard_pid.map_or("-".to_owned(), |pid| pid.to_string());
    let mut out = format!(
        "\
daemon     running, pid {}
yard       pid {yard}
version    {}
started    {} ({} ago)
home       {} ({})
sessions   {} live; launches on record: {}
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
    out += &view.settings.as_ref().map(settings_text).unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    if view.version != own {
        out += &format!(
            "\nThis program is version {own}; `kennel daemon restart` upgrades the daemon.\n"
        );
    }
    out
}

fn listening(listen: &ListenView) -> String {
    match (listen.state, &listen.why) {
        (ListenState::Open, _) => format!("API        {}\n", listen.url),
        (ListenState::Failing, why) => {
            let why = why.as_deref().unwrap_or("unknown");
            format!("API        not listening on TCP, will retry: {why}\n")
        }
    }
}

/// Formats the settings that the daemon was started with, by their names in kennel.toml.
fn settings_text(settings: &SettingsView) -> String {
    let cap = |most: Option<u32>| most.map_or("unlimited".to_owned(), |most| most.to_string());
    let by_name = settings.max_live_by_name.iter().map(|(name, most)| format!("{name} = {most}"));
    let by_name = by_name.collect::<Vec<_>>().join(", ");
    let by_name = if by_name.is_empty() { "-".to_owned() } else { by_name };
    format!(
        "
Settings in effect since its start:
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

fn not_running(home: &HomeDir, json: bool) -> Result<u8, CommandError> {
    let yard = YardStatus::fetch(home).unwrap_or_else(|error| {
        print_message(&format!("can't get the yard's status: {error:#}"));
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
        return Ok(exit_code::REFUSED);
    }
    let text = match yard {
        None => "no daemon is running for this home".to_owned(),
        Some(YardStatus { pid, daemon: Some(daemon), .. }) => {
            format!("daemon {daemon} (started by yard {pid}) does not listen")
        }
        Some(YardStatus { pid, keepers, .. }) => {
            let keepers = counted(keepers, "keeper");
            format!("no daemon is running; yard {pid} with {keepers} starts one when needed")
        }
    };
    Err(CommandError::refused(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_mentions_another_version() {
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
        let without_version = |text: String| text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!("daemon_status", without_version(text(&view, now)));
        view.settings = Some(SettingsView {
            max_live: Some(7),
            max_live_by_name: [("ci-*".to_owned(), 2)].into(),
            key_retention_ms: 90_000,
            min_free_disk: 64 << 20,
            ..SettingsView::default()
        });
        view.version = "0.0.1".to_owned();
        let shown = without_version(text(&view, now));
        insta::assert_snapshot!("daemon_status_with_settings", shown);
    }
}
