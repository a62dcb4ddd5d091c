//! A prompt over all its attempts, as events: what its agent does, and the verdict in the end.

use std::io;

use axum::body::Bytes;
use kennel_types::{RelaunchState, SessionView};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;

use super::super::output::{on_disk, show};
use super::super::pull::Pieces;
use super::super::pulse::{Over, Pulse, has_ended};
use super::super::{Api, sse};
use super::mark::{Mark, Place};
use super::telling::{Left, Telling};
use super::told;
use crate::error::ApiError;

/// See the module.
pub(super) struct Course {
    api: Api,
    /// The attempt that is told of.
    view: SessionView,
    pulse: watch::Receiver<Pulse>,
    latest: watch::Receiver<u64>,
    leaving: watch::Receiver<bool>,
    stage: Stage,
    /// What the client has heard of this attempt.
    heard: Option<Place>,
    greeting: &'static str,
}

/// How far it has come.
enum Stage {
    /// The attempt is to be told of from the beginning.
    Begins,
    /// Its output is read.
    Told(Box<Telling>),
    /// It has ended: a verdict follows, or another attempt.
    Between,
    /// All was told.
    Over,
}

/// An attempt, for programs.
#[derive(Debug, Serialize)]
struct Attempt<'a> {
    event: &'static str,
    session: &'a str,
    launch: &'a str,
    attempt: u32,
}

impl Course {
    pub(super) fn begin(api: Api, view: SessionView, heard: Option<Place>) -> Self {
        let pulse = api.0.live.pulses.follow(&api, &view.id);
        let (latest, leaving) = (api.0.register.latest_seq(), api.0.leaving.clone());
        let (stage, greeting) = (Stage::Begins, sse::HELLO);
        Self { api, view, pulse, latest, leaving, stage, heard, greeting }
    }

    /// The next events, maybe none; `None` when there are no more.
    async fn go_on(&mut self) -> io::Result<Option<Vec<u8>>> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Begins => self.open().await.map(Some),
            Stage::Told(telling) => self.tell(telling).await,
            Stage::Between => self.look_on().await,
            Stage::Over => Ok(None),
        }
    }

    async fn open(&mut self) -> io::Result<Vec<u8>> {
        let (view, heard) = (self.view.clone(), self.heard);
        let telling = on_disk(&self.api, move || Telling::open(&view, heard)).await?;
        self.stage = Stage::Told(Box::new(telling));
        let mut event = Vec::new();
        if heard.is_none() {
            let SessionView { session, id: launch, attempt, .. } = &self.view;
            let attempt = Attempt { event: "attempt", session, launch, attempt: *attempt };
            self.write(&mut event, Place::Begun, "attempt", &attempt)?;
        }
        Ok(event)
    }

    async fn tell(&mut self, mut telling: Box<Telling>) -> io::Result<Option<Vec<u8>>> {
        // Before the read: what was printed before the end is read after it.
        let over = self.pulse.borrow_and_update().over.clone();
        let ended = over.clone();
        let read = on_disk(&self.api, move || {
            let left = telling.read()?;
            if let (Left::NothingNow, Some(Over::Ended(view))) = (left, &ended) {
                telling.finish(view);
            }
            Ok((telling, left))
        });
        let (mut telling, left) = read.await?;
        let events = telling.take();
        match (left, over) {
            (Left::NothingNow, Some(Over::Removed)) => return Ok(Some(events)),
            (Left::NothingNow, Some(Over::Ended(_))) => self.stage = Stage::Between,
            (Left::NothingNow, None) if events.is_empty() => {
                self.stage = Stage::Told(telling);
                return self.wait().await;
            }
            _ => self.stage = Stage::Told(telling),
        }
        Ok(Some(events))
    }

    /// Waits for news of this attempt.
    async fn wait(&mut self) -> io::Result<Option<Vec<u8>>> {
        tokio::select! {
            changed = self.pulse.changed() => Ok(changed.is_ok().then(Vec::new)),
            _ = self.leaving.wait_for(|leaving| *leaving) => Ok(None),
            () = sleep(sse::KEEP_ALIVE) => Ok(Some(sse::ALIVE.to_vec())),
        }
    }

    /// Looks whether there is a verdict, or another attempt; else waits for news.
    async fn look_on(&mut self) -> io::Result<Option<Vec<u8>>> {
        // Before the look: what happens after it is not missed.
        self.latest.borrow_and_update();
        let newest = match show(&self.api, self.view.session.clone()).await {
            Ok(newest) => newest,
            Err(_) => return Ok(None),
        };
        if newest.attempt > self.view.attempt {
            let next = format!("{}_{}", self.view.session, self.view.attempt + 1);
            // One that is gone from the record is passed over.
            self.view = show(&self.api, next).await.unwrap_or(newest);
            self.pulse = self.api.0.live.pulses.follow(&self.api, &self.view.id);
            (self.stage, self.heard) = (Stage::Begins, None);
            return Ok(Some(Vec::new()));
        }
        let over = has_ended(newest.phase) && newest.relaunch != RelaunchState::Pending;
        if over && newest.judged.is_some() {
            return self.verdict(newest).await.map(Some);
        }
        self.stage = Stage::Between;
        tokio::select! {
            changed = self.latest.changed() => Ok(changed.is_ok().then(Vec::new)),
            _ = self.leaving.wait_for(|leaving| *leaving) => Ok(None),
            () = sleep(sse::KEEP_ALIVE) => Ok(Some(sse::ALIVE.to_vec())),
        }
    }

    async fn verdict(&mut self, view: SessionView) -> io::Result<Vec<u8>> {
        let failed = |refused: ApiError| io::Error::other(refused.problem().detail);
        let answer = told(&self.api, view).await.map_err(failed)?;
        let mut event = Vec::new();
        self.write(&mut event, Place::Verdict, "verdict", &answer)?;
        Ok(event)
    }

    fn write(
        &self,
        to: &mut Vec<u8>,
        place: Place,
        event: &str,
        data: &impl Serialize,
    ) -> io::Result<()> {
        let id = Mark { launch: self.view.id.clone(), place }.to_string();
        sse::write(to, &id, event, &serde_json::to_string(data)?);
        Ok(())
    }
}

impl Pieces for Course {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let mut piece = std::mem::take(&mut self.greeting).as_bytes().to_vec();
        loop {
            match self.go_on().await {
                Ok(Some(events)) => piece.extend(events),
                Ok(None) => return (!piece.is_empty()).then(|| Ok(piece.into())),
                Err(error) => return Some(Err(error)),
            }
            if !piece.is_empty() {
                return Some(Ok(piece.into()));
            }
        }
    }
}
