//! Classifies error texts. It is used only for texts that report an error, never for an answer.

use std::time::Duration;

use kennel_types::VerdictKind;

/// Returns the verdict for a provider's HTTP status.
pub(crate) fn by_status(status: u64, text: &str) -> Option<VerdictKind> {
    match status {
        401 | 403 => Some(VerdictKind::Auth),
        429 => Some(VerdictKind::RateLimited),
        529 => Some(VerdictKind::Overloaded),
        // Some providers use it for overload, others for failures.
        503 if contains_any(&text.to_lowercase(), OVERLOAD_TEXTS) => Some(VerdictKind::Overloaded),
        408 | 500..=599 => Some(VerdictKind::Server),
        _ => None,
    }
}

const OVERLOAD_TEXTS: &str = "overloaded|at capacity|high demand|try again later";

/// Texts by kind of error, in lower case, with a bar between two texts. The first match counts, so
/// the more specific ones come first.
const ERROR_TEXTS: [(VerdictKind, &str); 5] = [
    (
        VerdictKind::Auth,
        "invalid api key|invalid x-api-key|api key not valid|api_key_invalid|missing api key|\
         failed to authenticate|authentication_error|authentication_failed|\
         authentication failed|unauthenticated|unauthorized|permission_denied|not logged in|\
         please run /login|please log in|please sign in|oauth token has expired|refresh token|\
         set an auth method|missing environment variable",
    ),
    (VerdictKind::Overloaded, "overloaded|at capacity"),
    (
        VerdictKind::RateLimited,
        "rate limit|rate_limit|ratelimit|too many requests|usage limit|hit your limit|\
         limit reached|resource_exhausted|quota exceeded|exceeded your quota|\
         exceeded your current quota|exhausted your",
    ),
    (
        VerdictKind::Server,
        "internal server error|experiencing high demand|bad gateway|service unavailable|\
         gateway timeout|server_error|server error",
    ),
    (
        VerdictKind::Unreachable,
        "unable to connect|cannot connect|connection refused|connectionrefused|\
         connection failed|connection error|econnrefused|econnreset|enotfound|etimedout|\
         ehostunreach|enetunreach|eai_again|fetch failed|network error|socket hang up|\
         error sending request|stream disconnected|waiting for network|\
         failed to lookup address|could not resolve|request timed out",
    ),
];

fn contains_any(text: &str, patterns: &str) -> bool {
    patterns.split('|').any(|pattern| text.contains(pattern))
}

/// Returns the verdict for an error text, if the text is known.
pub(crate) fn by_text(text: &str) -> Option<VerdictKind> {
    if let Some(kind) = status_in(text).and_then(|status| by_status(status, text)) {
        return Some(kind);
    }
    let text = text.to_lowercase();
    ERROR_TEXTS.iter().find(|(_, texts)| contains_any(&text, texts)).map(|(kind, _)| *kind)
}

/// The texts before an HTTP status in the error messages of the agents.
const STATUS_PREFIXES: &[&str] =
    &["status ", "status: ", "status code ", "API Error: ", "Repeated ", "(", "\"code\":", "HTTP "];

/// Finds the HTTP status in an error text.
pub(crate) fn status_in(text: &str) -> Option<u64> {
    STATUS_PREFIXES.iter().find_map(|prefix| {
        text.match_indices(prefix).find_map(|(at, _)| {
            let rest = text[at + prefix.len()..].trim_start();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let status = rest[..digits].parse().ok()?;
            (digits == 3 && (400..600).contains(&status)).then_some(status)
        })
    })
}

/// The texts before a retry delay, in lower case.
const DELAY_PREFIXES: &[&str] = &[
    "try again in ",
    "retry in ",
    "retry after ",
    "retry-after: ",
    "\"retry-after\":",
    "retrydelay\":",
    "retrydelay\\\":",
];

/// The maximum retry delay; a longer one is shortened to it.
const MAX_DELAY: Duration = Duration::from_secs(7 * 24 * 3600);

