//! What the daemon is started with.
//!
//! Whoever starts a yard, or has the daemon start anew, reads the configuration and leaves in the home what
//! concerns the daemon. So one that the yard starts after a crash has the same settings as the one before,
//! whatever became of the file meanwhile, and a mistake in it is told to a person and not to a log.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use kennel_core::admission::{NameCap, Pattern};
use kennel_daemon::DaemonConfig;
use kennel_http::{HttpConfig, ListenSettings};

use super::check::{address, count, count_by_name, host_names, switch};
use super::keys::{API, DAEMON, KeyName};
use super::problem::ConfigError;
use super::settings::ProfileChoice;
use crate::command_error::CommandError;
use crate::home::Home;
use crate::quantity::{parse_size, parse_time};

/// The file in the home. If nothing is set, there is none.
const FILE: &str = "daemon.settings";

/// Why nothing was handed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandOverError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It can't be written.
    #[error("can't write the daemon's settings to {path}")]
    Write {
        /// Where.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl From<HandOverError> for CommandError {
    fn from(error: HandOverError) -> Self {
        match error {
            HandOverError::Config(error) => error.into(),
            error @ HandOverError::Write { .. } => Self::setup(error),
        }
    }
}

/// Leaves in the home what the next daemon is to be started with.
pub(crate) fn hand_over(home: &Home) -> Result<(), HandOverError> {
    let settings = home.config.settings(ProfileChoice::None)?;
    let ours = settings.layer.iter().filter(|(name, _)| [DAEMON, API].contains(&name.section));
    let values = ours.map(|(name, setting)| (called(name), setting.text.clone()));
    let path = home.path(FILE);
    DaemonSettings(values.collect())
        .write(&path)
        .map_err(|source| HandOverError::Write { path: path.display().to_string(), source })
}

/// How a key is called in the file.
fn called(name: KeyName) -> String {
    match name.section {
        DAEMON => name.key.to_owned(),
        _ => name.to_string(),
    }
}

/// How the next daemon would have the API over TCP.
pub(crate) fn listen_settings(home: &Home) -> Result<ListenSettings, ConfigError> {
    let settings = home.config.settings(ProfileChoice::None)?;
    let mut listen = ListenSettings::default();
    for (name, setting) in settings.layer.iter().filter(|(name, _)| name.section == API) {
        // All of it was checked when it was read.
        listen_setting(&mut listen, name.key, &setting.text).ok();
    }
    Ok(listen)
}

fn listen_setting(listen: &mut ListenSettings, key: &str, text: &str) -> Result<(), String> {
    match key {
        "listen" => listen.listen = Some(address(text)?),
        "allow_remote" => listen.allow_remote = switch(text)?,
        "tls_cert" => listen.tls_cert = Some(text.into()),
        "tls_key" => listen.tls_key = Some(text.into()),
        "names" => listen.names = host_names(text)?,
        _ => return Err("there is nothing of this name to set".to_owned()),
    }
    Ok(())
}

/// What a daemon was told: keys and values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DaemonSettings(BTreeMap<String, String>);

