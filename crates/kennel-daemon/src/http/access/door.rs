//! The listener over TCP: opened, kept open, and shut when the daemon leaves. One task has it.
//!
//! ```text
//! wanted (settings, or asked for) ── bind ──┬── open ── until the daemon leaves
//!    ^                                      └── failing, said in the log and by `daemon status` ─┐
//!    └───────────────────────────── after a pause, or when somebody asks ────────────────────────┘
//! ```
//! An address that can't be had keeps no daemon from serving the home's own socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kennel_types::api::{ListenState, ListenView};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;

use super::addresses::Addresses;
use super::guard::Gate;
use super::names::Names;
use super::settings::{ListenError, ListenSettings};
use super::store::StoreError;
use super::tls::{self, TlsError};
use super::{Access, serving, told_to_leave};
use crate::error::{ApiError, ApiErrorKind};
use crate::http::Api;

/// The port that is tried first if none was named.
const PORT: u16 = 7380;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Somebody wants it open.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) address: Option<SocketAddr>,
    pub(super) answer: oneshot::Sender<Result<ListenView, ApiError>>,
}

/// Where it is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    address: SocketAddr,
    /// By somebody, and not by the settings.
    asked: bool,
}

/// Why it can't be opened.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Settings(#[from] ListenError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("tokens: {0}")]
    Store(#[from] StoreError),
    #[error("can't listen at {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("{0}")]
    Lost(String),
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        let in_use = matches!(
            &error,
            OpenError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse
        );
        let refused = match &error {
            OpenError::Settings(_) => Self::invalid(error),
            OpenError::Bind { .. } | OpenError::Tls(_) => Self::new(ApiErrorKind::Busy, error),
            OpenError::Store(_) | OpenError::Lost(_) => Self::internal(error),
        };
        match in_use {
            true => refused.hint("another program is there; name another port, or 0 for any"),
            false => refused,
        }
    }
}

/// A listener that is open.
struct Open {
    listener: TcpListener,
    names: Arc<Names>,
    tls: Option<TlsAcceptor>,
    view: ListenView,
}

