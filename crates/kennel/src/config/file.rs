//! `kennel.toml`: parsed and checked, with every mistake reported at its position.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Checker, KEYS, KeyName, NOT_CONFIGURABLE, PROFILED, with_article};
use super::layers::{
    ConfigError, ConfigSetting, FilePosition, Layer, SettingOrigin, did_you_mean, over,
};

const PROFILES: &str = "profiles";
const PROFILE: &str = "profile";

#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) path: Arc<PathBuf>,
    /// The profile that the file selects, and where it does.
    pub(super) profile: Option<(String, FilePosition)>,
    pub(super) layer: Layer,
    pub(super) profiles: BTreeMap<String, Layer>,
}

impl Document {
    pub(super) fn parse(path: &Path, text: &str, checker: &Checker) -> Result<Self, ConfigError> {
        let path = Arc::new(path.to_owned());
        let document = Self {
            path: path.clone(),
            profile: None,
            layer: Layer::new(),
            profiles: BTreeMap::new(),
        };
        let mut parser = Parser { path, text, checker, document, errors: Vec::new() };
        match DeTable::parse(text) {
            Ok(table) => parser.parse(table.get_ref()),
            Err(error) => {
                let lines: Vec<_> = error.message().lines().map(str::trim).collect();
                parser.error(&error.span().unwrap_or_default(), &lines.join("; "));
            }
        }
        let Parser { document, mut errors, .. } = parser;
        errors.sort_by_key(|(at, _)| *at);
        match errors.is_empty() {
            true => Ok(document),
            false => Err(ConfigError(errors.into_iter().map(|(_, error)| error).collect())),
        }
    }
}

struct Parser<'a> {
    path: Arc<PathBuf>,
    text: &'a str,
    checker: &'a Checker,
    document: Document,
    /// Each error with its byte offset.
    errors: Vec<(usize, String)>,
}

impl Parser<'_> {
    fn position(&self, span: &Range<usize>) -> FilePosition {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        FilePosition { file: self.path.clone(), line, column }
    }

    fn error(&mut self, span: &Range<usize>, text: &str) {
        let text = self.position(span).error(text);
        self.errors.push((span.start, text));
    }

    fn parse(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let section = name.get_ref().as_ref();
            match (section, value.get_ref()) {
                (PROFILE, DeValue::String(chosen)) => {
                    let position = self.position(&value.span());
                    self.document.profile = Some((chosen.to_string(), position));
                }
                (PROFILE, other) => {
                    let kind = with_article(other.type_str());
                    self.error(&value.span(), &format!("`{PROFILE}` must be a string, not {kind}"));
                }
                (PROFILES, DeValue::Table(profiles)) => self.profiles(profiles),
                (section, DeValue::Table(table)) if keys::sections().contains(&section) => {
                    let layer = self.section(section, section, table, &SettingOrigin::File);
                    over(&mut self.document.layer, layer);
                }
                (section, other) => self.error(&name.span(), &unknown_section(section, other)),
            }
        }
    }

    fn profiles(&mut self, profiles: &DeTable<'_>) {
        for (name, value) in profiles {
            let DeValue::Table(table) = value.get_ref() else {
                let kind = with_article(value.get_ref().type_str());
                let text = format!("profile `{}` must be a table, not {kind}", name.get_ref());
                self.error(&name.span(), &text);
                continue;
            };
            let name = name.get_ref().to_string();
            let origin = |position| SettingOrigin::Profile { name: name.clone(), position };
            let layer = self.section(PROFILED, &format!("{PROFILES}.{name}"), table, &origin);
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
        let mut layer = Layer::new();
        for (name, value) in table {
            match self.setting(section, title, name, value) {
                Ok((key, text)) => {
                    let origin = origin(self.position(&name.span()));
                    layer.insert(key, ConfigSetting { text, origin });
                }
                Err((span, text)) => self.error(&span, &text),
            }
        }
        layer
    }

    fn setting(
        &self,
        section: &str,
        title: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(KeyName, String), (Range<usize>, String)> {
        let key = keys::find(section, name.get_ref())
            .ok_or_else(|| (name.span(), unknown_key(section, title, name.get_ref())))?;
        let text = self.checker.value(key, value.get_ref());
        Ok((key.name, text.map_err(|text| (value.span(), text))?))
    }
}

fn unknown_key(section: &str, title: &str, name: &str) -> String {
    let refused = NOT_CONFIGURABLE.iter().find(|(other, _)| section == PROFILED && *other == name);
    if let Some((_, why)) = refused {
        return format!("`{name}` can't be set here: {why}");
    }
    let known = || keys::of_section(section).map(|key| key.name.key);
    let hint = did_you_mean(name, known(), |key| format!("`{key}`"))
        .or_else(|| belongs_elsewhere(name))
        .unwrap_or_else(|| format!("; known keys: {}", known().collect::<Vec<_>>().join(", ")));
    format!("unknown key `{name}` in [{title}]{hint}")
}

fn unknown_section(name: &str, value: &DeValue<'_>) -> String {
    let sections = keys::sections();
    if sections.contains(&name) || name == PROFILES {
        return format!("[{name}] must be a section, not {}", with_article(value.type_str()));
    }
    if !value.is_table() {
        let hint = did_you_mean(name, [PROFILE], |key| format!("`{key}`"))
            .or_else(|| belongs_elsewhere(name))
            .unwrap_or_default();
        return format!("unknown key `{name}` at the top level{hint}");
    }
    let known = || sections.iter().copied().chain([PROFILES]);
    let hint = did_you_mean(name, known(), |section| format!("[{section}]"))
        .unwrap_or_else(|| format!("; known sections: {}", known().collect::<Vec<_>>().join(", ")));
    format!("unknown section [{name}]{hint}")
}

/// Names the sections that have such a key.
fn belongs_elsewhere(name: &str) -> Option<String> {
    let sections = KEYS.iter().filter(|key| key.name.key == name);
    let sections: Vec<_> = sections.map(|key| format!("[{}]", key.name.section)).collect();
    (!sections.is_empty()).then(|| format!("; it belongs in {}", sections.join(" or ")))
}
