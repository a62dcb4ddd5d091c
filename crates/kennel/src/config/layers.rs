//! Where settings come from, and which source overrides which.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, fs, io};

use super::file::Document;
use super::keys::{self, Checker, ConfigKey, KEYS, KeyName};

const CONFIG_VARIABLE: &str = "KENNEL_CONFIG";
const PROFILE_VARIABLE: &str = "KENNEL_PROFILE";

/// All mistakes in a configuration, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub(crate) struct ConfigError(pub(super) Vec<String>);

/// A position in a file; line and column start at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePosition {
    pub(crate) file: Arc<PathBuf>,
    pub(crate) line: usize,
    pub(super) column: usize,
}

impl FilePosition {
    pub(super) fn error(&self, text: &str) -> String {
        format!("{self}:{}: {text}", self.column)
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    Flag(&'static str),
    Environment(String),
    Profile { name: String, position: FilePosition },
    File(FilePosition),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Environment(variable) => write!(f, "env {variable}"),
            Self::Profile { name, position } => write!(f, "profile {name} in {position}"),
            Self::File(position) => position.fmt(f),
        }
    }
}

/// A value as it was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigSetting {
    pub(crate) text: String,
    pub(crate) origin: SettingOrigin,
}

pub(super) type Layer = BTreeMap<KeyName, ConfigSetting>;

/// Puts a layer over another: settings that it lacks are taken from the one below.
pub(super) fn over(layer: &mut Layer, below: Layer) {
    for (name, setting) in below {
        layer.entry(name).or_insert(setting);
    }
}

/// Returns `; did you mean X?`, if a known word is similar.
pub(super) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    show: impl Fn(&str) -> String,
) -> Option<String> {
    let nearest = kennel_types::suggestion::nearest(written, known)?;
    Some(format!("; did you mean {}?", show(nearest)))
}

/// The environment variables that matter for the configuration. An empty one counts as unset.
#[derive(Debug, Clone, Default)]
struct ConfigVariables(BTreeMap<OsString, OsString>);

impl ConfigVariables {
    fn of_process() -> Self {
        let relevant = |name: &OsStr| {
            ["HOME", "XDG_CONFIG_HOME"].iter().any(|other| name == *other)
                || name.as_encoded_bytes().starts_with(b"KENNEL_")
        };
        Self(std::env::vars_os().filter(|(name, _)| relevant(name)).collect())
    }

    fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(OsString::as_os_str)
    }

    /// Returns the variables that can only be meant as settings: `KENNEL_RUN_…`.
    fn settings(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        let is_setting = |name: &str| {
            let rest = name.strip_prefix("KENNEL_").unwrap_or_default();
            keys::sections().iter().any(|section| {
                let rest = rest.strip_prefix(&section.to_ascii_uppercase());
                rest.is_some_and(|rest| rest.starts_with('_'))
            })
        };
        let names = self.0.keys().filter_map(|name| name.to_str());
        names.filter(move |name| is_setting(name)).filter_map(|name| Some((name, self.get(name)?)))
    }

    fn layer(&self, checker: &Checker) -> Result<Layer, ConfigError> {
        let mut layer = Layer::new();
        let mut errors = Vec::new();
        for (name, value) in self.settings() {
            match check_variable(checker, name, value) {
                Ok((key, text)) => {
                    let origin = SettingOrigin::Environment(name.to_owned());
                    layer.insert(key, ConfigSetting { text, origin });
                }
                Err(why) => errors.push(format!("{name}: {why}")),
            }
        }
        if errors.is_empty() { Ok(layer) } else { Err(ConfigError(errors)) }
    }
}

