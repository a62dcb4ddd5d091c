//! Runs the doctor, a separate program that examines what this machine supports.
//!
//! It runs in its own process group, within limits, and the thread that started it reaps it. It creates pens to try them,
//! so it runs to its end even if all clients disconnect. When the daemon shuts down, it ends the doctor. If the daemon is
//! killed, the doctor becomes a child of the yard, which ends it and its pens.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;
use kennel_worktree::process::{self, ProcessLimits, ProcessOutput, RunProgramError};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::api::Api;
use crate::error::HandlerResult;

/// The timeout of an examination: three trials of a few steps, each with its own timeout.
const TIMEOUT: Duration = Duration::from_secs(90);
const MAX_OUTPUT: usize = 1 << 20;

type DoctorFindings = Result<Bytes, ApiError>;

/// Runs at most one examination at a time. Clients that request one in the meantime share its result.
#[derive(Debug)]
pub(super) struct DoctorRunner {
    command: Vec<OsString>,
    shutdown: watch::Receiver<bool>,
    running: Mutex<Option<watch::Receiver<Option<DoctorFindings>>>>,
}

impl DoctorRunner {
    pub(super) fn new(command: Vec<OsString>, shutdown: watch::Receiver<bool>) -> Self {
        Self { command, shutdown, running: Mutex::default() }
    }

    fn examine(&self) -> watch::Receiver<Option<DoctorFindings>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*running
            && known.borrow().is_none()
            && known.has_changed().is_ok()
        {
            return known.clone();
        }
        let (result, receiver) = watch::channel(None);
        tokio::spawn(examine(self.command.clone(), self.shutdown.clone(), result));
        *running = Some(receiver.clone());
        receiver
    }
}

pub(super) async fn doctor(api: Api) -> HandlerResult<Response> {
    let mut result = api.observe.doctor.examine();
    let findings = result.wait_for(Option::is_some).await.map_err(|_| ApiError::gone())?.clone();
    let json = findings.unwrap_or_else(|| Err(ApiError::gone()))?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// Runs an examination to its end, whether or not a client waits.
async fn examine(
    command: Vec<OsString>,
    mut shutdown: watch::Receiver<bool>,
    result: watch::Sender<Option<DoctorFindings>>,
) {
    let cancel = Arc::new(AtomicBool::new(false));
    let bounds = ProcessLimits {
        deadline: Instant::now() + TIMEOUT,
        max_output: MAX_OUTPUT,
        cancel: Some(Arc::clone(&cancel)),
    };
    let mut examined = spawn_blocking(move || run(&command, &bounds));
    let examined = tokio::select! {
        examined = &mut examined => examined,
        // A dropped sender means the same.
        () = async { drop(shutdown.wait_for(|shutdown| *shutdown).await) } => {
            cancel.store(true, Ordering::Relaxed);
            examined.await
        }
    };
    result.send_replace(Some(examined.unwrap_or_else(|error| Err(ApiError::internal(error)))));
}

/// Runs the command. Blocks.
fn run(command: &[OsString], bounds: &ProcessLimits) -> DoctorFindings {
    let no_doctor = || ApiError::not_found("this daemon has no doctor");
    let (program, args) = command.split_first().ok_or_else(no_doctor)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).current_dir("/");
    match process::run(&mut command, bounds) {
        Ok(output) => parse(output),
        Err(RunProgramError::Cancelled) => Err(ApiError::shutting_down()),
        Err(RunProgramError::TimedOut) => {
            Err(ApiError::internal(format!("the doctor did not finish within {TIMEOUT:?}")))
        }
        Err(RunProgramError::Start(error)) => {
            Err(ApiError::internal(format!("can't start the doctor: {error}")))
        }
        Err(RunProgramError::System(error)) => Err(ApiError::internal(error)),
    }
}

/// Returns the output if it is JSON, whatever the exit status: the JSON contains the result, too.
fn parse(output: ProcessOutput) -> DoctorFindings {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&output.stdout).is_ok();
    if is_json && !output.truncated {
        return Ok(Bytes::from(output.stdout));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let first = stderr.lines().next().unwrap_or("it printed no error").to_owned();
    Err(ApiError::internal(format!("the doctor failed ({}): {first}", output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doctor(script: &str) -> (DoctorRunner, watch::Sender<bool>) {
        let (stop, shutdown) = watch::channel(false);
        let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        (DoctorRunner::new(command, shutdown), stop)
    }

    async fn result_of(mut result: watch::Receiver<Option<DoctorFindings>>) -> DoctorFindings {
        result.wait_for(Option::is_some).await.unwrap().clone().unwrap()
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_examination() {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        let runs = folder.path().join("runs");
        let (go_path, runs_path) = (go.display(), runs.display());
        let script = format!(
            "echo x >> {runs_path}; while [ ! -e {go_path} ]; do sleep 0.01; done; echo '{{}}'; exit 1"
        );
        let (doctor, _stop) = doctor(&script);
        let answers = [doctor.examine(), doctor.examine()];
        drop(doctor.examine()); // a client that disconnects changes nothing
        std::fs::write(&go, "").unwrap();
        for answer in answers {
            assert_eq!(result_of(answer).await.unwrap(), "{}\n");
        }
        assert_eq!(std::fs::read_to_string(&runs).unwrap(), "x\n");
        result_of(doctor.examine()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&runs).unwrap(), "x\nx\n");
    }

    #[tokio::test]
    async fn ends_a_running_examination_on_shutdown() {
        let (doctor, stop) = doctor("sleep 1000");
        let answer = doctor.examine();
        stop.send_replace(true);
        assert_eq!(result_of(answer).await.unwrap_err().code(), "refused");
    }

    #[tokio::test]
    async fn an_error_has_the_first_line_of_stderr() {
        let (doctor, _stop) = doctor("echo nonsense; echo 'no such home' >&2; exit 3");
        let refused = result_of(doctor.examine()).await.unwrap_err();
        let message = refused.problem().detail;
        assert!(message.contains("no such home") && message.contains('3'), "{message}");
    }
}
