//! The life of a daemon process.
//!
//! ```text
//! lock ── register ── yard ── adopt all ── listen ── serve ── shut down ── close all ── exit code
//! ```

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kennel_keeper::fault::point;
use kennel_register::{NewEvent, OpenedRegister, Register, SessionRecord, refuse_network};
use kennel_sys::identity;
use kennel_types::SessionId;
use rustix::process::{Resource, Rlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

use crate::handle::{DaemonHandle, HandleParts, LaunchWatches};
use crate::keeper::yard::YardLink;
use crate::launch::stdin_handoff::StdinHandoff;
use crate::metrics::DaemonMetrics;
use crate::os::home::{DaemonHome, DaemonLock};
use crate::os::{clock, if_exists};
use crate::owner::ExitReason;
use crate::owner::bus::Bus;
use crate::owner::{Owner, OwnerConfig};
use crate::recover::sweep::{remove_trial_pens, sweep};
use crate::run::config::{DaemonConfig, DaemonError};
use crate::run::listen::{self, Sockets};
use crate::run::log;
use crate::run::server::{ApiServer, CreateServer, ServerSetup};

/// How long a former daemon may take to exit.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the yard may take to answer.
const YARD_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that clients wait for adoption.
const ADOPTION_TIMEOUT: Duration = Duration::from_secs(2);
/// How long clients may take to read their answers during a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
const TRIM_INTERVAL: Duration = Duration::from_secs(3600);
const BLOCKING_THREADS: usize = 64;
const OTHER_DESCRIPTORS: u64 = 128;
/// The most connections over TCP, on a machine with enough descriptors.
const MAX_CONNECTIONS: u64 = 256;

/// Serves a home until the daemon must exit.
///
/// # Errors
/// See [`DaemonError`]. Nothing was served then.
pub fn serve(
    mut config: DaemonConfig,
    create_server: CreateServer,
) -> Result<ExitReason, DaemonError> {
    // The yard reads some signals from a descriptor; its children inherit them blocked.
    kennel_sys::signals::unblock_all();
    // Resource limits of the process that started the daemon must not kill it; a write beyond the
    // limit fails instead.
    let limits = [rustix::process::Signal::XCPU, rustix::process::Signal::XFSZ];
    kennel_sys::signals::ignore(&limits.map(rustix::process::Signal::as_raw))
        .map_err(DaemonError::Runtime)?;
    refuse_network(&config.home)?;
    let home = DaemonHome { folder: config.home.clone(), id: config.home_id.clone() };
    // The daemon serves without a log, too: a full disk must not prevent the stop of a session.
    let unlogged = log::init(&home.folder.join("log")).err();
    let lock = DaemonLock::take(&home.folder.join("daemon.lock"), LOCK_TIMEOUT)?;
    point("daemon.start.locked");
    let metrics = Arc::<DaemonMetrics>::default();
    let (counted, register) = (Arc::clone(&metrics), home.folder.join("register.db"));
    let opened = Register::open_observed(&register, home.id.as_str(), move |commit| {
        counted.committed(commit);
    })?;
    if let Some(why) = &opened.unwritable {
        tracing::error!(%why, "can't write the register for now");
    }
    if let Some(why) = unlogged {
        opened.register.log(daemon_event("unlogged", why.to_string()));
    }
    point("daemon.start.opened");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(DaemonError::Runtime)?;
    let start_yard = config.start_yard.take();
    let served = runtime.block_on(run(config, home.clone(), create_server, opened, metrics));
    // Tasks that still block on the disk are not awaited.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    listen::remove(&home.folder);
    if let Err(error) = remove_trial_pens(&home, Instant::now() + SHUTDOWN_TIMEOUT) {
        tracing::warn!(%error, "can't remove pens without a session");
    }
    let served = served.map(|(reason, server)| {
        server.clean_up(reason);
        reason
    });
    drop(lock);
    let yard_gone = matches!(served, Ok(ExitReason::YardGone) | Err(DaemonError::Yard(_)));
    if let Some(start_yard) = start_yard.filter(|_| yard_gone)
        && let Err(error) = start_yard()
    {
        tracing::error!(%error, "can't start a new yard");
    }
    served
}

async fn run(
    config: DaemonConfig,
    home: DaemonHome,
    create_server: CreateServer,
    opened: OpenedRegister,
    metrics: Arc<DaemonMetrics>,
) -> Result<(ExitReason, Box<dyn ApiServer>), DaemonError> {
    let (bus, calls) = Bus::new();
    let events = bus.sender(Owner::yard_event);
    let mut yard =
        YardLink::open(config.yard, YARD_TIMEOUT, events).await.map_err(DaemonError::Yard)?;
    let rebooted = note_boot(&home).unwrap_or_else(|error| {
        tracing::warn!(%error, "can't record the boot");
        false
    });
    let register = opened.register.clone();
    let (members, plans) = (opened.members.clone(), opened.plans.clone());
    let sessions = own_sessions(opened, &home);
    let (adopted, all_adopted) = oneshot::channel();
    let descriptors = descriptors();
    let max_connections = max_connections(descriptors);
    let owner = Owner::new(OwnerConfig {
        home: home.clone(),
        version: config.version.clone(),
        register: register.clone(),
        sessions,
        members,
        plans,
        yard: yard.identity.clone(),
        yard_sender: yard.sender(),
        bus: bus.clone(),
        ended_kept: config.ended_kept,
        stored: yard.take_kept(),
        limits: config.limits,
        live_limit: session_limit(descriptors),
        rebooted,
        worktrees: config.worktrees.unwrap_or_else(|| home.folder.join("worktrees")),
        environment: config.environment,
        metrics: Arc::clone(&metrics),
        adopted,
    });
    clock::follow_leaps();
    let owner = tokio::spawn(owner.run(calls));
    handle_signals(&bus).map_err(DaemonError::Runtime)?;
    // Before every session was probed, answers would describe the past.
    if tokio::time::timeout(ADOPTION_TIMEOUT, all_adopted).await.is_err() {
        tracing::warn!("some sessions have not been probed yet");
    }
    let (shutdown, shutting_down) = watch::channel(false);
    let stdin = StdinHandoff::default();
    let daemon = DaemonHandle::new(HandleParts {
        bus: bus.clone(),
        register: register.clone(),
        stdin: stdin.clone(),
        home: home.clone(),
        metrics: Arc::clone(&metrics),
        launches: LaunchWatches::default(),
        shutdown: shutting_down.clone(),
    });
    let server =
        create_server(ServerSetup { daemon, version: config.version, rebooted, max_connections });
    let mut sockets = Sockets::listen(&home.folder, server, stdin, shutting_down)?;
    point("daemon.start.listening");
    tokio::spawn(sweep(home, bus.sender(Owner::recovery_request), metrics));
    tokio::spawn(trim_periodically(bus));
    // A panic in the owner is a crash of the daemon: the yard starts the next.
    let reason = tokio::select! {
        reason = owner => reason,
        // Serving ends only after the owner has.
        never = async { sockets.serve().await; std::future::pending().await } => never,
    };
    let reason = reason.map_err(|error| DaemonError::Runtime(io::Error::other(error)))?;
    shutdown.send_replace(true);
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, sockets.serve()).await.is_err() {
        tracing::info!("some clients are still connected");
    }
    yard.close(SHUTDOWN_TIMEOUT).await;
    if let Err(error) = tokio::task::spawn_blocking(move || register.close()).await {
        tracing::error!(%error, "can't close the register");
    }
    Ok((reason, sockets.into_server()))
}

