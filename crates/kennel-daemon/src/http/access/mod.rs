//! Access over TCP: for programs by a token, for browsers by a link that is good once.
//!
//! ```text
//! a connection ── seat ──(TLS)── head ── guard ──┬── routes, with an Identity
//!                                 names, verdict ┘     pages: /login, the dashboard
//! ```
//! The home's own socket has none of this: there the kernel says who connects.
//!
//! | file | |
//! |---|---|
//! | `verdict`, `names`, `places`, `roll`, `links`, `throttle`, `settings` | decide; no clock, no I/O |
//! | `store`, `private_file`, `addresses`, `secret` | what is on disk |
//! | `door`, `serving`, `seats`, `wire`, `tls`, `timely` | connections |
//! | `guard`, `pages`, `page`, `dashboard`, `manage`, `own`, `identity` | requests |

mod addresses;
mod dashboard;
mod door;
mod guard;
mod identity;
mod links;
mod manage;
mod names;
mod own;
mod page;
mod pages;
mod places;
mod private_file;
mod roll;
mod seats;
mod secret;
mod serving;
mod settings;
mod store;
mod throttle;
mod timely;
mod tls;
mod verdict;
mod wire;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use kennel_types::api::{ListenView, Scope};
use kennel_web::Site;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;

use self::addresses::Addresses;
use self::door::Ask;
use self::guard::Gate;
use self::links::Links;
use self::roll::EntryId;
use self::seats::{Room, Seats};
use self::secret::Secret;
use self::store::{Store, StoreError};
use self::throttle::Throttle;
use super::Api;
use super::endpoint::Endpoint;
use crate::error::ApiError;

pub(crate) use identity::Identity;
pub(in crate::http) use identity::socket_only;
pub use settings::{ListenError, ListenSettings};

/// The most connections over TCP; a quarter of them for those who have shown no secret. Fewer on a machine with few
/// descriptors.
const MOST_CONNECTIONS: u64 = 256;
/// Of the descriptors at most this part.
const OF_DESCRIPTORS: u64 = 8;

/// What a daemon starts it with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beginning {
    pub(crate) settings: ListenSettings,
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    /// Whether the machine was booted since the last daemon.
    pub(crate) rebooted: bool,
    /// How many descriptors there are.
    pub(crate) descriptors: u64,
    /// The files of the dashboard.
    pub(crate) site: Site,
}

/// Access over TCP.
#[derive(Debug, Clone)]
pub(crate) struct Access(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    beginning: Beginning,
    store: Arc<Store>,
    links: Mutex<Links>,
    throttle: Mutex<Throttle>,
    seats: Arc<Seats>,
    asks: mpsc::Sender<Ask>,
    /// For the task that keeps the door.
    asked: Mutex<Option<mpsc::Receiver<Ask>>>,
    listen: Mutex<Option<ListenView>>,
}

/// How many connections over TCP there may be, with so many descriptors.
pub(crate) fn most_connections(descriptors: u64) -> u64 {
    (descriptors / OF_DESCRIPTORS).clamp(8, MOST_CONNECTIONS)
}

/// Where it is had is forgotten: the daemon was told to stop.
pub(crate) fn forget_addresses(folder: &Path) {
    Addresses::new(folder).forget();
}

impl Access {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let (asks, asked) = mpsc::channel(1);
        let most = most_connections(beginning.descriptors) as usize;
        Self(Arc::new(Inner {
            store: Arc::new(Store::new(&beginning.folder)),
            links: Mutex::default(),
            throttle: Mutex::default(),
            seats: Seats::new(Room { most, strangers: most / 4, each: most / 2 }),
            asks,
            asked: Mutex::new(Some(asked)),
            listen: Mutex::default(),
            beginning,
        }))
    }

    /// Where it is had; none if nobody wants it.
    pub(crate) fn view(&self) -> Option<ListenView> {
        lock(&self.0.listen).clone()
    }

    fn note_listen(&self, view: Option<ListenView>) -> Option<ListenView> {
        std::mem::replace(&mut *lock(&self.0.listen), view)
    }

    fn settings(&self) -> &ListenSettings {
        &self.0.beginning.settings
    }

    fn folder(&self) -> &Path {
        &self.0.beginning.folder
    }

    fn rebooted(&self) -> bool {
        self.0.beginning.rebooted
    }

    fn version(&self) -> &str {
        &self.0.beginning.version
    }

    fn site(&self) -> &Site {
        &self.0.beginning.site
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn seats(&self) -> Arc<Seats> {
        self.0.seats.clone()
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        lock(&self.0.links)
    }

    fn throttle(&self) -> MutexGuard<'_, Throttle> {
        lock(&self.0.throttle)
    }

    /// Does something with the tokens that may block.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.0.store.clone();
        let changed = spawn_blocking(move || change(&store)).await;
        changed.unwrap_or_else(|error| Err(StoreError::Lost(error.to_string())))
    }

    /// The same, and cuts the connections of those who are out by it; gives how many. Both are done, even if whoever
    /// asked for it goes in the middle.
    async fn change_and_cut<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
        out: impl FnOnce(&T) -> Vec<EntryId> + Send + 'static,
    ) -> Result<(T, u64), StoreError> {
        let seats = self.0.seats.clone();
        self.change(move |store| {
            let changed = change(store)?;
            let cut = seats.cut(&out(&changed));
            Ok((changed, cut))
        })
        .await
    }

    fn make_link(&self, scope: Scope) -> Result<Secret, ApiError> {
        let secret = Secret::random().map_err(ApiError::internal)?;
        self.links().add(secret.sum(), scope, Instant::now());
        Ok(secret)
    }

    /// Has it open, here if an address is given.
    async fn listen(&self, address: Option<SocketAddr>) -> Result<ListenView, ApiError> {
        let (answer, answered) = oneshot::channel();
        let asked = self.0.asks.send(Ask { address, answer }).await;
        asked.map_err(|_| ApiError::gone())?;
        answered.await.unwrap_or_else(|_| Err(ApiError::gone()))
    }
}

/// Their places.
pub(in crate::http) fn endpoints() -> Vec<Endpoint> {
    [manage::endpoints(), own::endpoints()].into_iter().flatten().collect()
}

impl Api {
    fn access(&self) -> &Access {
        &self.0.access
    }

    /// Serves whoever comes over TCP, if that is wanted, until the daemon leaves.
    pub(crate) async fn serve_tcp(self) {
        let access = self.access().clone();
        let leaving = self.0.leaving.clone();
        let Some(asks) = lock(&access.0.asked).take() else { return };
        door::keep(self, access, asks, leaving).await;
    }

    /// All routes, behind the guard.
    fn tcp_routes(self, gate: Gate) -> Router {
        let here = gate.clone();
        let elsewhere = move |request: Request| pages::elsewhere(here.clone(), request);
        let guard = axum::middleware::from_fn_with_state(gate.clone(), guard::guard);
        self.routes(elsewhere).merge(pages::routes(gate)).layer(guard)
    }
}

/// Comes when the daemon leaves.
async fn told_to_leave(leaving: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    drop(leaving.wait_for(|leaving| *leaving).await);
}

/// A thread that panicked with it has left it as it was, or changed in whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
