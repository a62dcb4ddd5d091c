//! The configuration: defaults for flags, and the daemon's settings.
//!
//! ```text
//! kennel.toml ── file ──┬── [run], [stop], …, [daemon] ─┐
//!                       └── [profiles.NAME] ────────────┤
//! KENNEL_RUN_GRACE=… ── environment ────────────────────┴─ layers ── settings ─┬─ flags: clap's defaults
//!                                                                              └─ daemon_settings: the daemon
//! ```
//! A flag overrides the environment, which overrides the profile, which overrides the rest of the
//! file, which overrides the built-in default. [`keys`] lists everything that can be set. The flag
//! itself knows how its value is written and what its built-in default is.

mod daemon_settings;
mod file;
mod flags;
mod keys;
mod layers;
#[cfg(test)]
mod tests;

pub(crate) use daemon_settings::{DaemonSettings, hand_over, listen_settings};
pub(crate) use flags::{Default, built_in, command, defaults, with_defaults};
pub(crate) use keys::{API, ConfigKey, KEYS, address};
pub(crate) use layers::{
    Config, ConfigError, ConfigSetting, ProfileChoice, SettingOrigin, Settings,
};
