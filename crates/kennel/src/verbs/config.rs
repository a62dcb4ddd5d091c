//! `kennel config`: what is set, and where it comes from.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::command_error::{CommandError, say};
use crate::config::{self, Config, ConfigSetting, KEYS, ProfileChoice, SettingOrigin, Settings};
use crate::exit_code;
use crate::print::{self, ColorMode, TextStyle, print, sanitize};
use crate::table::{Cell, Column, TextTable};

/// The verbs of `kennel config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Show every setting, and where its value comes from
    ///
    /// A flag goes before all of these. The daemon has what was set when it was started; `kennel daemon
    /// restart` brings what is shown here.
    Show(ConfigShowArgs),
    /// Say which file is read, whether it is there or not
    Path,
    /// Say whether the file and the variables are understood
    Check,
}

/// The flags of `kennel config show`.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct ConfigShowArgs {
    /// As it is with this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

const CODES: &str = "\
Exit codes: 0; 201 if the command line or the configuration was not
understood; 207 if Kennel itself failed.";

/// Does it.
pub(crate) fn config(config: &Config, args: &ConfigArgs) -> Result<u8, CommandError> {
    match &args.verb {
        ConfigVerb::Show(args) => show(config, args),
        ConfigVerb::Path => path(config),
        ConfigVerb::Check => check(config),
    }
}

fn show(config: &Config, args: &ConfigShowArgs) -> Result<u8, CommandError> {
    let settings = config.settings(ProfileChoice::Chosen(args.profile.as_deref()))?;
    if args.json {
        print::json(&for_programs(&settings))?;
    } else {
        print(&text(&settings, ColorMode::of_stdout()))?;
    }
    Ok(0)
}

fn path(config: &Config) -> Result<u8, CommandError> {
    let location = config.location().ok_or_else(nowhere)?;
    print(&format!("{}\n", location.path.display()))?;
    Ok(0)
}

fn check(config: &Config) -> Result<u8, CommandError> {
    let settings = config.settings(ProfileChoice::Chosen(None))?;
    match &settings.location {
        Some(location) if settings.found => {
            print(&format!("{}: understood\n", location.path.display()))?;
        }
        Some(location) => say(&format!("there is no {}", location.path.display())),
        None => return Err(nowhere()),
    }
    Ok(0)
}

fn nowhere() -> CommandError {
    let text = "there is nowhere to look: set HOME, KENNEL_CONFIG or --config";
    CommandError::because(exit_code::SETUP, text)
}

/// Every setting: its name, its value if it has one, and where that comes from if it isn't built in.
fn rows(settings: &Settings) -> Vec<(String, Option<String>, Option<&ConfigSetting>)> {
    let command = config::command();
    let row = |key: &config::ConfigKey| {
        let set = settings.get(key.name);
        let value = set.map(|set| set.text.clone()).or_else(|| config::built_in(&command, key));
        (key.name.to_string(), value, set)
    };
    KEYS.iter().map(row).collect()
}

fn text(settings: &Settings, ink: ColorMode) -> String {
    let file = match &settings.location {
        Some(location) if settings.found => location.path.display().to_string(),
        Some(location) => format!("{} (not there)", location.path.display()),
        None => "-".to_owned(),
    };
    let profile = match &settings.profile {
        Some((name, by)) => format!("{name} ({by})"),
        None => "-".to_owned(),
    };
    let columns = [Column::whole("KEY"), Column::whole("VALUE"), Column::whole("FROM")];
    let mut table = TextTable::new(&columns);
    for (name, value, set) in rows(settings) {
        let (tone, from) = match set {
            Some(set) => (TextStyle::Plain, set.origin.to_string()),
            None => (TextStyle::Faint, "built in".to_owned()),
        };
        let value = value.map_or("-".to_owned(), |value| sanitize(&value));
        table.row(vec![Cell::toned(name, tone), Cell::toned(value, tone), Cell::toned(from, tone)]);
    }
    format!("file     {file}\nprofile  {}\n\n{}", sanitize(&profile), table.text(None, ink))
}

fn for_programs(settings: &Settings) -> Value {
    let origin = |set: Option<&ConfigSetting>| match set.map(|set| &set.origin) {
        None => json!({"kind": "built in"}),
        Some(SettingOrigin::Flag(flag)) => json!({"kind": "flag", "flag": flag}),
        Some(SettingOrigin::Environment(variable)) => json!({"kind": "env", "variable": variable}),
        Some(SettingOrigin::Profile { name, place }) => {
            json!({"kind": "profile", "profile": name, "file": *place.file, "line": place.line})
        }
        Some(SettingOrigin::File(place)) => {
            json!({"kind": "file", "file": *place.file, "line": place.line})
        }
    };
    let rows = rows(settings);
    let rows = rows
        .into_iter()
        .map(|(key, value, set)| json!({"key": key, "value": value, "from": origin(set)}));
    let profile = settings.profile.as_ref().map(|(name, by)| json!({"name": name, "by": by}));
    json!({
        "file": settings.location.as_ref().map(|location| &location.path),
        "found": settings.found,
        "profile": profile,
        "settings": rows.collect::<Vec<_>>(),
    })
}
