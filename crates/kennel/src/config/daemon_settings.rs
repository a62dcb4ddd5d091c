//! The settings that a daemon starts with.
//!
//! The command that starts a yard or restarts the daemon reads the configuration and writes the
//! daemon's part into the home. A daemon that the yard starts after a crash therefore has the same
//! settings as the one before, even if the file has changed, and mistakes in the file are reported
//! to a person instead of a log.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use kennel_core::admission::{NameCap, Pattern};
use kennel_daemon::DaemonConfig;
use kennel_http::{HttpConfig, ListenSettings};

use super::keys::{API, DAEMON, KeyName, address, count, count_by_name, host_names, switch};
use super::layers::{ConfigError, ProfileChoice};
use crate::command_prelude::*;
use crate::quantity::parse_size;

/// The file in the home; it does not exist if nothing is set.
const FILE: &str = "daemon.settings";
const UNKNOWN_SETTING: &str = "unknown setting";

/// Writes the settings for the next daemon into the home.
pub(crate) fn hand_over(home: &HomeDir) -> Result<(), CommandError> {
    DaemonSettings::of(home)?.write(home).map_err(CommandError::setup)
}

fn name_in_file(name: KeyName) -> String {
    match name.section {
        DAEMON => name.key.to_owned(),
        _ => name.to_string(),
    }
}

