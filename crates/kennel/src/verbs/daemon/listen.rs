//! Flags about the API over TCP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use kennel_types::api::{ListenRequest, ListenView};

use crate::command_error::CommandError;
use crate::config::{self, API, KEYS, listen_settings};
use crate::connect::DaemonClient;
use crate::exit_code;
use crate::home::Home;

/// Where the API is had besides the home's own socket. Each goes before what kennel.toml has under `api`.
#[derive(Debug, Args)]
pub(super) struct ListenArgs {
    /// Have the API over TCP too, here; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = config::address)]
    listen: Option<SocketAddr>,
    /// Let it be an address that others can reach; needs TLS
    #[arg(long, requires = "listen")]
    allow_remote: bool,
    /// A file with its certificates, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// A file with its key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Whether the API must be had over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListenRequirement {
    /// Only if a flag says so: the daemon was there before.
    IfAsked,
    /// If flags or settings say so: it was started for this.
    IfSet,
}

impl ListenArgs {
    /// The home, for which daemons are started as these say.
    pub(super) fn apply(&self, home: &Home) -> Result<Home, CommandError> {
        let mut home = home.clone();
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.to_string_lossy().into_owned()
        };
        let values = [
            ("listen", "listen", self.listen.map(|address| address.to_string())),
            ("allow_remote", "allow-remote", self.allow_remote.then(|| "true".to_owned())),
            ("tls_cert", "tls-cert", self.tls_cert.as_deref().map(absolute)),
            ("tls_key", "tls-key", self.tls_key.as_deref().map(absolute)),
        ];
        for (key, flag, text) in values {
            let key = KEYS.iter().find(|it| (it.name.section, it.name.key) == (API, key));
            if let (Some(key), Some(text)) = (key, text) {
                home.config = home.config.with_flag(key, flag, text);
            }
        }
        listen_settings(&home)?.check().map_err(|error| {
            CommandError::new(exit_code::USAGE, error).hint(
                "`--allow-remote --tls-cert FILE --tls-key FILE`, or the same in [api] of kennel.toml, permits it",
            )
        })?;
        Ok(home)
    }

    /// Sees to it that the API is had where it must be. If not, that is told, and the daemon runs on without.
    pub(super) fn insist(
        &self,
        home: &Home,
        daemon: &DaemonClient,
        must: ListenRequirement,
    ) -> Result<(), CommandError> {
        let wanted = match must {
            ListenRequirement::IfAsked => self.listen,
            ListenRequirement::IfSet => listen_settings(home)?.listen,
        };
        let Some(address) = wanted else { return Ok(()) };
        let request = ListenRequest { listen: Some(address.to_string()) };
        let asked = daemon.post::<ListenView>("/v1/access/listen", &request);
        asked.map(drop).map_err(|error| {
            crate::command_error::say(
                "the daemon runs, but its API is not had over TCP as it was asked for",
            );
            CommandError::from(error).code(exit_code::SETUP)
        })
    }

    /// Whether a flag says where.
    pub(super) fn is_asked(&self) -> bool {
        self.listen.is_some()
    }
}
