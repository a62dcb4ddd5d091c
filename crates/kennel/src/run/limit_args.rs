//! How long a session may take, and how much it may use.

use std::time::Duration;

use clap::Args;
use kennel_types::SessionSpec;

use crate::quantity::{parse_cores, parse_memory, parse_pids, parse_time};

/// The flags of `kennel run` that set limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// End it when it has run for so long, not counting sleep of the machine;
    /// 0: never
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
    /// End it when nothing goes on for so long: no output, input or report,
    /// no CPU used, no new process; 0: never
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) idle: Duration,
    /// End it when it prints nothing for so long; 0: never
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) silence: Duration,
    /// The most memory that it may use, all its processes together
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,
    /// The most processes and threads that it may have at once
    #[arg(long, value_name = "COUNT", value_parser = parse_pids, allow_hyphen_values = true)]
    pub(crate) pids: Option<u64>,
    /// The most CPU that it may use, in cores (0.5, 2)
    #[arg(long, value_name = "CORES", value_parser = parse_cores, allow_hyphen_values = true)]
    pub(crate) cpu: Option<u32>,
    /// Run it without those three where they can't be set, and say which
    /// (`kennel doctor` tells beforehand)
    #[arg(long)]
    pub(crate) best_effort: bool,
}

impl LimitArgs {
    /// Puts them into what is asked for.
    pub(crate) fn fill(&self, spec: &mut SessionSpec) {
        spec.timeout = Some(self.timeout);
        spec.idle = Some(self.idle);
        spec.silence = Some(self.silence);
        spec.memory = self.memory;
        spec.pids = self.pids;
        spec.cpu = self.cpu;
        spec.best_effort = self.best_effort;
        *spec = std::mem::take(spec).with_zero_off();
    }
}