impl DaemonSettings {
    fn write(&self, path: &Path) -> io::Result<()> {
        if self.0.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        // Beside its place first: who reads it must never see half of it.
        let draft = path.with_extension(format!("settings.{}", std::process::id()));
        let text = serde_json::to_string_pretty(&self.0).map_err(io::Error::other)?;
        let written = fs::write(&draft, text + "\n").and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // What is left of it is in nobody's way.
            fs::remove_file(&draft).ok();
        }
        written
    }

    /// What was left in the home.
    pub(crate) fn read(home: &Home) -> io::Result<Self> {
        match fs::read_to_string(home.path(FILE)) {
            Ok(text) => Ok(Self(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Puts them where they belong. What another version of Kennel left and this one can't use is given back,
    /// with why: it must not keep sessions without a daemon.
    pub(crate) fn apply(&self, config: &mut DaemonConfig, http: &mut HttpConfig) -> Vec<String> {
        let mut refused = Vec::new();
        for (key, text) in &self.0 {
            let applied = match key.as_str() {
                "worktrees" => {
                    config.worktrees = Some(text.into());
                    Ok(())
                }
                "ended_kept" => count(text).map(|number| config.ended_kept = number),
                "max_live" => cap(text).map(|most| config.terms.caps.live = most),
                "max_launching" => cap(text).map(|most| config.terms.caps.launching = most),
                "max_live_by_name" => names(text).map(|names| config.terms.caps.names = names),
                "key_retention" => parse_time(text).map(|time| config.terms.key_retention = time),
                "min_free_disk" => parse_size(text).map(|size| config.terms.minima.disk = size),
                "min_free_memory" => parse_size(text).map(|size| config.terms.minima.memory = size),
                "reader_patience" => parse_time(text).map(|time| http.write_timeout = time),
                key => match key.split_once('.') {
                    Some((API, key)) => listen_setting(&mut http.listen, key, text),
                    _ => Err("there is nothing of this name to set".to_owned()),
                },
            };
            if let Err(why) = applied {
                refused.push(format!("{key}: {why}"));
            }
        }
        refused
    }
}

/// A cap; 0 is none.
fn cap(text: &str) -> Result<Option<u32>, String> {
    most(count(text)?).map(|most| Some(most).filter(|most| *most > 0))
}

fn most(number: usize) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number} is more than there can be"))
}

fn names(text: &str) -> Result<Vec<NameCap>, String> {
    let caps = count_by_name(text)?
        .into_iter()
        .map(|(pattern, number)| Ok(NameCap { pattern: Pattern(pattern), most: most(number)? }));
    caps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{self, Meaning, SettingKind};
    use kennel_pen::HomeId;

    fn config() -> DaemonConfig {
        let null = fs::File::open("/dev/null").unwrap().into();
        DaemonConfig::new("/h".into(), HomeId::random().unwrap(), null, "0".to_owned())
    }

    fn settings(pairs: &[(&str, &str)]) -> DaemonSettings {
        DaemonSettings(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn they_come_back_as_they_were_left_and_nothing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned()).unwrap();
        assert_eq!(DaemonSettings::read(&home).unwrap(), DaemonSettings::default());
        let left = settings(&[("ended_kept", "7")]);
        left.write(&home.path(FILE)).unwrap();
        assert_eq!(DaemonSettings::read(&home).unwrap(), left);
        for _ in 0..2 {
            DaemonSettings::default().write(&home.path(FILE)).unwrap();
            assert!(!home.path(FILE).exists());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn half_a_file_is_an_error_and_not_a_setting() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().to_owned()).unwrap();
        fs::write(home.path(FILE), "{\"ended_kept\": ").unwrap();
        assert!(DaemonSettings::read(&home).is_err());
    }

    #[test]
    fn what_cant_be_used_is_told_and_the_rest_is_used() {
        let mut config = config();
        let left = settings(&[("ended_kept", "7"), ("from_the_future", "1")]);
        let refused = left.apply(&mut config, &mut HttpConfig::default());
        assert_eq!(config.ended_kept, 7);
        assert_eq!(refused, ["from_the_future: there is nothing of this name to set"]);
        assert_eq!(
            settings(&[("ended_kept", "x")]).apply(&mut config, &mut HttpConfig::default()).len(),
            1
        );
        assert_eq!(config.ended_kept, 7);
    }

    #[test]
    fn what_is_told_to_be_built_in_is() {
        let ended_kept = keys::find(DAEMON, "ended_kept").unwrap();
        let Meaning::Daemon { built_in, .. } = ended_kept.meaning else { panic!("not a flag") };
        assert_eq!(built_in, Some(config().ended_kept.to_string().as_str()));
    }

    /// A key without a place to put it would be a promise that nobody keeps.
    #[test]
    fn every_key_of_the_daemons_has_its_place() {
        for key in [DAEMON, API].into_iter().flat_map(keys::of_section) {
            let Meaning::Daemon { kind, .. } = key.meaning else {
                panic!("{} is a flag", key.name)
            };
            let text = match kind {
                SettingKind::Count => "1",
                SettingKind::Time => "1s",
                SettingKind::Size => "1M",
                SettingKind::Folder => "/folder",
                SettingKind::CountByName => "ci-*=1",
                SettingKind::File => "/file",
                SettingKind::Address => "127.0.0.1:1",
                SettingKind::Switch => "true",
                SettingKind::Names => "a.example",
            };
            let refused = settings(&[(called(key.name).as_str(), text)])
                .apply(&mut config(), &mut HttpConfig::default());
            assert_eq!(refused, Vec::<String>::new());
        }
    }
}
