//! The errors of the API: why a request is refused.

use kennel_core::report::Disbelief;
use kennel_core::{FindError, Refusal, RelaunchRefusal, RemoveError};
use kennel_types::api::Problem;
use tokio::sync::oneshot;

/// The sender of an answer. The client may be gone; that changes nothing.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, ApiError>>;

/// A refusal, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    kind: ApiErrorKind,
    message: String,
    hint: Option<String>,
}

/// The codes of refused reports.
pub(crate) const DISBELIEFS: [&str; 6] =
    ["no_token", "unknown_session", "spent", "too_early", "foreign", "unknown_token"];

/// The kinds of refusal. Their codes are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiErrorKind {
    NotFound,
    Ambiguous,
    Conflict,
    Refused,
    Invalid,
    /// The request is not valid HTTP.
    Malformed,
    /// The path exists, but not with this method.
    Method,
    TooLarge,
    Busy,
    Gone,
    Internal,
    /// The client is not authenticated.
    Unauthorized,
    /// The client may not do this.
    Forbidden,
    /// There were too many requests.
    TooMany,
    /// The request is for another server.
    Misdirected,
    /// A report is refused for this reason.
    Disbelief(&'static str),
}

impl ApiErrorKind {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Ambiguous => "ambiguous",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Malformed => "malformed",
            Self::Method => "method_not_allowed",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::Gone => "gone",
            Self::Internal => "internal",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::TooMany => "too_many",
            Self::Misdirected => "misdirected",
            Self::Disbelief(code) => code,
        }
    }

    /// In words, for people.
    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Ambiguous => "More than one is meant",
            Self::Conflict => "Not as things are now",
            Self::Refused => "Nothing new is taken",
            Self::Invalid => "The request makes no sense",
            Self::Malformed => "The request can't be read",
            Self::Method => "Not by this method",
            Self::TooLarge => "The request is too large",
            Self::Busy => "Not just now",
            Self::Gone => "The daemon is leaving",
            Self::Internal => "A fault in Kennel",
            Self::Unauthorized => "Nobody is let in without a token",
            Self::Forbidden => "This is not for you",
            Self::TooMany => "Too many at once",
            Self::Misdirected => "This is another host",
            Self::Disbelief(_) => "The report is not believed",
        }
    }

    pub(crate) fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Ambiguous | Self::Conflict => 409,
            Self::Invalid => 422,
            Self::Malformed => 400,
            Self::Method => 405,
            Self::TooLarge => 413,
            Self::Refused | Self::Busy | Self::Gone => 503,
            Self::Internal => 500,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::Disbelief(_) => 403,
            Self::Misdirected => 421,
            Self::TooMany => 429,
        }
    }
}

impl ApiError {
    pub(crate) fn new(kind: ApiErrorKind, message: impl ToString) -> Self {
        Self { kind, message: message.to_string(), hint: None }
    }

    pub(crate) fn invalid(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Invalid, message)
    }

    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::NotFound, message)
    }

    pub(crate) fn conflict(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Conflict, message)
    }

    pub(crate) fn busy(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Busy, message)
    }

    pub(crate) fn internal(message: impl ToString) -> Self {
        Self::new(ApiErrorKind::Internal, message)
    }

    /// The daemon is on its way out.
    pub(crate) fn leaving() -> Self {
        Self::new(ApiErrorKind::Refused, "the daemon is being stopped, and takes nothing new")
    }

    /// The daemon has left, and only its socket is still there.
    pub(crate) fn gone() -> Self {
        Self::new(ApiErrorKind::Gone, "the daemon is just leaving")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Its code, as programs know it.
    pub(crate) fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Whether it is a report that was not believed.
    pub(crate) fn is_disbelief(&self) -> bool {
        matches!(self.kind, ApiErrorKind::Disbelief(_))
    }

    pub(crate) fn status(&self) -> u16 {
        self.kind.status()
    }

    pub(crate) fn problem(&self) -> Problem {
        let code = self.kind.code();
        Problem {
            kind: format!("urn:kennel:{code}"),
            title: self.kind.title().to_owned(),
            status: self.status(),
            detail: self.message.clone(),
            code: code.to_owned(),
            hint: self.hint.clone(),
        }
    }
}

