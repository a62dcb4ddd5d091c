//! Streams a prompt as events, over all its attempts: the actions of its agent, and the verdict at the end.

use std::io;

use axum::body::Bytes;
use kennel_daemon::{LaunchEnd, LaunchWatch, has_ended};
use kennel_types::{RelaunchState, SessionView};
use serde::Serialize;
use tokio::sync::watch;

use super::attempt_events::AttemptEvents;
use super::complete;
use crate::api::Api;
use crate::stream::resume_position::{AnswerPoint, ResumePosition};
use crate::stream::sse::{self, Wake};
use crate::stream::{ChunkSource, ReadState};

pub(super) struct AttemptStream {
    api: Api,
    view: SessionView,
    watch: watch::Receiver<LaunchWatch>,
    latest: watch::Receiver<u64>,
    stage: AttemptStage,
    /// The last event of this attempt that the client has received.
    received: Option<AnswerPoint>,
    preamble: &'static str,
}

enum AttemptStage {
    New,
    Reading(Box<AttemptEvents>),
    /// The attempt has ended, and a verdict or another attempt follows.
    Ended,
    Complete,
}

#[derive(Debug, Serialize)]
struct AttemptRecord<'a> {
    event: &'static str,
    session: &'a str,
    launch: &'a str,
    attempt: u32,
}

impl AttemptStream {
    pub(super) fn new(api: Api, view: SessionView, received: Option<AnswerPoint>) -> Self {
        let (watch, latest) = (api.daemon.watch_launch(&view.id), api.daemon.latest_event());
        let (stage, preamble) = (AttemptStage::New, sse::RETRY);
        Self { api, view, watch, latest, stage, received, preamble }
    }

    /// Returns the next events, possibly none, or `None` at the end.
    async fn step(&mut self) -> io::Result<Option<Vec<u8>>> {
        match std::mem::replace(&mut self.stage, AttemptStage::Complete) {
            AttemptStage::New => self.open().await.map(Some),
            AttemptStage::Reading(events) => self.read(events).await,
            AttemptStage::Ended => self.next_attempt().await,
            AttemptStage::Complete => Ok(None),
        }
    }

    async fn open(&mut self) -> io::Result<Vec<u8>> {
        let (view, received) = (self.view.clone(), self.received);
        let events = self.api.streams.on_disk(move || AttemptEvents::open(&view, received)).await?;
        self.stage = AttemptStage::Reading(Box::new(events));
        if received.is_some() {
            return Ok(Vec::new());
        }
        let SessionView { session, id: launch, attempt, .. } = &self.view;
        let attempt = AttemptRecord { event: "attempt", session, launch, attempt: *attempt };
        self.encode(AnswerPoint::Begun, "attempt", &attempt)
    }

    async fn read(&mut self, mut events: Box<AttemptEvents>) -> io::Result<Option<Vec<u8>>> {
        // Check this before the read, so that all output of an ended launch is read after its end is known.
        let end = self.watch.borrow_and_update().end.clone();
        let ended = end.clone();
        let read = self.api.streams.on_disk(move || {
            let state = events.read()?;
            if let (ReadState::CaughtUp, Some(LaunchEnd::Ended(view))) = (state, &ended) {
                events.finish(view);
            }
            Ok((events, state))
        });
        let (mut events, state) = read.await?;
        let encoded = events.take();
        match (state, end) {
            (ReadState::CaughtUp, Some(LaunchEnd::Removed)) => {}
            (ReadState::CaughtUp, Some(LaunchEnd::Ended(_))) => self.stage = AttemptStage::Ended,
            (ReadState::CaughtUp, None) if encoded.is_empty() => {
                self.stage = AttemptStage::Reading(events);
                return Ok(woken(sse::wait(&mut self.watch, &self.api.daemon).await));
            }
            _ => self.stage = AttemptStage::Reading(events),
        }
        Ok(Some(encoded))
    }

    /// Continues with the next attempt or the verdict, if there is one; otherwise waits.
    async fn next_attempt(&mut self) -> io::Result<Option<Vec<u8>>> {
        let daemon = &self.api.daemon;
        // Mark the value as seen before the session is read, so that no later change is missed.
        self.latest.borrow_and_update();
        let Ok(newest) = daemon.show(self.view.session.clone()).await else { return Ok(None) };
        if newest.attempt > self.view.attempt {
            let next = format!("{}_{}", self.view.session, self.view.attempt + 1);
            // Skip an attempt that was removed from the record.
            self.view = daemon.show(next).await.unwrap_or(newest);
            self.watch = daemon.watch_launch(&self.view.id);
            (self.stage, self.received) = (AttemptStage::New, None);
            return Ok(Some(Vec::new()));
        }
        let over = has_ended(newest.phase) && newest.relaunch != RelaunchState::Pending;
        if over && newest.judged.is_some() {
            let answer = complete(&self.api, newest).await;
            let answer = answer.map_err(|error| io::Error::other(error.problem().detail))?;
            return self.encode(AnswerPoint::Verdict, "verdict", &answer).map(Some);
        }
        self.stage = AttemptStage::Ended;
        Ok(woken(sse::wait(&mut self.latest, &self.api.daemon).await))
    }

    fn encode(
        &self,
        point: AnswerPoint,
        event: &str,
        data: &impl Serialize,
    ) -> io::Result<Vec<u8>> {
        let mut encoded = Vec::new();
        let id = ResumePosition { launch: Some(self.view.id.clone()), point }.to_string();
        sse::write(&mut encoded, &id, event, &serde_json::to_string(data)?);
        Ok(encoded)
    }
}

/// Returns the bytes to send after a wait, or `None` to end the stream.
fn woken(wake: Wake) -> Option<Vec<u8>> {
    match wake {
        Wake::Changed => Some(Vec::new()),
        Wake::KeepAlive => Some(sse::ALIVE.to_vec()),
        Wake::Over => None,
    }
}

impl ChunkSource for AttemptStream {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let mut chunk = std::mem::take(&mut self.preamble).as_bytes().to_vec();
        loop {
            match self.step().await {
                Ok(Some(events)) => chunk.extend(events),
                Ok(None) => return (!chunk.is_empty()).then(|| Ok(chunk.into())),
                Err(error) => return Some(Err(error)),
            }
            if !chunk.is_empty() {
                return Some(Ok(chunk.into()));
            }
        }
    }
}