/// Returns the settings of the API over TCP that the next daemon would use.
pub(crate) fn listen_settings(home: &HomeDir) -> Result<ListenSettings, ConfigError> {
    let settings = home.config.settings(ProfileChoice::None)?;
    let mut listen = ListenSettings::default();
    for (name, setting) in settings.layer.iter().filter(|(name, _)| name.section == API) {
        // The value was checked when it was read.
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
        _ => return Err(UNKNOWN_SETTING.to_owned()),
    }
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DaemonSettings(BTreeMap<String, String>);

impl DaemonSettings {
    /// Returns the settings for the next daemon.
    pub(crate) fn of(home: &HomeDir) -> Result<Self, ConfigError> {
        let settings = home.config.settings(ProfileChoice::None)?;
        let values =
            settings.layer.iter().filter(|(name, _)| [DAEMON, API].contains(&name.section));
        let values = values.map(|(name, setting)| (name_in_file(*name), setting.text.clone()));
        Ok(Self(values.collect()))
    }

    pub(crate) fn write(&self, home: &HomeDir) -> anyhow::Result<()> {
        let path = home.path(FILE);
        self.write_to(&path)
            .with_context(|| format!("can't write the daemon's settings to {}", path.display()))
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        if self.0.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        // Written to a draft and renamed: a reader must never see half a file.
        let draft = path.with_extension(format!("settings.{}", std::process::id()));
        let text = serde_json::to_string_pretty(&self.0).map_err(io::Error::other)?;
        let written = fs::write(&draft, text + "\n").and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // A draft that stays behind does no harm.
            fs::remove_file(&draft).ok();
        }
        written
    }

    pub(crate) fn read(home: &HomeDir) -> io::Result<Self> {
        match fs::read_to_string(home.path(FILE)) {
            Ok(text) => Ok(Self(serde_json::from_str(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Applies the settings. Returns those that another version of Kennel wrote and this one can't
    /// use, each with the reason: they must not leave sessions without a daemon.
    pub(crate) fn apply(&self, config: &mut DaemonConfig, http: &mut HttpConfig) -> Vec<String> {
        let mut refused = Vec::new();
        for (key, text) in &self.0 {
            let applied = match key.as_str() {
                "worktrees" => {
                    config.worktrees = Some(text.into());
                    Ok(())
                }
                "ended_kept" => count(text).map(|number| config.ended_kept = number),
                "max_live" => cap(text).map(|cap| config.limits.caps.live = cap),
                "max_launching" => cap(text).map(|cap| config.limits.caps.launching = cap),
                "max_live_by_name" => name_caps(text).map(|caps| config.limits.caps.names = caps),
                "key_retention" => parse_time(text).map(|time| config.limits.key_retention = time),
                "min_free_disk" => parse_size(text).map(|size| config.limits.minima.disk = size),
                "min_free_memory" => {
                    parse_size(text).map(|size| config.limits.minima.memory = size)
                }
                "write_timeout" => parse_time(text).map(|time| http.write_timeout = time),
                key => match key.split_once('.') {
                    Some((API, key)) => listen_setting(&mut http.listen, key, text),
                    _ => Err(UNKNOWN_SETTING.to_owned()),
                },
            };
            if let Err(why) = applied {
                refused.push(format!("{key}: {why}"));
            }
        }
        refused
    }
}

/// Parses a cap; 0 means none.
fn cap(text: &str) -> Result<Option<u32>, String> {
    to_u32(count(text)?).map(|cap| Some(cap).filter(|cap| *cap > 0))
}

fn to_u32(number: usize) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number} is too large"))
}

fn name_caps(text: &str) -> Result<Vec<NameCap>, String> {
    let caps = count_by_name(text)?
        .into_iter()
        .map(|(pattern, number)| Ok(NameCap { pattern: Pattern(pattern), most: to_u32(number)? }));
    caps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{self, SettingKind};
    use kennel_pen::HomeId;

    fn config() -> DaemonConfig {
        let null = fs::File::open("/dev/null").unwrap().into();
        DaemonConfig::new("/h".into(), HomeId::random().unwrap(), null, "0".to_owned())
    }

    fn settings(pairs: &[(&str, &str)]) -> DaemonSettings {
        DaemonSettings(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn reads_what_was_written_and_empty_settings_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().to_owned()).unwrap();
        assert_eq!(DaemonSettings::read(&home).unwrap(), DaemonSettings::default());
        let written = settings(&[("ended_kept", "7")]);
        written.write(&home).unwrap();
        assert_eq!(DaemonSettings::read(&home).unwrap(), written);
        for _ in 0..2 {
            DaemonSettings::default().write(&home).unwrap();
            assert!(!home.path(FILE).exists());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn half_a_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let home = HomeDir::at(folder.path().to_owned()).unwrap();
        fs::write(home.path(FILE), "{\"ended_kept\": ").unwrap();
        assert!(DaemonSettings::read(&home).is_err());
    }

    #[test]
    fn reports_unusable_settings_and_applies_the_others() {
        let mut config = config();
        let refused = settings(&[("ended_kept", "7"), ("from_the_future", "1")])
            .apply(&mut config, &mut HttpConfig::default());
        assert_eq!(config.ended_kept, 7);
        assert_eq!(refused, ["from_the_future: unknown setting"]);
        assert_eq!(
            settings(&[("ended_kept", "x")]).apply(&mut config, &mut HttpConfig::default()).len(),
            1
        );
        assert_eq!(config.ended_kept, 7);
    }

    #[test]
    fn the_built_in_value_is_the_daemons_default() {
        let ended_kept = keys::find(DAEMON, "ended_kept").unwrap();
        assert_eq!(ended_kept.built_in, Some(config().ended_kept.to_string().as_str()));
    }

    #[test]
    fn every_key_of_the_daemon_can_be_applied() {
        for key in [DAEMON, API].into_iter().flat_map(keys::of_section) {
            let text = match key.kind.unwrap() {
                SettingKind::Count => "1",
                SettingKind::Time => "1s",
                SettingKind::Size => "1M",
                SettingKind::Path => "/path",
                SettingKind::CountByName => "ci-*=1",
                SettingKind::Address => "127.0.0.1:1",
                SettingKind::Switch => "true",
                SettingKind::HostNames => "a.example",
            };
            let refused = settings(&[(name_in_file(key.name).as_str(), text)])
                .apply(&mut config(), &mut HttpConfig::default());
            assert_eq!(refused, Vec::<String>::new());
        }
    }
}
