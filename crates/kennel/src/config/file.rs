//! `kennel.toml`: read, understood, and every mistake in it found.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{Checker, a};
use super::keys::{self, KEYS, NOT_OFFERED, PROFILED};
use super::layer::{ConfigSetting, FilePosition, Layer, SettingOrigin};
use super::location::{self, Location, NamedBy};
use super::problem::{ConfigError, ConfigProblem, did_you_mean};

/// Where the profiles are.
const PROFILES: &str = "profiles";
/// What chooses one.
const PROFILE: &str = "profile";

/// What a file says.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) path: Arc<PathBuf>,
    /// The profile that it chooses, and where.
    pub(super) profile: Option<(String, FilePosition)>,
    /// What its sections set.
    pub(super) layer: Layer,
    /// What each profile sets.
    pub(super) profiles: BTreeMap<String, Layer>,
}

/// The text of the file; none if there is none, and none need be there.
pub(super) fn read(location: &Location) -> Result<Option<String>, ConfigError> {
    let path = &location.path;
    let why = match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => return Ok(Some(text)),
            Err(error) => {
                format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to())
            }
        },
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !location.must_be_there() => {
                return Ok(None);
            }
            _ => format!("can't read it: {error}"),
        },
    };
    let named = match location.named {
        NamedBy::Flag => " (named by --config)".to_owned(),
        NamedBy::Variable => format!(" (named by {})", location::VARIABLE),
        NamedBy::Nobody => String::new(),
    };
    Err(ConfigProblem::with(format!("{}{named}", path.display()), why).into())
}

impl Document {
    pub(super) fn parse(path: &Path, text: &str, checker: &Checker) -> Result<Self, ConfigError> {
        let path = Arc::new(path.to_owned());
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                return Err(
                    ConfigProblem::at(place(&path, text, at), one_line(error.message())).into()
                );
            }
        };
        let document = Self {
            path: path.clone(),
            profile: None,
            layer: Layer::default(),
            profiles: BTreeMap::new(),
        };
        let mut reading = Reading { path, text, checker, document, problems: Vec::new() };
        reading.read(&table);
        let Reading { document, mut problems, .. } = reading;
        problems.sort_by_key(|(at, _)| *at);
        match problems.is_empty() {
            true => Ok(document),
            false => Err(ConfigError(problems.into_iter().map(|(_, problem)| problem).collect())),
        }
    }
}

/// The line and the column of a byte.
fn place(path: &Arc<PathBuf>, text: &str, at: usize) -> FilePosition {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    FilePosition { file: path.clone(), line, column }
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

/// A file while it is understood.
struct Reading<'a> {
    path: Arc<PathBuf>,
    text: &'a str,
    checker: &'a Checker,
    document: Document,
    /// Each with the byte that it is at.
    problems: Vec<(usize, ConfigProblem)>,
}

impl Reading<'_> {
    fn place(&self, span: &Range<usize>) -> FilePosition {
        place(&self.path, self.text, span.start)
    }

    fn wrong(&mut self, span: &Range<usize>, text: impl Into<String>) {
        let problem = ConfigProblem::at(self.place(span), text);
        self.problems.push((span.start, problem));
    }

    fn read(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let section = name.get_ref().as_ref();
            match (section, value.get_ref()) {
                (PROFILE, DeValue::String(chosen)) => {
                    let place = self.place(&value.span());
                    self.document.profile = Some((chosen.to_string(), place));
                }
                (PROFILE, other) => {
                    let text = format!("`{PROFILE}` is a name, and not {}", a(other.type_str()));
                    self.wrong(&value.span(), text);
                }
                (PROFILES, DeValue::Table(profiles)) => self.profiles(profiles),
                (section, DeValue::Table(table)) if keys::sections().contains(&section) => {
                    let layer = self.section(section, section, table, &SettingOrigin::File);
                    let before = std::mem::take(&mut self.document.layer);
                    self.document.layer = before.over(layer);
                }
                (section, other) => {
                    let text = unknown_section(section, other);
                    self.wrong(&name.span(), text);
                }
            }
        }
    }

    fn profiles(&mut self, profiles: &DeTable<'_>) {
        for (name, value) in profiles {
            let DeValue::Table(table) = value.get_ref() else {
                let kind = a(value.get_ref().type_str());
                let text = format!("`{}` is a profile, and not {kind}", name.get_ref());
                self.wrong(&name.span(), text);
                continue;
            };
            let name = name.get_ref().to_string();
            let origin = |place| SettingOrigin::Profile { name: name.clone(), place };
            let title = format!("{PROFILES}.{name}");
            let layer = self.section(PROFILED, &title, table, &origin);
            self.document.profiles.insert(name, layer);
        }
    }

    fn section(
        &mut self,
        section: &str,
        title: &str,
        table: &DeTable<'_>,
        origin: &dyn Fn(FilePosition) -> SettingOrigin,
    ) -> Layer {
        let mut layer = Layer::default();
        for (name, value) in table {
            match self.setting(section, name.get_ref(), value) {
                Ok((key, text)) => {
                    let origin = origin(self.place(&name.span()));
                    layer.set(key, ConfigSetting { text, origin });
                }
                Err(Wrong::ConfigKey) => {
                    let why = unknown_key(section, title, name.get_ref());
                    self.wrong(&name.span(), why);
                }
                Err(Wrong::Value(why)) => self.wrong(&value.span(), why),
            }
        }
        layer
    }

    fn setting(
        &self,
        section: &str,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(keys::KeyName, String), Wrong> {
        let key = keys::find(section, name).ok_or(Wrong::ConfigKey)?;
        let text = self.checker.value(key, value.get_ref()).map_err(Wrong::Value)?;
        Ok((key.name, text))
    }
}

/// What of an entry is wrong.
enum Wrong {
    ConfigKey,
    Value(String),
}

fn unknown_key(section: &str, title: &str, name: &str) -> String {
    let refused = NOT_OFFERED.iter().find(|(other, _)| section == PROFILED && *other == name);
    if let Some((_, why)) = refused {
        return format!("`{name}` can't be set here: {why}");
    }
    let known = || keys::of_section(section).map(|key| key.name.key);
    let near = did_you_mean(name, known(), |key| format!("`{key}`"));
    let hint = near
        .or_else(|| belongs(name))
        .unwrap_or_else(|| format!("; there are: {}", known().collect::<Vec<_>>().join(", ")));
    format!("unknown key `{name}` in [{title}]{hint}")
}

fn unknown_section(name: &str, value: &DeValue<'_>) -> String {
    let sections = keys::sections();
    if sections.contains(&name) || name == PROFILES {
        return format!("[{name}] is a section, and not {}", a(value.type_str()));
    }
    if !value.is_table() {
        let near = did_you_mean(name, [PROFILE], |key| format!("`{key}`"));
        let hint = near.or_else(|| belongs(name)).unwrap_or_default();
        return format!("unknown key `{name}` above all sections{hint}");
    }
    let known = sections.iter().copied().chain([PROFILES]);
    let near = did_you_mean(name, known.clone(), |section| format!("[{section}]"));
    let hint =
        near.unwrap_or_else(|| format!("; there are: {}", known.collect::<Vec<_>>().join(", ")));
    format!("unknown section [{name}]{hint}")
}

/// Where a key would be right.
fn belongs(name: &str) -> Option<String> {
    let sections = KEYS.iter().filter(|key| key.name.key == name);
    let sections: Vec<_> = sections.map(|key| format!("[{}]", key.name.section)).collect();
    (!sections.is_empty()).then(|| format!("; it belongs in {}", sections.join(" or ")))
}
