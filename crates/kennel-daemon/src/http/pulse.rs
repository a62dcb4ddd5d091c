//! Who tells those that follow a launch that there is more of it.
//!
//! One task a launch, however many follow it, and only as long as somebody does: it listens to the keeper, which says
//! when the journal has grown, and to the register, which says when something has become of the session. Nobody looks
//! at the disk to find out whether there is more.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole};
use kennel_types::{Phase, SessionView};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Api;
use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::owner::message::Command;

/// How long a keeper may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// The pause between looks at a session without a keeper, if nothing is heard of it: what happens can't be recorded on
/// a full disk.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How a launch stands, for those who follow it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pulse {
    /// Set when there will be no more.
    pub(super) over: Option<Over>,
}

/// Why there will be no more.
#[derive(Debug, Clone)]
pub(super) enum Over {
    /// It has ended, like this.
    Ended(Arc<SessionView>),
    /// It is gone from the record.
    Removed,
}

/// All launches that somebody follows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pulses(Arc<Mutex<HashMap<String, watch::Sender<Pulse>>>>);

impl Pulses {
    /// Follows the launch with this id. Changes when there may be more to read, or there will be no more; closed if the daemon leaves.
    pub(super) fn follow(&self, api: &Api, launch: &str) -> watch::Receiver<Pulse> {
        let launch = exactly(launch);
        let mut followed = self.lock();
        if let Some(pulse) = followed.get(&launch) {
            return pulse.subscribe();
        }
        let (pulse, receiver) = watch::channel(Pulse::default());
        followed.insert(launch.clone(), pulse.clone());
        tokio::spawn(self.clone().attend(api.clone(), launch, pulse));
        receiver
    }

    async fn attend(self, api: Api, launch: String, pulse: watch::Sender<Pulse>) {
        let mut leaving = api.0.leaving.clone();
        tokio::select! {
            over = look_after(&api, &launch, &pulse) => {
                self.lock().remove(&launch);
                pulse.send_modify(|pulse| pulse.over = Some(over));
            }
            () = self.unfollowed(&launch, &pulse) => {}
            _ = leaving.wait_for(|leaving| *leaving) => drop(self.lock().remove(&launch)),
        }
    }

    /// Comes when nobody follows it any more; then nobody finds it any more, either.
    async fn unfollowed(&self, launch: &str, pulse: &watch::Sender<Pulse>) {
        loop {
            pulse.closed().await;
            let mut followed = self.lock();
            if pulse.receiver_count() == 0 {
                followed.remove(launch);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Pulse>>> {
        // What is inside is whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A launch as it must be asked for: the id of the first is that of the session, which means its latest.
pub(super) fn exactly(launch: &str) -> String {
    if launch.contains('_') { launch.to_owned() } else { format!("{launch}_1") }
}

/// Tells of growth until it is over.
async fn look_after(api: &Api, launch: &str, pulse: &watch::Sender<Pulse>) -> Over {
    let mut latest = api.0.register.latest_seq();
    let mut last_word = LastWord::Unsaid;
    loop {
        // Before the look: what happens after it is not missed.
        latest.borrow_and_update();
        let reference = launch.to_owned();
        match api.ask(|answer| Command::Show { reference, answer }).await {
            Ok(view) if has_ended(view.phase) => return Over::Ended(Arc::new(view)),
            Ok(view) => {
                if view.phase >= Phase::Launching && last_word == LastWord::Unsaid {
                    last_word = listen(&view, pulse).await;
                }
            }
            Err(refused) if refused.status() == 404 => return Over::Removed,
            // The daemon leaves, which others are told.
            Err(_) => {}
        }
        tokio::select! {
            changed = latest.changed() => {
                if changed.is_err() {
                    sleep(LOOK_AGAIN).await;
                }
            }
            () = sleep(LOOK_AGAIN) => {}
        }
        // Nobody may have told of what a keeper wrote that has gone.
        pulse.send_modify(|_| ());
    }
}

/// Whether nothing will be printed any more.
pub(super) fn has_ended(phase: Phase) -> bool {
    matches!(phase, Phase::Reaped | Phase::Cleaned)
}

/// Whether a keeper has said all. It may see to another launch then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastWord {
    Unsaid,
    Said,
}

/// Passes on what the keeper tells of its journal, for as long as there is one.
async fn listen(view: &SessionView, pulse: &watch::Sender<Pulse>) -> LastWord {
    let heard = async {
        let conversation = KeeperConnection::begin(Path::new(&view.folder))?;
        match timeout(GREETING, conversation.greet(PeerRole::Client)).await {
            Ok(greeted) => drop(greeted?),
            Err(_) => return Ok(LastWord::Unsaid),
        }
        conversation.say(&KeeperRequest::Follow).await?;
        conversation
            .hear(|report, _| {
                if let KeeperReport::Grown(_) = report {
                    pulse.send_modify(|_| ());
                }
                matches!(report, KeeperReport::Gone(_)).then_some(LastWord::Said)
            })
            .await
    };
    heard.await.unwrap_or_else(|error| {
        use kennel_keeper::KeeperClientError::Closed;
        if !matches!(error, KeeperRequestError::NobodyListens | KeeperRequestError::Client(Closed))
        {
            tracing::warn!(session = %view.id, %error, "a keeper can't be followed");
        }
        LastWord::Unsaid
    })
}
