//! The configuration: what is taken where the command line says nothing.
//!
//! ```text
//! kennel.toml ── file ──┬── [run], [stop], …, [daemon] ─┐
//!                       └── [profiles.NAME] ────────────┤
//! KENNEL_RUN_GRACE=… ── environment ────────────────────┴─ layers ── settings ─┬─ flags: clap's defaults
//!                                                                              └─ handover: the daemon
//! ```
//! A flag goes before the environment, that before the profile, that before the rest of the file, and that
//! before what is built in. [`keys`] is the one table of all that can be set; how a value is written, and what
//! is built in, is known by the flag itself.

mod check;
mod daemon_settings;
mod environment;
mod file;
mod flags;
mod keys;
mod layer;
mod location;
mod problem;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use check::address;
pub(crate) use daemon_settings::{DaemonSettings, HandOverError, hand_over, listen_settings};
pub(crate) use flags::{Default, built_in, command, defaults, with_defaults};
pub(crate) use keys::{API, ConfigKey, KEYS};
pub(crate) use layer::{ConfigSetting, SettingOrigin};
pub(crate) use problem::ConfigError;
pub(crate) use settings::{Config, ProfileChoice, Settings};