fn check_variable(
    checker: &Checker,
    name: &str,
    value: &OsStr,
) -> Result<(KeyName, String), String> {
    let key = KEYS.iter().find(|key| key.name.variable() == name).ok_or_else(|| {
        let known: Vec<_> = KEYS.iter().map(|key| key.name.variable()).collect();
        let near = did_you_mean(name, known.iter().map(String::as_str), ToOwned::to_owned);
        format!("unknown setting{}", near.unwrap_or_default())
    })?;
    let text = value.to_str().ok_or_else(|| "not valid UTF-8".to_owned())?;
    Ok((key.name, checker.variable(key, text)?))
}

/// The configuration file, which may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    /// `--config` or `KENNEL_CONFIG`, if one of them names the file. A named file must exist.
    named_by: Option<&'static str>,
}

impl Location {
    /// Returns nothing if no variable defines where to look.
    fn find(flag: Option<&Path>, variables: &ConfigVariables) -> Option<Self> {
        let variable = |name| variables.get(name).map(PathBuf::from);
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        if let Some(flag) = flag {
            return Some(Self { path: absolute(flag.to_owned()), named_by: Some("--config") });
        }
        if let Some(path) = variable(CONFIG_VARIABLE) {
            return Some(Self { path: absolute(path), named_by: Some(CONFIG_VARIABLE) });
        }
        let folder = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let folder = folder.or_else(|| variable("HOME").map(|home| home.join(".config")))?;
        Some(Self { path: folder.join("kennel/kennel.toml"), named_by: None })
    }

    /// Reads the file; nothing if it doesn't exist and needn't.
    fn read(&self) -> Result<Option<String>, ConfigError> {
        let why = match fs::read(&self.path).map(String::from_utf8) {
            Ok(Ok(text)) => return Ok(Some(text)),
            Ok(Err(error)) => {
                format!("not valid UTF-8 from byte {} on", error.utf8_error().valid_up_to())
            }
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    if self.named_by.is_none() =>
                {
                    return Ok(None);
                }
                _ => format!("can't read the file: {error}"),
            },
        };
        let named = self.named_by.map(|by| format!(" (named by {by})")).unwrap_or_default();
        Err(ConfigError(vec![format!("{}{named}: {why}", self.path.display())]))
    }
}

/// Whether a profile applies, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileChoice<'a> {
    /// The verb has no profiles.
    None,
    /// The profile that the flag names; without a flag, that of the environment or the file.
    Selected(Option<&'a str>),
}

/// The settings in effect, and their origins.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where the file is or would be.
    pub(crate) location: Option<Location>,
    pub(crate) exists: bool,
    /// The profile, and what selected it.
    pub(crate) profile: Option<(String, String)>,
    pub(super) layer: Layer,
}

impl Settings {
    pub(crate) fn get(&self, name: KeyName) -> Option<&ConfigSetting> {
        self.layer.get(&name)
    }

    /// Loads the settings from these sources only.
    #[cfg(test)]
    pub(super) fn from(
        flag: Option<&Path>,
        variables: &[(&str, &str)],
        profile: ProfileChoice<'_>,
    ) -> Result<Self, ConfigError> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        LoadedConfig::new(flag, ConfigVariables(variables.collect()))?.settings(profile)
    }
}

/// The configuration of this process. It is loaded on first use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    flag: Option<PathBuf>,
    /// Settings of the daemon that flags of this command override.
    flags: Layer,
    // Loaded once: the file may be a pipe.
    loaded: Arc<OnceLock<Result<LoadedConfig, ConfigError>>>,
}

impl Config {
    /// Creates the configuration with the file that `--config` names, if any.
    pub(crate) fn new(flag: Option<PathBuf>) -> Self {
        let flag = flag.map(|path| std::path::absolute(&path).unwrap_or(path));
        Self { flag, ..Self::default() }
    }

    /// Overrides a setting with the value of a flag, which is already checked.
    #[must_use]
    pub(crate) fn with_flag(mut self, key: &ConfigKey, flag: &'static str, text: String) -> Self {
        let origin = SettingOrigin::Flag(flag);
        self.flags.insert(key.name, ConfigSetting { text, origin });
        self
    }

