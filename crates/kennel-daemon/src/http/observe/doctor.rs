//! What this machine offers: the doctor's word, who is a program of its own.
//!
//! It runs in a process group of its own, within bounds, and is reaped by the thread that started it: whoever asked
//! may vanish. It holds pens on trial, so it is not ended for want of somebody who listens, but let finish; when the daemon
//! leaves it is ended. If the daemon is killed, it falls to the yard, which ends it; and its pens end with it.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_worktree::process::{self, Bounds, RunError, Said};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::error::ApiError;
use crate::http::Api;

/// How long an examination may take: three trials of a few steps, each with a bound of its own.
const PATIENCE: Duration = Duration::from_secs(90);
/// The most that it may say.
const MOST: usize = 1 << 20;

/// JSON, or why there is none.
type Diagnosis = Result<Bytes, ApiError>;

/// At most one examination at a time; whoever asks meanwhile shares its answer.
#[derive(Debug)]
pub(super) struct Doctor {
    command: Vec<OsString>,
    leaving: watch::Receiver<bool>,
    under_way: Mutex<Option<watch::Receiver<Option<Diagnosis>>>>,
}

impl Doctor {
    pub(super) fn new(command: Vec<OsString>, leaving: watch::Receiver<bool>) -> Self {
        Self { command, leaving, under_way: Mutex::default() }
    }

    /// The examination under way, or a new one.
    fn call(&self) -> watch::Receiver<Option<Diagnosis>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*under_way
            && known.borrow().is_none()
            && known.has_changed().is_ok()
        {
            return known.clone();
        }
        let (answer, answered) = watch::channel(None);
        tokio::spawn(examine(self.command.clone(), self.leaving.clone(), answer));
        *under_way = Some(answered.clone());
        answered
    }
}

pub(super) async fn doctor(State(api): State<Api>) -> Result<Response, ApiError> {
    let doctor = &api.0.instruments.doctor;
    if doctor.command.is_empty() {
        return Err(ApiError::not_found("this daemon has no doctor"));
    }
    let mut answered = doctor.call();
    let diagnosis = answered.wait_for(Option::is_some).await.map_err(|_| ApiError::gone())?.clone();
    let json = diagnosis.unwrap_or_else(|| Err(ApiError::gone()))?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// Runs to its end, whoever waits for it.
async fn examine(
    command: Vec<OsString>,
    mut leaving: watch::Receiver<bool>,
    answer: watch::Sender<Option<Diagnosis>>,
) {
    let cancel = Arc::new(AtomicBool::new(false));
    let bounds = Bounds {
        deadline: Instant::now() + PATIENCE,
        most_output: MOST,
        cancel: Some(Arc::clone(&cancel)),
    };
    let mut examined = spawn_blocking(move || run(&command, &bounds));
    let examined = tokio::select! {
        examined = &mut examined => examined,
        // A sender that is gone means the same.
        () = async { drop(leaving.wait_for(|leaving| *leaving).await) } => {
            cancel.store(true, Ordering::Relaxed);
            examined.await
        }
    };
    answer.send_replace(Some(examined.unwrap_or_else(|error| Err(ApiError::internal(error)))));
}

/// Blocks.
fn run(command: &[OsString], bounds: &Bounds) -> Diagnosis {
    let Some((program, args)) = command.split_first() else {
        return Err(ApiError::not_found("this daemon has no doctor"));
    };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).current_dir("/");
    match process::run(&mut command, bounds) {
        Ok(said) => understood(said),
        Err(RunError::Cancelled) => Err(ApiError::leaving()),
        Err(RunError::Late) => {
            Err(ApiError::internal(format!("the doctor has taken longer than {PATIENCE:?}")))
        }
        Err(RunError::Start(error)) => {
            Err(ApiError::internal(format!("the doctor can't be started: {error}")))
        }
        Err(RunError::Call(error)) => Err(ApiError::internal(error)),
    }
}

/// Its exit code says whether the machine is sound, and so does the JSON.
fn understood(said: Said) -> Diagnosis {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&said.out).is_ok();
    if is_json && !said.cut {
        return Ok(Bytes::from(said.out));
    }
    let words = String::from_utf8_lossy(&said.err);
    let first = words.lines().next().unwrap_or("it has said nothing").to_owned();
    Err(ApiError::internal(format!("the doctor has failed ({}): {first}", said.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doctor(script: &str) -> (Doctor, watch::Sender<bool>) {
        let (leave, leaving) = watch::channel(false);
        let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        (Doctor::new(command, leaving), leave)
    }

    async fn told(mut answered: watch::Receiver<Option<Diagnosis>>) -> Diagnosis {
        answered.wait_for(Option::is_some).await.unwrap().clone().unwrap()
    }

    #[tokio::test]
    async fn those_who_ask_at_once_share_one_examination_and_the_next_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        let runs = folder.path().join("runs");
        let (go_path, runs_path) = (go.display(), runs.display());
        let script = format!(
            "echo x >> {runs_path}; while [ ! -e {go_path} ]; do sleep 0.01; done; echo '{{}}'; exit 1"
        );
        let (doctor, _leave) = doctor(&script);
        let answers = [doctor.call(), doctor.call()];
        drop(doctor.call()); // one who goes changes nothing
        std::fs::write(&go, "").unwrap();
        for answer in answers {
            assert_eq!(told(answer).await.unwrap(), "{}\n");
        }
        assert_eq!(std::fs::read_to_string(&runs).unwrap(), "x\n");
        told(doctor.call()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&runs).unwrap(), "x\nx\n");
    }

    #[tokio::test]
    async fn one_that_is_at_work_when_the_daemon_leaves_is_ended() {
        let (doctor, leave) = doctor("sleep 1000");
        let answer = doctor.call();
        leave.send_replace(true);
        assert_eq!(told(answer).await.unwrap_err().code(), "refused");
    }

    #[tokio::test]
    async fn what_is_no_json_is_told_with_its_first_words() {
        let (doctor, _leave) = doctor("echo nonsense; echo 'no such home' >&2; exit 3");
        let refused = told(doctor.call()).await.unwrap_err();
        let message = refused.problem().detail;
        assert!(message.contains("no such home") && message.contains('3'), "{message}");
    }
}
