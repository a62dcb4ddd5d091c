//! All layers together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::check::Checker;
use super::environment::ConfigVariables;
use super::file::{self, Document};
use super::keys::{ConfigKey, KeyName};
use super::layer::{ConfigSetting, Layer, SettingOrigin};
use super::location::{Location, NamedBy};
use super::problem::{ConfigError, ConfigProblem, did_you_mean};

/// The variable that chooses a profile.
const PROFILE: &str = "KENNEL_PROFILE";

/// The configuration of this process: read once, by the first that has use for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    flag: Option<PathBuf>,
    /// What flags of this command set for the daemon.
    flags: Layer,
    // A file may be a pipe, which tells its text only once.
    read: Arc<OnceLock<Result<LoadedConfig, ConfigError>>>,
}

/// What was read.
#[derive(Debug, Clone)]
struct LoadedConfig {
    variables: ConfigVariables,
    location: Option<Location>,
    document: Option<Document>,
    environment: Layer,
}

/// Which profile is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileChoice<'a> {
    /// None: what is asked for has none.
    None,
    /// That of a flag; without one that of the environment or the file, if any.
    Chosen(Option<&'a str>),
}

/// What is set, and where.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where the file is, or would be.
    pub(crate) location: Option<Location>,
    /// Whether it is there.
    pub(crate) found: bool,
    /// The profile, and who chose it.
    pub(crate) profile: Option<(String, String)>,
    pub(super) layer: Layer,
}

impl Config {
    /// With the file that the command line names, if it does.
    pub(crate) fn new(flag: Option<PathBuf>) -> Self {
        let flag = flag.map(|path| std::path::absolute(&path).unwrap_or(path));
        Self { flag, flags: Layer::default(), read: Arc::default() }
    }

    /// The same, but with this as a flag of the command says; it is known to be sound.
    #[must_use]
    pub(crate) fn with_flag(mut self, key: &ConfigKey, flag: &'static str, text: String) -> Self {
        self.flags.set(key.name, ConfigSetting { text, origin: SettingOrigin::Flag(flag) });
        self
    }

    /// The file that the command line names, if it does.
    pub(crate) fn named_by_flag(&self) -> Option<&Path> {
        self.flag.as_deref()
    }

    /// What is set.
    pub(crate) fn settings(&self, profile: ProfileChoice<'_>) -> Result<Settings, ConfigError> {
        let read = self
            .read
            .get_or_init(|| LoadedConfig::new(self.flag.as_deref(), ConfigVariables::ours()))
            .as_ref();
        let settings = read.map_err(Clone::clone)?.settings(profile)?;
        Ok(Settings { layer: self.flags.clone().over(settings.layer), ..settings })
    }

    /// Where the file is, or would be.
    pub(crate) fn location(&self) -> Option<Location> {
        Location::find(self.flag.as_deref(), &ConfigVariables::ours())
    }
}

impl Settings {
    pub(crate) fn get(&self, name: KeyName) -> Option<&ConfigSetting> {
        self.layer.get(name)
    }

    /// From these alone.
    #[cfg(test)]
    pub(super) fn from(
        flag: Option<&Path>,
        variables: &[(&str, &str)],
        profile: ProfileChoice<'_>,
    ) -> Result<Self, ConfigError> {
        LoadedConfig::new(flag, ConfigVariables::of(variables))?.settings(profile)
    }
}

impl LoadedConfig {
    fn new(flag: Option<&Path>, variables: ConfigVariables) -> Result<Self, ConfigError> {
        let location = Location::find(flag, &variables);
        let text = location.as_ref().map(file::read).transpose()?.flatten();
        let mut read = Self { variables, location, document: None, environment: Layer::default() };
        // Who sets nothing pays for nothing.
        if text.is_none() && !read.variables.set_anything() {
            return Ok(read);
        }
        let checker = Checker::new();
        let document = match (&read.location, &text) {
            (Some(location), Some(text)) => {
                Document::parse(&location.path, text, &checker).map(Some)
            }
            _ => Ok(None),
        };
        match (document, read.variables.layer(&checker)) {
            (Ok(document), Ok(environment)) => {
                read.document = document;
                read.environment = environment;
                Ok(read)
            }
            (document, environment) => {
                let problems = [document.err(), environment.err()].into_iter().flatten();
                Err(ConfigError(problems.flat_map(|error| error.0).collect()))
            }
        }
    }

    fn settings(&self, profile: ProfileChoice<'_>) -> Result<Settings, ConfigError> {
        let chosen = match profile {
            ProfileChoice::None => None,
            ProfileChoice::Chosen(flag) => self.choose(flag)?,
        };
        let mut layer = self.environment.clone();
        let mut profile = None;
        if let Some((name, by, of_profile)) = chosen {
            layer = layer.over(of_profile);
            profile = Some((name, by));
        }
        if let Some(document) = &self.document {
            layer = layer.over(document.layer.clone());
        }
        let (location, found) = (self.location.clone(), self.document.is_some());
        Ok(Settings { location, found, profile, layer })
    }

    /// The profile, who chose it, and what it sets.
    fn choose(&self, flag: Option<&str>) -> Result<Option<(String, String, Layer)>, ConfigError> {
        let variable = || self.variables.get(PROFILE);
        let of_file = || self.document.as_ref().and_then(|document| document.profile.clone());
        let (name, by, at) = if let Some(name) = flag {
            (name.to_owned(), "--profile".to_owned(), None)
        } else if let Some(name) = variable() {
            (name.to_string_lossy().into_owned(), format!("env {PROFILE}"), None)
        } else if let Some((name, place)) = of_file() {
            (name, place.to_string(), Some(place))
        } else {
            return Ok(None);
        };
        let layer = self.document.as_ref().and_then(|document| document.profiles.get(&name));
        if let Some(layer) = layer {
            return Ok(Some((name, by, layer.clone())));
        }
        let why = self.no_such_profile(&name);
        Err(match at {
            Some(place) => ConfigProblem::at(place, why).into(),
            None => ConfigProblem::with(by.trim_start_matches("env "), why).into(),
        })
    }

    fn no_such_profile(&self, name: &str) -> String {
        let Some(document) = &self.document else {
            return match &self.location {
                Some(Location { path, .. }) => {
                    format!("there is no profile {name:?}: there is no file {}", path.display())
                }
                None => format!("there is no profile {name:?}: there is no file"),
            };
        };
        let known = || document.profiles.keys().map(String::as_str);
        let near = did_you_mean(name, known(), ToOwned::to_owned);
        let there = match known().collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "it has none".to_owned(),
            names => format!("there are: {names}"),
        };
        let file = document.path.display();
        format!("there is no profile {name:?} in {file} ({there}){}", near.unwrap_or_default())
    }
}

impl Location {
    /// Whether it must be there.
    pub(super) fn must_be_there(&self) -> bool {
        self.named != NamedBy::Nobody
    }
}