    pub(crate) fn named_by_flag(&self) -> Option<&Path> {
        self.flag.as_deref()
    }

    pub(crate) fn settings(&self, profile: ProfileChoice<'_>) -> Result<Settings, ConfigError> {
        let load = || LoadedConfig::new(self.flag.as_deref(), ConfigVariables::of_process());
        let loaded = self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)?;
        let mut settings = loaded.settings(profile)?;
        let below = std::mem::replace(&mut settings.layer, self.flags.clone());
        over(&mut settings.layer, below);
        Ok(settings)
    }

    pub(crate) fn location(&self) -> Option<Location> {
        Location::find(self.flag.as_deref(), &ConfigVariables::of_process())
    }
}

#[derive(Debug, Clone)]
struct LoadedConfig {
    variables: ConfigVariables,
    location: Option<Location>,
    document: Option<Document>,
    environment: Layer,
}

impl LoadedConfig {
    fn new(flag: Option<&Path>, variables: ConfigVariables) -> Result<Self, ConfigError> {
        let location = Location::find(flag, &variables);
        let text = location.as_ref().map(Location::read).transpose()?.flatten();
        // The checker builds the whole command line; without any settings that is not needed.
        if text.is_none() && variables.settings().next().is_none() {
            return Ok(Self { variables, location, document: None, environment: Layer::new() });
        }
        let checker = Checker::new();
        let document = match (&location, &text) {
            (Some(location), Some(text)) => {
                Document::parse(&location.path, text, &checker).map(Some)
            }
            _ => Ok(None),
        };
        match (document, variables.layer(&checker)) {
            (Ok(document), Ok(environment)) => {
                Ok(Self { variables, location, document, environment })
            }
            (document, environment) => {
                let errors = [document.err(), environment.err()].into_iter().flatten();
                Err(ConfigError(errors.flat_map(|error| error.0).collect()))
            }
        }
    }

    fn settings(&self, profile: ProfileChoice<'_>) -> Result<Settings, ConfigError> {
        let mut layer = self.environment.clone();
        let mut selected = None;
        if let ProfileChoice::Selected(flag) = profile
            && let Some((name, by, settings)) = self.select_profile(flag)?
        {
            over(&mut layer, settings);
            selected = Some((name, by));
        }
        if let Some(document) = &self.document {
            over(&mut layer, document.layer.clone());
        }
        let (location, exists) = (self.location.clone(), self.document.is_some());
        Ok(Settings { location, exists, profile: selected, layer })
    }

    /// Returns the profile, what selected it, and its settings.
    fn select_profile(
        &self,
        flag: Option<&str>,
    ) -> Result<Option<(String, String, Layer)>, ConfigError> {
        let in_file = self.document.as_ref().and_then(|document| document.profile.clone());
        let (name, by, position) = if let Some(name) = flag {
            (name.to_owned(), "--profile".to_owned(), None)
        } else if let Some(name) = self.variables.get(PROFILE_VARIABLE) {
            (name.to_string_lossy().into_owned(), format!("env {PROFILE_VARIABLE}"), None)
        } else if let Some((name, position)) = in_file {
            (name, position.to_string(), Some(position))
        } else {
            return Ok(None);
        };
        let layer = self.document.as_ref().and_then(|document| document.profiles.get(&name));
        if let Some(layer) = layer {
            return Ok(Some((name, by, layer.clone())));
        }
        let why = self.unknown_profile(&name);
        Err(ConfigError(vec![match position {
            Some(position) => position.error(&why),
            None => format!("{}: {why}", by.trim_start_matches("env ")),
        }]))
    }