/// Keeps it open where it is wanted, until the daemon leaves and every connection has ended.
pub(super) async fn keep(
    api: Api,
    access: Access,
    mut asks: mpsc::Receiver<Ask>,
    mut leaving: watch::Receiver<bool>,
) {
    let door = Door { addresses: Addresses::new(access.folder()), access };
    let wanted = door.wanted_at_start().await;
    let mut pause = FIRST_PAUSE;
    let open = loop {
        if let Some(wanted) = wanted {
            match door.open(wanted).await {
                Ok(open) => break open,
                Err(error) => door.note_failure(wanted, &error),
            }
        }
        tokio::select! {
            () = told_to_leave(&mut leaving) => return,
            asked = asks.recv() => {
                let Some(Ask { address, answer }) = asked else { return };
                match door.open_as_asked(address, wanted).await {
                    Ok(open) => {
                        answer.send(Ok(open.view.clone())).ok();
                        break open;
                    }
                    // It is not tried again by itself: whoever asked is told.
                    Err(error) => {
                        answer.send(Err(error.into())).ok();
                    }
                }
            }
            () = tokio::time::sleep(pause), if wanted.is_some() => {
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    };
    let Open { listener, names, tls, view } = open;
    let gate = Gate { access: door.access.clone(), names };
    let patience = api.patience();
    let app = api.tcp_routes(gate);
    let serve = serving::serve(listener, tls, app, door.access.seats(), patience, leaving);
    tokio::pin!(serve);
    loop {
        tokio::select! {
            () = &mut serve => return,
            Some(Ask { address, answer }) = asks.recv() => {
                answer.send(already(&view, address)).ok();
            }
        }
    }
}

/// It is open: that is good, if it is where it is wanted.
fn already(view: &ListenView, wanted: Option<SocketAddr>) -> Result<ListenView, ApiError> {
    let here = view.address.parse::<SocketAddr>().ok();
    let same = |wanted: SocketAddr| {
        here.is_some_and(|here| {
            here.ip() == wanted.ip() && [0, here.port()].contains(&wanted.port())
        })
    };
    match wanted {
        Some(wanted) if !same(wanted) => {
            let text = format!("the API is had at {} already", view.address);
            Err(ApiError::conflict(text)
                .hint("`kennel daemon restart --listen ADDRESS` moves it; sessions go on"))
        }
        _ => Ok(view.clone()),
    }
}

struct Door {
    access: Access,
    addresses: Addresses,
}

impl Door {
    fn settings(&self) -> &ListenSettings {
        self.access.settings()
    }

    /// By the settings, or where somebody asked a former daemon for it.
    async fn wanted_at_start(&self) -> Option<Wanted> {
        if let Some(address) = self.settings().listen {
            return Some(Wanted { address, asked: false });
        }
        let (addresses, rebooted) = (self.addresses.clone(), self.access.rebooted());
        let asked = spawn_blocking(move || match addresses.asked() {
            Some(address) if !rebooted => Some(address),
            _ => {
                addresses.forget();
                None
            }
        });
        let asked = asked.await.unwrap_or_default();
        asked.map(|address| Wanted { address, asked: true })
    }

    fn note_failure(&self, wanted: Wanted, error: &OpenError) {
        let address = wanted.address.to_string();
        let why = error.to_string();
        let view = ListenView {
            state: ListenState::Failing,
            url: Names::new(wanted.address, self.settings().tls_cert.is_some(), &[]).url(),
            address,
            why: Some(why.clone()),
        };
        // It is tried again and again, and told once.
        if self.access.note_listen(Some(view)).and_then(|before| before.why) != Some(why.clone()) {
            tracing::error!(%why, "the API is not had over TCP for now; it is tried again");
        }
    }

    /// Where somebody asks for it; without an address as it was wanted before, else at a port of loopback.
    async fn open_as_asked(
        &self,
        address: Option<SocketAddr>,
        before: Option<Wanted>,
    ) -> Result<Open, OpenError> {
        if let Some(address) = address {
            let asked = self.settings().listen != Some(address);
            return self.open(Wanted { address, asked }).await;
        }
        if let Some(wanted) = before {
            return self.open(wanted).await;
        }
        let at = |port| Wanted { address: (Ipv4Addr::LOCALHOST, port).into(), asked: true };
        match self.open(at(PORT)).await {
            Err(OpenError::Bind { .. }) => self.open(at(0)).await,
            other => other,
        }
    }

    async fn open(&self, wanted: Wanted) -> Result<Open, OpenError> {
        self.settings().check_at(wanted.address)?;
        let files = self.settings().tls_cert.clone().zip(self.settings().tls_key.clone());
        let tls = spawn_blocking(move || files.map(|(cert, key)| tls::acceptor(&cert, &key)));
        let tls = tls.await.map_err(|error| OpenError::Lost(error.to_string()))?.transpose()?;
        // Nobody could come in without one, and programs look for its file.
        self.access.change_and_cut(|store| store.main(), |made| made.out.clone()).await?;
        let listener = self.bind(wanted.address).await;
        let listener =
            listener.map_err(|source| OpenError::Bind { address: wanted.address, source })?;
        let address = listener.local_addr();
        let address =
            address.map_err(|source| OpenError::Bind { address: wanted.address, source })?;
        let names = Arc::new(Names::new(address, tls.is_some(), &self.settings().names));
        let view = ListenView {
            state: ListenState::Open,
            address: address.to_string(),
            url: names.url(),
            why: None,
        };
        let addresses = self.addresses.clone();
        match spawn_blocking(move || addresses.note(address, wanted.asked)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the address can't be written down"),
            Err(error) => tracing::warn!(%error, "the address can't be written down"),
        }
        tracing::info!(%address, tls = tls.is_some(), "the API is had over TCP");
        self.access.note_listen(Some(view.clone()));
        Ok(Open { listener, names, tls, view })
    }

    /// If any port will do, it is the same as before, so that what knows us finds us again.
    async fn bind(&self, address: SocketAddr) -> io::Result<TcpListener> {
        if address.port() == 0 {
            let addresses = self.addresses.clone();
            let last = spawn_blocking(move || addresses.last()).await.unwrap_or_default();
            if let Some(last) = last.filter(|last| last.ip() == address.ip())
                && let Ok(listener) = TcpListener::bind(last).await
            {
                return Ok(listener);
            }
        }
        TcpListener::bind(address).await
    }
}
