//! Errors of the API.

use kennel_core::report::ReportRefusal;
use kennel_core::{AdmitError, FindError, RelaunchRefusal, RemoveSessionError};
use kennel_types::api::ProblemDetails;
use tokio::sync::oneshot;

/// The sender of an answer. The client may be gone; that changes nothing.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, ApiError>>;

/// Returns the value and the sender of the answer; an error is sent as the answer.
pub(crate) fn or_refuse<V, T>(
    result: Result<V, ApiError>,
    answer: Answer<T>,
) -> Option<(V, Answer<T>)> {
    match result {
        Ok(value) => Some((value, answer)),
        Err(refused) => {
            answer.send(Err(refused)).ok();
            None
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    kind: ApiErrorKind,
    message: String,
    hint: Option<String>,
}

pub(crate) const REPORT_REFUSAL_CODES: [&str; 6] =
    ["no_token", "unknown_session", "spent", "too_early", "foreign", "unknown_token"];

/// The kinds of errors. Their codes never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// No such session, member, plan, token or path.
    NotFound,
    Ambiguous,
    Conflict,
    /// The daemon is shutting down and accepts nothing new.
    Refused,
    Invalid,
    Malformed,
    Method,
    TooLarge,
    Busy,
    Gone,
    Internal,
    Unauthorized,
    Forbidden,
    TooMany,
    /// The request is for another host.
    Misdirected,
    /// The report of an agent is refused, with this code.
    ReportRefused(&'static str),
}

impl ApiErrorKind {
    /// Returns the code for programs, the HTTP status, and the title for people.
    fn describe(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::NotFound => ("not_found", 404, "Not found"),
            Self::Ambiguous => ("ambiguous", 409, "Ambiguous reference"),
            Self::Conflict => ("conflict", 409, "Conflict with the current state"),
            Self::Refused => ("refused", 503, "Not accepting requests"),
            Self::Invalid => ("invalid", 422, "Invalid request"),
            Self::Malformed => ("malformed", 400, "Malformed request"),
            Self::Method => ("method_not_allowed", 405, "Method not allowed"),
            Self::TooLarge => ("too_large", 413, "Request too large"),
            Self::Busy => ("busy", 503, "Busy"),
            Self::Gone => ("gone", 503, "Daemon shut down"),
            Self::Internal => ("internal", 500, "Internal error"),
            Self::Unauthorized => ("unauthorized", 401, "Not authenticated"),
            Self::Forbidden => ("forbidden", 403, "Forbidden"),
            Self::TooMany => ("too_many", 429, "Too many requests"),
            Self::Misdirected => ("misdirected", 421, "Unexpected host"),
            Self::ReportRefused(code) => (code, 403, "Report refused"),
        }
    }
}

impl ApiError {
    pub fn new(kind: ApiErrorKind, message: impl ToString) -> Self {
        Self { kind, message: message.to_string(), hint: None }
    }

    pub fn invalid(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Invalid, message)
    }

    pub fn not_found(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::NotFound, message)
    }

    pub fn conflict(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Conflict, message)
    }

    pub fn busy(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Busy, message)
    }

    pub fn internal(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Internal, message)
    }

    #[must_use]
    pub fn shutting_down() -> Self {
        Self::new(ApiErrorKind::Refused, "the daemon is shutting down")
    }

    /// The daemon has shut down, and only its socket is still there.
    #[must_use]
    pub fn gone() -> Self {
        Self::new(ApiErrorKind::Gone, "the daemon has shut down")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.describe().0
    }

    #[must_use]
    pub fn is_refused_report(&self) -> bool {
        matches!(self.kind, ApiErrorKind::ReportRefused(_))
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        self.kind.describe().1
    }

    /// The problem document (RFC 9457).
    #[must_use]
    pub fn problem(&self) -> ProblemDetails {
        let (code, status, title) = self.kind.describe();
        ProblemDetails {
            kind: format!("urn:kennel:{code}"),
            title: title.to_owned(),
            status,
            detail: self.message.clone(),
            code: code.to_owned(),
            hint: self.hint.clone(),
        }
    }
}

