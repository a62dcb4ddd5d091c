//! How often a request makes a session: once for a key, again after a failure, later if there is no room.

use clap::Args;
use kennel_types::{Restart, SessionSpec, check_key};

/// The flags of `kennel run` about that.
#[derive(Debug, Args)]
#[command(next_help_heading = "Once, later, again")]
pub(crate) struct RetryArgs {
    /// Asking twice with the same key is asking once: while the session lives,
    /// and for a day after (daemon.key_retention), the answer is that session
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// Wait in line if there are too many sessions, instead of being refused
    #[arg(long)]
    pub(crate) queue: bool,
    /// With -d: launch it again when it fails, at most N times (on-failure:N),
    /// after a pause that grows from 1 s to 5 min
    #[arg(long, value_name = "never|on-failure[:N]", default_value = "never")]
    pub(crate) restart: Restart,
    /// The same if nobody knows how it ended: it may have done its work
    #[arg(long)]
    pub(crate) restart_unknown: bool,
}

impl RetryArgs {
    /// Puts them into what is asked for.
    pub(super) fn fill(&self, spec: &mut SessionSpec) -> anyhow::Result<()> {
        if spec.tethered && self.restart != Restart::Never {
            anyhow::bail!(
                "--restart {} needs -d: what is tied to this command ends with it",
                self.restart
            );
        }
        if self.restart_unknown && self.restart == Restart::Never {
            anyhow::bail!("--restart-unknown means nothing without --restart on-failure");
        }
        spec.key = self.key.clone();
        spec.restart = self.restart;
        spec.restart_unknown = self.restart_unknown;
        Ok(())
    }
}

fn parse_key(text: &str) -> Result<String, String> {
    check_key(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}
