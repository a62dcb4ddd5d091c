//! Figures, for Prometheus.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::http::Api;
use crate::metrics::{self, OwnProcess, Sources};
use crate::owner::LookCommand;
use crate::owner::message::Command;

pub(super) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let gauges = api.ask(|answer| Command::Look(LookCommand::Gauges { answer })).await?;
    let text = metrics::page(&Sources {
        tally: &api.0.instruments.tally,
        gauges: &gauges,
        register: &api.0.register,
        own: OwnProcess::look(),
    });
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}
