//! The owner of the state: one task that knows all sessions, decides by the core, and waits for nothing.
//!
//! ```text
//! HTTP ──commands──┐                        ┌── effects: tasks of their own ──┐
//! keepers ─────────┤                        ├── requests to keepers, yard     │
//! yard ────────────┼──> bus ──> the owner ──┼── records                       │
//! records ─────────┤            World::step └── answers                       │
//! timers ──────────┘<──────────────── what came of it ────────────────────────┘
//! ```

mod admission;
mod again;
mod ask;
pub(crate) mod clear;
mod count;
mod effects;
mod keep;
mod keepers;
mod leave;
mod list;
mod look;
mod members;
mod plans;
mod prompts;
mod ready;
mod records;
mod rejoin;
mod runtime;
mod spares;
mod step;
mod terminal;
mod timers;
mod worktrees;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use kennel_core::{Member, World};
use kennel_keeper::protocol::LaunchOrder;
use kennel_sys::identity::Identity;
use kennel_types::{IdMaker, SessionId};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::clock;
use crate::config::ExitReason;
use crate::effects::worktree::Environment;
use crate::gauge::Gauge;
use crate::home::Home;
use crate::message::{Bus, Keepers, Message};
use crate::metrics::Tally;
use crate::terms::Terms;
use crate::yard_link::YardSender;
use kennel_register::{PlanRecord, Register, SessionRecord};
use leave::Leaving;
pub(crate) use look::{Health, LookCommand, Penned};
pub(crate) use members::MemberCommand;
use members::Seats;
use plans::Plans;
pub(crate) use plans::{NewPlan, PlanCommand, PlanNews, resume_surroundings};
use runtime::Runtime;
use spares::Spares;
pub(crate) use step::phase_name;
use worktrees::Ground;
pub(crate) use worktrees::{WorktreeCommand, WorktreeNews};

/// How many launches are probed at once.
const PROBES: usize = 64;

/// What an owner begins with.
pub(crate) struct Beginning {
    pub(crate) home: Home,
    pub(crate) version: String,
    pub(crate) register: Register,
    pub(crate) sessions: Vec<SessionRecord>,
    pub(crate) members: Vec<Member>,
    pub(crate) plans: Vec<PlanRecord>,
    pub(crate) yard: Identity,
    pub(crate) yard_sender: YardSender,
    pub(crate) bus: Bus,
    /// How many ended sessions are kept.
    pub(crate) ended_kept: usize,
    /// What a former daemon left with the yard.
    pub(crate) kept: Vec<(String, LaunchOrder)>,
    /// On what terms sessions are taken in.
    pub(crate) terms: Terms,
    /// How many sessions may live at once.
    pub(crate) live_most: usize,
    /// Whether the home's last daemon ran before the last restart of the machine.
    pub(crate) rebooted: bool,
    /// Where worktrees go.
    pub(crate) worktrees: std::path::PathBuf,
    /// The daemon's own environment, for git where no client's is known.
    pub(crate) environment: Environment,
    /// What happens is counted there.
    pub(crate) tally: Arc<Tally>,
    /// Told when every session was looked at once.
    pub(crate) adopted: oneshot::Sender<()>,
}

/// See the module.
pub(crate) struct Owner {
    home: Home,
    version: String,
    started_ms: u64,
    world: World,
    runtimes: HashMap<SessionId, Runtime>,
    /// Live sessions with a parent: they may change with another one's step.
    children: HashSet<SessionId>,
    register: Register,
    yard: Identity,
    yard_sender: Option<YardSender>,
    bus: Bus,
    ids: IdMaker,
    /// Keepers that the yard was asked for and has not told of.
    forks: HashMap<u64, SessionId>,
    /// Keepers by their pid, from the yard's word or the kernel's, until the yard tells of their end.
    keepers: HashMap<i32, SessionId>,
    spares: Spares,
    keeper_lists: VecDeque<oneshot::Sender<Keepers>>,
    last_number: u64,
    probes: Arc<Semaphore>,
    unprobed: HashSet<SessionId>,
    adopted: Option<oneshot::Sender<()>>,
    rebooted: bool,
    saving_again: Option<std::time::Duration>,
    ended_kept: usize,
    terms: Terms,
    gauge: Gauge,
    tally: Arc<Tally>,
    live_most: usize,
    live: usize,
    /// How many of the live ones wait in line.
    queued: usize,
    /// Whether we were told to look at the line.
    line_told: bool,
    /// Whether it is looked again at the line before long.
    line_watched: bool,
    ended_since_trim: usize,
    ground: Ground,
    seats: Seats,
    plans: Plans,
    leaving: Option<Leaving>,
    /// The number of the bound that counts.
    leave_bound: u64,
    exit: Option<ExitReason>,
}