/// Returns the sessions of this home. If the home is a copy, live sessions belong to the original:
/// they are neither adopted nor ended here.
fn own_sessions(opened: OpenedRegister, home: &DaemonHome) -> Vec<SessionRecord> {
    let OpenedRegister { register, mut sessions, other_home, .. } = opened;
    if !other_home {
        return sessions;
    }
    let foreign: Vec<SessionId> =
        sessions.extract_if(.., |stored| stored.session.is_live()).map(|s| s.session.id).collect();
    tracing::warn!(
        count = foreign.len(),
        "this home is a copy: live sessions belong to the original"
    );
    let cause = format!("{} live sessions belong to the home that was copied", foreign.len());
    let event = daemon_event("home_copied", cause);
    // If these writes fail, the next daemon repeats them.
    drop(register.remove(foreign, event));
    drop(register.claim(home.id.as_str()));
    sessions
}

fn daemon_event(kind: &str, cause: String) -> NewEvent {
    NewEvent { time_ms: clock::now_ms(), session: None, kind: kind.to_owned(), cause, by: None }
}

/// Records the boot and the pid namespace; returns whether the last daemon recorded another.
fn note_boot(home: &DaemonHome) -> io::Result<bool> {
    // The number of a pid namespace may be reused: its first process distinguishes it.
    let init = identity::init().map(|init| init.to_record()).unwrap_or_default();
    let now = format!("{} {} {init}\n", identity::boot_id()?, identity::pid_namespace()?);
    let file = home.folder.join("boot");
    let before = if_exists(std::fs::read_to_string(&file))?;
    if before.as_ref() == Some(&now) {
        return Ok(false);
    }
    // Written beside it first: a full disk must not leave half a file.
    let draft = file.with_extension("new");
    std::fs::write(&draft, &now)?;
    std::fs::rename(&draft, file)?;
    Ok(before.is_some())
}

/// Raises the limit of descriptors as far as possible, and returns it.
fn descriptors() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let raised = rustix::process::setrlimit(Resource::Nofile, raised).is_ok();
    if raised { limit.maximum } else { limit.current }.unwrap_or(u64::MAX)
}

/// How many connections over TCP there may be: an eighth of the descriptors, but at least 8.
fn max_connections(descriptors: u64) -> usize {
    (descriptors / 8).clamp(8, MAX_CONNECTIONS) as usize
}

/// How many sessions there are descriptors for, without those of connections over TCP.
fn session_limit(descriptors: u64) -> usize {
    let others = OTHER_DESCRIPTORS.saturating_add(max_connections(descriptors) as u64);
    let most = descriptors.saturating_sub(others) / 2;
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Handles signals: TERM and INT end all sessions and the daemon; HUP is ignored.
fn handle_signals(bus: &Bus) -> io::Result<()> {
    let mut ends = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let mut hang_up = signal(SignalKind::hangup())?;
    let bus = bus.clone();
    tokio::spawn(async move {
        loop {
            let [terminate, interrupt] = &mut ends;
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hang_up.recv() => continue,
            }
            bus.call(|owner| owner.begin_stop(None, None));
        }
    });
    Ok(())
}

async fn trim_periodically(bus: Bus) {
    while bus.call(Owner::trim) {
        tokio::time::sleep(TRIM_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use kennel_pen::HomeId;

    use super::*;

    #[test]
    fn notices_another_boot_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = DaemonHome { folder: folder.path().to_owned(), id: HomeId::random().unwrap() };
        assert!(!note_boot(&home).unwrap(), "the first daemon");
        assert!(!note_boot(&home).unwrap());
        std::fs::write(home.folder.join("boot"), "another 1\n").unwrap();
        assert!(note_boot(&home).unwrap());
        assert!(!note_boot(&home).unwrap());
    }
}