    fn unknown_profile(&self, name: &str) -> String {
        let why = match (&self.document, &self.location) {
            (Some(document), _) => {
                let known: Vec<_> = document.profiles.keys().map(String::as_str).collect();
                let near = did_you_mean(name, known.iter().copied(), ToOwned::to_owned);
                let known = match known.is_empty() {
                    true => "no profiles".to_owned(),
                    false => known.join(", "),
                };
                format!("{} defines {known}{}", document.path.display(), near.unwrap_or_default())
            }
            (None, Some(location)) => format!("{} does not exist", location.path.display()),
            (None, None) => "there is no configuration file".to_owned(),
        };
        format!("unknown profile {name:?}: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn suggests_only_similar_words() {
        let known = ["grace", "linger", "lease", "output_limit"];
        let suggest = |written| did_you_mean(written, known, |word| format!("`{word}`"));
        for (written, meant) in [
            ("grcae", "grace"),
            ("gracee", "grace"),
            ("leas", "lease"),
            ("output-limit", "output_limit"),
            ("outputlimit", "output_limit"),
        ] {
            assert_eq!(suggest(written), Some(format!("; did you mean `{meant}`?")), "{written}");
        }
        for written in ["", "x", "memory", "limit"] {
            assert_eq!(suggest(written), None, "{written}");
        }
    }

    #[test]
    fn the_flag_overrides_the_variable_which_overrides_the_default_locations() {
        let found = |flag: Option<&str>, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
            let location =
                Location::find(flag.map(Path::new), &ConfigVariables(variables.collect()))?;
            Some((location.path.display().to_string(), location.named_by))
        };
        let home = ("HOME", "/home/u");
        let xdg = ("XDG_CONFIG_HOME", "/xdg");
        let named = (CONFIG_VARIABLE, "/named.toml");
        let at = |path: &str, by| Some((path.to_owned(), by));
        assert_eq!(found(Some("/f"), &[home, xdg, named]), at("/f", Some("--config")));
        assert_eq!(found(None, &[home, xdg, named]), at("/named.toml", Some("KENNEL_CONFIG")));
        assert_eq!(found(None, &[home, xdg]), at("/xdg/kennel/kennel.toml", None));
        let default = at("/home/u/.config/kennel/kennel.toml", None);
        assert_eq!(found(None, &[home]), default);
        // The XDG standard ignores a relative path; an empty variable counts as unset.
        assert_eq!(found(None, &[home, ("XDG_CONFIG_HOME", "x"), (CONFIG_VARIABLE, "")]), default);
        assert_eq!(found(None, &[]), None);
    }

    /// Generates a layer whose values name their source.
    fn layer(source: &'static str) -> impl Strategy<Value = Layer> {
        proptest::collection::vec(any::<bool>(), KEYS.len()).prop_map(move |set| {
            let chosen = KEYS.iter().zip(set).filter(|(_, set)| *set);
            let origin = SettingOrigin::Environment(source.to_owned());
            let setting = ConfigSetting { text: source.to_owned(), origin };
            chosen.map(|(key, _)| (key.name, setting.clone())).collect()
        })
    }

    fn stacked(mut layer: Layer, below: Layer) -> Layer {
        over(&mut layer, below);
        layer
    }

    proptest! {
        #[test]
        fn stacking_layers_is_associative(a in layer("a"), b in layer("b"), c in layer("c")) {
            let left = stacked(stacked(a.clone(), b.clone()), c.clone());
            prop_assert_eq!(left, stacked(a, stacked(b, c)));
        }

        #[test]
        fn the_topmost_layer_that_sets_a_key_wins(
            a in layer("a"), b in layer("b"), c in layer("c"),
        ) {
            let all = stacked(stacked(a.clone(), b.clone()), c.clone());
            for key in KEYS {
                let first = [&a, &b, &c].into_iter().find_map(|layer| layer.get(&key.name));
                prop_assert_eq!(all.get(&key.name), first);
            }
        }

        #[test]
        fn an_empty_layer_changes_nothing(a in layer("a")) {
            prop_assert_eq!(&stacked(a.clone(), Layer::new()), &a);
            prop_assert_eq!(&stacked(Layer::new(), a.clone()), &a);
            prop_assert_eq!(&stacked(a.clone(), a.clone()), &a);
        }
    }
}
