//! What one place sets, and how places go before one another.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::keys::KeyName;

/// A place in a file; both numbers begin at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePosition {
    pub(crate) file: Arc<PathBuf>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// A flag of this very command.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(String),
    /// A profile of the file.
    Profile { name: String, place: FilePosition },
    /// The file.
    File(FilePosition),
}

/// A value as it was written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigSetting {
    pub(crate) text: String,
    pub(crate) origin: SettingOrigin,
}

/// What one place sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layer(BTreeMap<KeyName, ConfigSetting>);

impl Layer {
    pub(super) fn set(&mut self, name: KeyName, setting: ConfigSetting) {
        self.0.insert(name, setting);
    }

    pub(super) fn get(&self, name: KeyName) -> Option<&ConfigSetting> {
        self.0.get(&name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (KeyName, &ConfigSetting)> {
        self.0.iter().map(|(name, setting)| (*name, setting))
    }

    /// This one before another: what it does not set is as the other has it.
    #[must_use]
    pub(super) fn over(mut self, below: Self) -> Self {
        for (name, setting) in below.0 {
            self.0.entry(name).or_insert(setting);
        }
        self
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Environment(variable) => write!(f, "env {variable}"),
            Self::Profile { name, place } => write!(f, "profile {name} in {place}"),
            Self::File(place) => place.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KEYS;
    use proptest::prelude::*;

    /// Any layer; its values tell whose they are.
    fn layer(whose: &'static str) -> impl Strategy<Value = Layer> {
        proptest::collection::vec(any::<bool>(), KEYS.len()).prop_map(move |set| {
            let mut layer = Layer::default();
            for (key, _) in KEYS.iter().zip(set).filter(|(_, set)| *set) {
                let origin = SettingOrigin::Environment(whose.to_owned());
                layer.set(key.name, ConfigSetting { text: whose.to_owned(), origin });
            }
            layer
        })
    }

    proptest! {
        #[test]
        fn it_does_not_matter_which_two_are_laid_first(
            a in layer("a"), b in layer("b"), c in layer("c"),
        ) {
            let left = a.clone().over(b.clone()).over(c.clone());
            prop_assert_eq!(left, a.over(b.over(c)));
        }

        #[test]
        fn the_first_that_sets_a_key_has_it_and_an_unset_one_hides_nothing(
            a in layer("a"), b in layer("b"), c in layer("c"),
        ) {
            let all = a.clone().over(b.clone()).over(c.clone());
            for key in KEYS {
                let first = [&a, &b, &c].into_iter().find_map(|layer| layer.get(key.name));
                prop_assert_eq!(all.get(key.name), first);
            }
        }

        #[test]
        fn nothing_changes_nothing(a in layer("a")) {
            prop_assert_eq!(&a.clone().over(Layer::default()), &a);
            prop_assert_eq!(&Layer::default().over(a.clone()), &a);
            prop_assert_eq!(&a.clone().over(a.clone()), &a);
        }
    }
}
