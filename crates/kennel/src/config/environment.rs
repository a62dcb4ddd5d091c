//! What the environment sets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::check::Checker;
use super::keys::{self, KEYS};
use super::layer::{ConfigSetting, Layer, SettingOrigin};
use super::problem::{ConfigError, ConfigProblem, did_you_mean};

/// The variables that the configuration has to do with. One that is empty is as good as unset.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigVariables(BTreeMap<OsString, OsString>);

impl ConfigVariables {
    /// Those of this process.
    pub(crate) fn ours() -> Self {
        let concerns = |name: &OsStr| {
            ["HOME", "XDG_CONFIG_HOME"].iter().any(|other| name == *other)
                || name.as_encoded_bytes().starts_with(b"KENNEL_")
        };
        Self(std::env::vars_os().filter(|(name, _)| concerns(name)).collect())
    }

    #[cfg(test)]
    pub(super) fn of(variables: &[(&str, &str)]) -> Self {
        Self(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(OsString::as_os_str)
    }

    /// What they set.
    pub(super) fn layer(&self, checker: &Checker) -> Result<Layer, ConfigError> {
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        for name in self.0.keys().filter_map(|name| name.to_str()) {
            let Some(value) = self.get(name).filter(|_| is_ours(name)) else { continue };
            let Some(key) = KEYS.iter().find(|key| key.name.variable() == name) else {
                problems.push(unknown(name));
                continue;
            };
            match value.to_str().ok_or_else(|| "it is not UTF-8".to_owned()) {
                Ok(text) => match checker.variable(key, text) {
                    Ok(text) => {
                        let origin = SettingOrigin::Environment(name.to_owned());
                        layer.set(key.name, ConfigSetting { text, origin });
                    }
                    Err(why) => problems.push(ConfigProblem::with(name, why)),
                },
                Err(why) => problems.push(ConfigProblem::with(name, why)),
            }
        }
        if problems.is_empty() { Ok(layer) } else { Err(ConfigError(problems)) }
    }

    /// Whether any of them sets something.
    pub(super) fn set_anything(&self) -> bool {
        self.0.keys().filter_map(|name| name.to_str()).any(is_ours)
    }
}

/// Whether it can only be meant for us: `KENNEL_RUN_…`.
fn is_ours(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("KENNEL_") else { return false };
    let mut sections = keys::sections().into_iter();
    sections.any(|section| {
        let rest = rest.strip_prefix(&section.to_ascii_uppercase());
        rest.is_some_and(|rest| rest.starts_with('_'))
    })
}

fn unknown(name: &str) -> ConfigProblem {
    let known: Vec<_> = KEYS.iter().map(|key| key.name.variable()).collect();
    let near = did_you_mean(name, known.iter().map(String::as_str), ToOwned::to_owned);
    let text = format!("there is nothing of this name to set{}", near.unwrap_or_default());
    ConfigProblem::with(name, text)
}