impl Owner {
    /// Takes over what is on record.
    pub(crate) fn new(beginning: Beginning) -> Self {
        let gauge = Gauge::new(beginning.home.folder.clone(), beginning.yard.pid);
        let mut owner = Self {
            home: beginning.home,
            version: beginning.version,
            started_ms: clock::now_ms(),
            world: World::default(),
            runtimes: HashMap::new(),
            children: HashSet::new(),
            register: beginning.register,
            yard: beginning.yard,
            yard_sender: Some(beginning.yard_sender),
            bus: beginning.bus,
            ids: IdMaker::default(),
            forks: HashMap::new(),
            keepers: HashMap::new(),
            spares: Spares::default(),
            keeper_lists: VecDeque::new(),
            last_number: 0,
            probes: Arc::new(Semaphore::new(PROBES)),
            unprobed: HashSet::new(),
            adopted: Some(beginning.adopted),
            rebooted: beginning.rebooted,
            saving_again: None,
            ended_kept: beginning.ended_kept,
            terms: beginning.terms,
            gauge,
            tally: beginning.tally,
            live_most: beginning.live_most,
            live: 0,
            queued: 0,
            line_told: false,
            line_watched: false,
            ended_since_trim: 0,
            ground: Ground::new(beginning.worktrees, beginning.environment),
            seats: Seats::default(),
            plans: Plans::new(beginning.plans),
            leaving: None,
            leave_bound: 0,
            exit: None,
        };
        for stored in &beginning.sessions {
            owner.ids.after(&stored.session.id);
        }
        let plans: Vec<_> = owner.plans.ids().cloned().collect();
        plans.iter().for_each(|id| owner.ids.after(id));
        owner.world.restore_members(beginning.members);
        owner.restore(beginning.sessions);
        owner.take_kept(beginning.kept);
        owner.take_up();
        owner
    }

    /// Serves until it is time to leave.
    pub(crate) async fn run(
        mut self,
        mut messages: mpsc::UnboundedReceiver<Message>,
    ) -> ExitReason {
        self.note(None, "daemon_started", format!("version {}", self.version));
        loop {
            if let Some(reason) = self.exit {
                return reason;
            }
            // There is always a sender: our own.
            let Some(message) = messages.recv().await else { return ExitReason::Stopped };
            self.handle(message);
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Command(command) => self.obey(command),
            Message::Happened { session, event } => self.happen(&session, &event),
            Message::Prepared { session, prepared } => self.prepared(&session, prepared),
            Message::Probed { session, found } => self.probed(&session, *found),
            Message::Sighted { session, sighting } => self.sighted(&session, *sighting),
            Message::Keeper { session, link, report, descriptors } => {
                self.keeper_says(&session, link, report, descriptors);
            }
            Message::KeeperClosed { session, link } => self.keeper_closed(&session, link),
            Message::Yard(report) => self.yard_says(report),
            Message::YardGone => self.yard_gone(),
            Message::Saved { session, durable, result } => self.saved(&session, durable, result),
            Message::SaveAgain => self.save_again(),
            Message::Late { session, deadline } => self.late(&session, deadline),
            Message::RetryDue { session } => self.retry_due(&session),
            Message::RestartDue { session } => self.restart_due(&session),
            Message::LineMoved => self.line_moved(),
            Message::LineWatched => self.line_watched(),
            Message::ClientOverdue { session } => self.client_overdue(&session),
            Message::ClientGone { session } => self.client_gone(&session),
            Message::StopOverdue { session } => self.stop_overdue(&session),
            Message::Excess { sessions } => self.remove_excess(sessions),
            Message::FoldersRemoved { removed, failed, done } => {
                self.folders_removed(removed, failed, done);
            }
            Message::TrimDue => self.trim(),
            Message::SparesOverdue => self.spares_overdue(),
            Message::Worktree(news) => self.worktree_news(*news),
            Message::Judged { session, judged } => self.judged(&session, *judged),
            Message::StopSettled { session, grace } => self.stop_settled(&session, grace),
            Message::PlanTurn { plan } => self.plan_turn(&plan),
            Message::PlanDropped { plan } => self.plan_dropped(&plan),
            Message::PlanNotResumed { former } => self.plan_not_resumed(*former),
            Message::PlanUnsaved { plan } => self.plan_unsaved(plan),
            Message::PlanSaveAgain { plan } => self.plan_save_again(&plan),
            Message::PlanTimePassed { plan } => self.plan_time_passed(&plan),
            Message::PlanTieOverdue { plan, begun_ms } => self.plan_tie_overdue(&plan, begun_ms),
            Message::PlanClientGone { plan } => self.plan_client_gone(&plan),
            Message::PlanNews(news) => self.plan_news(*news),
            Message::TieOverdue { session } => self.tie_overdue(&session),
            Message::MemberNotAdded { name } => self.member_not_added(&name),
            Message::MemberUnsaved { name } => self.member_unsaved(name),
            Message::LeaveOverdue { number } => self.leave_overdue(number),
        }
    }

    /// A number that was not used before.
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn tell_self(&self, message: Message) {
        // We hold the other end.
        self.bus.send(message).ok();
    }
}
