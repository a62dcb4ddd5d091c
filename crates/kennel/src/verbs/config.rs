//! `kennel config`: shows the settings and where they come from.

use serde_json::{Value, json};

use crate::command_prelude::*;
use crate::config::{self, Config, ConfigSetting, KEYS, ProfileChoice, SettingOrigin, Settings};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Show every setting and where its value comes from
    ///
    /// Flags override these settings. The daemon uses the settings from its start; `kennel daemon
    /// restart` applies the current ones.
    Show(ConfigShowArgs),
    /// Print the path of the configuration file
    Path,
    /// Check the configuration file and the environment variables
    Check,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct ConfigShowArgs {
    /// Show the settings with this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const CODES: &str = "\
Exit codes: 0 on success; 201 for an invalid command line or configuration;
207 if Kennel itself failed.";

pub(crate) fn config(config: &Config, args: &ConfigArgs) -> Result<u8, CommandError> {
    match &args.verb {
        ConfigVerb::Show(args) => {
            let settings = config.settings(ProfileChoice::Selected(args.profile.as_deref()))?;
            let json = json_view(&settings);
            print::json_or_text(args.json, &json, || text(&settings, ColorMode::of_stdout()))
        }
        ConfigVerb::Path => {
            let location = config.location().ok_or_else(no_location)?;
            print(&format!("{}\n", location.path.display()))?;
            Ok(0)
        }
        ConfigVerb::Check => check(config),
    }
}

fn check(config: &Config) -> Result<u8, CommandError> {
    let settings = config.settings(ProfileChoice::Selected(None))?;
    match &settings.location {
        Some(location) if settings.exists => {
            print(&format!("{}: valid\n", location.path.display()))?;
        }
        Some(location) => print_message(&format!("{} does not exist", location.path.display())),
        None => return Err(no_location()),
    }
    Ok(0)
}

fn no_location() -> CommandError {
    let text = "can't locate the configuration file: set HOME, KENNEL_CONFIG or --config";
    CommandError::because(exit_code::SETUP, text)
}

/// Returns name, value and origin of every setting; a built-in value has no origin.
fn rows(settings: &Settings) -> Vec<(String, Option<String>, Option<&ConfigSetting>)> {
    let command = config::command();
    let row = |key: &config::ConfigKey| {
        let set = settings.get(key.name);
        let value = set.map(|set| set.text.clone()).or_else(|| config::built_in(&command, key));
        (key.name.to_string(), value, set)
    };
    KEYS.iter().map(row).collect()
}

fn text(settings: &Settings, color: ColorMode) -> String {
    let file = match &settings.location {
        Some(location) if settings.exists => location.path.display().to_string(),
        Some(location) => format!("{} (does not exist)", location.path.display()),
        None => "-".to_owned(),
    };
    let profile = match &settings.profile {
        Some((name, by)) => format!("{name} ({by})"),
        None => "-".to_owned(),
    };
    let columns = ["KEY", "VALUE", "FROM"].map(Column::whole);
    let mut table = TextTable::new(&columns);
    for (name, value, set) in rows(settings) {
        let (style, from) = match set {
            Some(set) => (TextStyle::Plain, set.origin.to_string()),
            None => (TextStyle::Faint, "default".to_owned()),
        };
        let value = value.map_or("-".to_owned(), |value| sanitize(&value));
        table.row([name, value, from].map(|text| Cell::styled(text, style)).into());
    }
    format!("file     {file}\nprofile  {}\n\n{}", sanitize(&profile), table.text(None, color))
}

fn json_view(settings: &Settings) -> Value {
    let origin = |set: Option<&ConfigSetting>| match set.map(|set| &set.origin) {
        None => json!({"kind": "built in"}),
        Some(SettingOrigin::Flag(flag)) => json!({"kind": "flag", "flag": flag}),
        Some(SettingOrigin::Environment(variable)) => json!({"kind": "env", "variable": variable}),
        Some(SettingOrigin::Profile { name, position }) => {
            json!({"kind": "profile", "profile": name, "file": *position.file, "line": position.line})
        }
        Some(SettingOrigin::File(position)) => {
            json!({"kind": "file", "file": *position.file, "line": position.line})
        }
    };
    let rows = rows(settings);
    let rows = rows
        .into_iter()
        .map(|(key, value, set)| json!({"key": key, "value": value, "from": origin(set)}));
    let profile = settings.profile.as_ref().map(|(name, by)| json!({"name": name, "by": by}));
    json!({
        "file": settings.location.as_ref().map(|location| &location.path),
        "found": settings.exists,
        "profile": profile,
        "settings": rows.collect::<Vec<_>>(),
    })
}