impl From<FindError> for ApiError {
    fn from(error: FindError) -> Self {
        let kind = match error {
            FindError::NotFound { .. } => ApiErrorKind::NotFound,
            FindError::Ambiguous { .. } => ApiErrorKind::Ambiguous,
        };
        let refused = Self::new(kind, &error);
        match error {
            FindError::NotFound { .. } => refused.hint("`kennel ps -a` lists all sessions"),
            FindError::Ambiguous { .. } => refused.hint("give more characters of the id"),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Draining => Self::leaving(),
            Refusal::IdTaken(_) => Self::internal(refusal),
            Refusal::NameTaken { .. } => {
                Self::conflict(refusal).hint("choose another name, or stop that session first")
            }
            Refusal::KeyTaken { .. } => Self::conflict(refusal),
            Refusal::ParentUnknown(_) => Self::invalid(refusal),
            Refusal::ParentEnded(_) => Self::conflict(refusal),
        }
    }
}

impl From<RelaunchRefusal> for ApiError {
    fn from(refusal: RelaunchRefusal) -> Self {
        match refusal {
            RelaunchRefusal::Unknown(_) => Self::new(ApiErrorKind::NotFound, refusal),
            RelaunchRefusal::Lost(_)
            | RelaunchRefusal::Forgotten(_)
            | RelaunchRefusal::Prompt(_)
            | RelaunchRefusal::Chat(_)
            | RelaunchRefusal::NotLaunched(_)
            | RelaunchRefusal::CalledOff(_) => Self::conflict(refusal),
            RelaunchRefusal::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<Disbelief> for ApiError {
    fn from(why: Disbelief) -> Self {
        let code = match &why {
            Disbelief::NoToken => "no_token",
            Disbelief::UnknownSession(_) => "unknown_session",
            Disbelief::Spent { .. } => "spent",
            Disbelief::TooEarly { .. } => "too_early",
            Disbelief::Foreign(_) => "foreign",
            Disbelief::UnknownToken => "unknown_token",
        };
        Self::new(ApiErrorKind::Disbelief(code), why)
    }
}

impl From<RemoveError> for ApiError {
    fn from(error: RemoveError) -> Self {
        match error {
            RemoveError::Unknown(_) => Self::new(ApiErrorKind::NotFound, error),
            RemoveError::Live(_) => Self::conflict(error)
                .hint("stop it first (`kennel stop`); `kennel rm -f` kills and removes it"),
            RemoveError::RelaunchPending(_) => Self::conflict(error).hint("stop it first"),
            RemoveError::Latest(_) => Self::conflict(error),
            RemoveError::Unrecorded(_) => Self::conflict(error).hint("try again in a moment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_of_its_own_and_a_status() {
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
        let told = kinds.map(|kind| (kind.code(), kind.status()));
        assert_eq!(
            told,
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
    fn every_disbelief_has_a_code_that_is_listed() {
        let launch = kennel_types::IdMaker::default().next(0, 1);
        let name = String::new;
        let all = [
            Disbelief::NoToken,
            Disbelief::UnknownSession(name()),
            Disbelief::Spent { launch: launch.clone() },
            Disbelief::TooEarly { launch },
            Disbelief::Foreign(name()),
            Disbelief::UnknownToken,
        ];
        assert_eq!(all.map(|why| super::ApiError::from(why).code()), DISBELIEFS);
    }

    #[test]
    fn who_is_not_found_is_told_where_to_look() {
        let near = vec!["claude".to_owned()];
        let refused =
            super::ApiError::from(FindError::NotFound { reference: "cluade".into(), near });
        let problem = refused.problem();
        assert_eq!((refused.status(), problem.code.as_str()), (404, "not_found"));
        assert!(problem.detail.contains("claude"), "{problem:?}");
        assert!(problem.hint.unwrap().contains("ps -a"));
    }
}