impl From<FindError> for ApiError {
    fn from(error: FindError) -> Self {
        let (kind, hint) = match error {
            FindError::NotFound { .. } => {
                (ApiErrorKind::NotFound, "`kennel ps -a` lists all sessions")
            }
            FindError::Ambiguous { .. } => {
                (ApiErrorKind::Ambiguous, "give more characters of the id")
            }
        };
        Self::new(kind, error).hint(hint)
    }
}

impl From<AdmitError> for ApiError {
    fn from(refusal: AdmitError) -> Self {
        match refusal {
            AdmitError::Draining => Self::shutting_down(),
            AdmitError::IdTaken(_) => Self::internal(refusal),
            AdmitError::NameTaken { .. } => {
                Self::conflict(refusal).hint("choose another name, or stop that session first")
            }
            AdmitError::ParentUnknown(_) => Self::invalid(refusal),
            AdmitError::KeyTaken { .. } | AdmitError::ParentEnded(_) => Self::conflict(refusal),
        }
    }
}

impl From<RelaunchRefusal> for ApiError {
    fn from(refusal: RelaunchRefusal) -> Self {
        match refusal {
            RelaunchRefusal::Unknown(_) => Self::not_found(refusal),
            RelaunchRefusal::Refused(refusal) => refusal.into(),
            _ => Self::conflict(refusal),
        }
    }
}

impl From<ReportRefusal> for ApiError {
    fn from(why: ReportRefusal) -> Self {
        let code = match &why {
            ReportRefusal::NoToken => "no_token",
            ReportRefusal::UnknownSession(_) => "unknown_session",
            ReportRefusal::Spent { .. } => "spent",
            ReportRefusal::TooEarly { .. } => "too_early",
            ReportRefusal::Foreign(_) => "foreign",
            ReportRefusal::UnknownToken => "unknown_token",
        };
        Self::new(ApiErrorKind::ReportRefused(code), why)
    }
}

impl From<RemoveSessionError> for ApiError {
    fn from(error: RemoveSessionError) -> Self {
        let hint = match error {
            RemoveSessionError::Unknown(_) => return Self::not_found(error),
            RemoveSessionError::Latest(_) => return Self::conflict(error),
            RemoveSessionError::Live(_) => {
                "stop it first (`kennel stop`); `kennel rm -f` kills and removes it"
            }
            RemoveSessionError::RelaunchPending(_) => "stop it first",
            RemoveSessionError::Unrecorded(_) => "try again in a moment",
        };
        Self::conflict(error).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_code_and_a_status() {
        use ApiErrorKind::*;
        let kinds = [
            NotFound,
            Ambiguous,
            Conflict,
            Refused,
            Invalid,
            Malformed,
            Method,
            TooLarge,
            Busy,
            Internal,
            Unauthorized,
            Forbidden,
            TooMany,
            Misdirected,
        ];
        assert_eq!(
            kinds.map(|kind| (kind.describe().0, kind.describe().1)),
            [
                ("not_found", 404),
                ("ambiguous", 409),
                ("conflict", 409),
                ("refused", 503),
                ("invalid", 422),
                ("malformed", 400),
                ("method_not_allowed", 405),
                ("too_large", 413),
                ("busy", 503),
                ("internal", 500),
                ("unauthorized", 401),
                ("forbidden", 403),
                ("too_many", 429),
                ("misdirected", 421),
            ]
        );
    }

    #[test]
    fn every_refused_report_has_a_listed_code() {
        let launch = kennel_types::IdMaker::default().next(0, 1);
        let name = String::new;
        let all = [
            ReportRefusal::NoToken,
            ReportRefusal::UnknownSession(name()),
            ReportRefusal::Spent { launch: launch.clone() },
            ReportRefusal::TooEarly { launch },
            ReportRefusal::Foreign(name()),
            ReportRefusal::UnknownToken,
        ];
        assert_eq!(all.map(|why| ApiError::from(why).code()), REPORT_REFUSAL_CODES);
    }

    #[test]
    fn a_reference_that_is_not_found_gets_a_hint() {
        let near = vec!["claude".to_owned()];
        let refused = ApiError::from(FindError::NotFound { reference: "cluade".into(), near });
        let problem = refused.problem();
        assert_eq!((refused.status(), problem.code.as_str()), (404, "not_found"));
        assert!(problem.detail.contains("claude"), "{problem:?}");
        assert!(problem.hint.unwrap().contains("ps -a"));
    }
}