/// Finds the retry delay in an error text.
pub(crate) fn retry_delay(text: &str) -> Option<Duration> {
    let text = text.to_lowercase();
    DELAY_PREFIXES.iter().find_map(|prefix| {
        let at = text.find(prefix)? + prefix.len();
        parse_delay(text[at..].trim_start_matches([' ', '"', '\\']))
    })
}

/// Parses `11.054s`, `1m30s`, `20 seconds`, `7`.
fn parse_delay(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    let mut any = false;
    loop {
        let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else { break };
        let behind = rest[digits..].trim_start();
        let unit = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (scale, known) = match &behind[..unit] {
            "ms" | "milliseconds" => (0.001, true),
            "s" | "sec" | "secs" | "second" | "seconds" => (1.0, true),
            "m" | "min" | "mins" | "minute" | "minutes" => (60.0, true),
            "h" | "hour" | "hours" => (3600.0, true),
            _ => (1.0, false),
        };
        seconds += number * scale;
        any = true;
        if !known {
            break;
        }
        rest = &behind[unit..];
    }
    let delay = Duration::try_from_secs_f64(seconds).ok()?;
    any.then(|| delay.min(MAX_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_status_in_the_texts_of_agents() {
        for (text, status) in [
            ("API Error: 500 Internal server error. This is", Some(500)),
            ("API Error: Repeated 529 Overloaded errors. The API", Some(529)),
            ("API Error: Request rejected (429) · This request", Some(429)),
            (
                "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:500/",
                Some(401),
            ),
            ("exceeded retry limit, last status: 429 Too Many Requests", Some(429)),
            ("{\"error\":{\"code\":503,\"message\":\"x\"}}", Some(503)),
            ("API Error: Unable to connect to API (ConnectionRefused)", None),
            ("status 4290", None),
            ("(127.0.0.1:18080)", None),
            ("", None),
        ] {
            assert_eq!(status_in(text), status, "{text}");
        }
    }

    #[test]
    fn classifies_error_texts() {
        use VerdictKind as Kind;
        for (text, kind) in [
            ("Invalid API key · Fix external API key", Some(Kind::Auth)),
            ("Failed to authenticate. API Error: 403 mock error 403", Some(Kind::Auth)),
            (
                "API Error: Repeated 529 Overloaded errors. The API is at capacity",
                Some(Kind::Overloaded),
            ),
            ("API Error: Request rejected (429) · This request would", Some(Kind::RateLimited)),
            ("You've hit your limit · resets 3pm", Some(Kind::RateLimited)),
            (
                "We’re currently experiencing high demand, which may cause temporary errors.",
                Some(Kind::Server),
            ),
            ("unexpected status 503 Service Unavailable: mock error 503, url", Some(Kind::Server)),
            (
                "unexpected status 503 Service Unavailable: the model is overloaded",
                Some(Kind::Overloaded),
            ),
            ("API Error: Unable to connect to API (ConnectionRefused)", Some(Kind::Unreachable)),
            ("exception TypeError: fetch failed sending request", Some(Kind::Unreachable)),
            (
                "stream disconnected before completion: Transport error: network error",
                Some(Kind::Unreachable),
            ),
            ("API Error: 400 mock error 400", None),
            ("an unknown text", None),
        ] {
            assert_eq!(by_text(text), kind, "{text}");
        }
    }

    #[test]
    fn parses_every_form_of_a_delay() {
        let millis = |text| retry_delay(text).map(|delay| delay.as_millis());
        assert_eq!(millis("Rate limit reached. Please try again in 11.054s. Visit"), Some(11_054));
        assert_eq!(millis("try again in 1m30s"), Some(90_000));
        assert_eq!(millis("Please retry in 250ms"), Some(250));
        assert_eq!(millis("Retry after 20 seconds"), Some(20_000));
        assert_eq!(millis("{\"Retry-After\":\"7\"}"), Some(7_000));
        assert_eq!(millis("\"retryDelay\": \"37s\""), Some(37_000));
        assert_eq!(millis("try again in a moment"), None);
        assert_eq!(millis("try again in 99999999999999999999999999h"), None);
        assert_eq!(millis("retry after 99999h"), Some(MAX_DELAY.as_millis()));
        assert_eq!(millis("nothing"), None);
    }
}
