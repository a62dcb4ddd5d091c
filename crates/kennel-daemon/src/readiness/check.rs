//! The check of readiness conditions, before anything is made.

use kennel_types::{Readiness, SessionSpec};

use super::http::Address;
use super::lines;
use crate::error::ApiError;

/// Checks whether the condition can be watched.
pub(crate) fn check(spec: &SessionSpec) -> Result<(), ApiError> {
    let wrong = |why: String| ApiError::invalid(format!("ready: {why}"));
    // It may not have come as text: a condition that can't be written as text is invalid.
    let text = spec.ready.to_string();
    match text.parse::<Readiness>() {
        Err(error) => return Err(wrong(error.to_string())),
        Ok(again) if again != spec.ready => {
            return Err(wrong(format!("invalid condition {text:?}")));
        }
        Ok(_) => {}
    }
    match &spec.ready {
        Readiness::Line { pattern } => drop(lines::compile(pattern).map_err(wrong)?),
        Readiness::Http { url } => drop(Address::parse(url).map_err(wrong)?),
        Readiness::Socket { path }
            if !path.starts_with('/') && spec.cwd.contains(char::REPLACEMENT_CHARACTER) =>
        {
            let why = format!("{path:?} is relative to a folder whose path is not UTF-8");
            return Err(wrong(why).hint("give the absolute path of the socket"));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(ready: Readiness) -> String {
        let spec = SessionSpec { ready, cwd: "/".into(), ..SessionSpec::default() };
        check(&spec).unwrap_err().problem().detail
    }

    #[test]
    fn refuses_an_invalid_condition_by_name() {
        let line = |pattern: &str| Readiness::Line { pattern: pattern.into() };
        let said = refusal(line("up("));
        assert!(said.contains("up(") && said.contains("unclosed group"), "{said}");
        assert!(!said.contains('\n'), "{said}");
        assert!(refusal(line("(a{1000}){1000}")).contains("too big"));
        assert!(refusal(line("a\nb")).contains("control"));
        assert!(refusal(line("")).contains("regular expression"));
        assert!(refusal(Readiness::Tcp { host: "h".into(), port: 0 }).contains("port"));
        assert!(refusal(Readiness::Socket { path: "a\0b".into() }).contains("control"));
        let http = |url: &str| Readiness::Http { url: url.into() };
        assert!(refusal(http("https://localhost/")).contains("no TLS"));
        assert!(refusal(http("http://me:secret@localhost/")).contains("password"));
        assert!(refusal(http("http://localhost:99999/")).contains("port"));
    }

    #[test]
    fn a_path_below_a_folder_that_is_not_utf8_must_be_absolute() {
        let ready = Readiness::Socket { path: "a.sock".into() };
        let cwd = "/\u{fffd}".to_owned();
        let mut spec = SessionSpec { ready, cwd, ..SessionSpec::default() };
        assert!(check(&spec).is_err());
        spec.ready = Readiness::Socket { path: "/a.sock".into() };
        assert!(check(&spec).is_ok());
    }
}
