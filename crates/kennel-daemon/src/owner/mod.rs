//! The owner of the state: one task that knows all sessions, lets the core decide, and never
//! blocks.
//!
//! ```text
//! HTTP ──requests──┐                        ┌── effects: tasks of their own ──┐
//! keepers ─────────┤                        ├── requests to keepers, yard     │
//! yard ────────────┼──> bus ──> the owner ──┼── records                       │
//! records ─────────┤            World::step └── answers                       │
//! timers ──────────┘<──────────────── their results ──────────────────────────┘
//! ```
//! Everything that reaches the owner is a function in its queue, the [`bus`]. The parts with a
//! state of their own are types with tests of their own: keepers and spares, admission and the
//! queue, plans, worktrees, members, adoption, launches, shutdown. The owner routes calls to them
//! and carries out what they decide.

mod adopted;
pub(crate) mod bus;
mod commands;
mod create;
mod effects;
pub(crate) mod inspect;
mod keepers;
mod launches;
pub(crate) mod listing;
mod members;
mod plan_agents;
mod plans;
mod prompts;
mod queue;
mod readiness;
mod records;
mod rejoin;
pub(crate) mod relaunch;
pub(crate) mod remove;
pub(crate) mod shutdown;
mod status;
mod step;
mod timers;
pub(crate) mod view;
pub(crate) mod waiters;
mod worktrees;
mod yard_store;

use std::path::PathBuf;
use std::sync::Arc;

use kennel_core::{Member, World};
use kennel_keeper::protocol::LaunchOrder;
use kennel_register::{PlanRecord, Register, SessionRecord};
use kennel_sys::identity::ProcessIdentity;
use tokio::sync::{mpsc, oneshot};

use crate::keeper::keepers::Keepers;
use crate::keeper::yard::YardSender;
use crate::launch::admission::{AdmissionControl, LaunchLimits};
use crate::launch::ids::LaunchIds;
use crate::metrics::DaemonMetrics;
use crate::os::clock;
use crate::os::headroom::HeadroomMeter;
use crate::os::home::DaemonHome;
use crate::plan::runs::PlanRuns;
use crate::prompt::clients::PromptClients;
use crate::prompt::members::UnsavedMembers;
use crate::recover::adoption::Adoption;
use crate::worktree::tasks::GitEnvironment;
use crate::worktree::worktrees::Worktrees;
use bus::{Bus, OwnerCall};
use launches::Launches;
use records::SaveRetry;
use remove::EndedSessions;
pub use shutdown::ExitReason;
use shutdown::Shutdown;
pub(crate) use status::{Health, SessionPen};

pub(crate) struct OwnerConfig {
    pub(crate) home: DaemonHome,
    pub(crate) version: String,
    pub(crate) register: Register,
    pub(crate) sessions: Vec<SessionRecord>,
    pub(crate) members: Vec<Member>,
    pub(crate) plans: Vec<PlanRecord>,
    pub(crate) yard: ProcessIdentity,
    pub(crate) yard_sender: YardSender,
    pub(crate) bus: Bus,
    pub(crate) ended_kept: usize,
    pub(crate) stored: Vec<(String, LaunchOrder)>,
    pub(crate) limits: LaunchLimits,
    pub(crate) live_limit: usize,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub(crate) rebooted: bool,
    pub(crate) worktrees: PathBuf,
    /// The daemon's own environment, for git where no client's is known.
    pub(crate) environment: GitEnvironment,
    pub(crate) metrics: Arc<DaemonMetrics>,
    /// Notified when every session was probed once.
    pub(crate) adopted: oneshot::Sender<()>,
}

pub(crate) struct Owner {
    home: DaemonHome,
    version: String,
    started_ms: u64,
    bus: Bus,
    register: Register,
    metrics: Arc<DaemonMetrics>,
    ids: LaunchIds,
    world: World,
    /// What the daemon knows of each launch beyond the core's state.
    launches: Launches,
    keepers: Keepers,
    admission: AdmissionControl,
    adoption: Adoption,
    worktrees: Worktrees,
    pub(crate) plans: PlanRuns,
    unsaved_members: UnsavedMembers,
    prompt_clients: PromptClients,
    save_retry: SaveRetry,
    retention: EndedSessions,
    shutdown: Shutdown,
}

impl Owner {
    /// Takes over what is on record.
    pub(crate) fn new(config: OwnerConfig) -> Self {
        let headroom = HeadroomMeter::new(config.home.folder.clone(), config.yard.pid);
        let mut owner = Self {
            home: config.home,
            version: config.version,
            started_ms: clock::now_ms(),
            bus: config.bus,
            register: config.register,
            metrics: config.metrics,
            ids: LaunchIds::default(),
            world: World::default(),
            launches: Launches::default(),
            keepers: Keepers::new(config.yard, Some(config.yard_sender)),
            admission: AdmissionControl::new(config.limits, headroom, config.live_limit),
            adoption: Adoption::new(config.adopted, config.rebooted),
            worktrees: Worktrees::new(config.worktrees, config.environment),
            plans: PlanRuns::new(config.plans),
            unsaved_members: UnsavedMembers::default(),
            prompt_clients: PromptClients::default(),
            save_retry: SaveRetry::default(),
            retention: EndedSessions::new(config.ended_kept),
            shutdown: Shutdown::default(),
        };
        for stored in &config.sessions {
            owner.ids.after(&stored.session.id);
        }
        owner.plans.ids().for_each(|id| owner.ids.after(id));
        owner.world.restore_members(config.members);
        owner.restore(config.sessions);
        owner.take_stored(config.stored);
        owner.continue_restored();
        owner
    }

    /// Handles calls until the daemon must exit.
    pub(crate) async fn run(mut self, mut calls: mpsc::UnboundedReceiver<OwnerCall>) -> ExitReason {
        self.note(None, "daemon_started", format!("version {}", self.version));
        loop {
            if let Some(reason) = self.shutdown.exit() {
                return reason;
            }
            // There is always a sender: the owner's own.
            let Some(call) = calls.recv().await else { return ExitReason::Stopped };
            call(&mut self);
        }
    }
}
