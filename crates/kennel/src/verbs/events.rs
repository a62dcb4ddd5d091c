//! `kennel events`: shows the event log.

use kennel_types::EventView;

use crate::command_prelude::*;
use crate::timestamp::{self, parse_since};

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct EventsArgs {
    /// Keep showing new events
    #[arg(short, long)]
    follow: bool,
    /// Show only events after this number or time (10m for 10 minutes ago,
    /// 2026-01-31T12:00:00Z)
    #[arg(long, value_name = "SEQ|TIME", value_parser = parse_since_event)]
    since: Option<EventsSince>,
    /// Show only events of this session
    #[arg(long, value_name = "SESSION", value_parser = parse_session)]
    session: Option<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventsSince {
    /// After the event with this number.
    Number(u64),
    /// At this time in milliseconds since 1970.
    Time(u64),
}

/// Parses digits as a number, anything else as a time.
fn parse_since_event(text: &str) -> Result<EventsSince, String> {
    text.parse().map(EventsSince::Number).or_else(|_| parse_since(text).map(EventsSince::Time))
}

pub(crate) fn events(daemon: &DaemonClient, args: &EventsArgs) -> Result<u8, CommandError> {
    let color = ColorMode::of_stdout();
    let (mut since, moment) = match args.since {
        Some(EventsSince::Number(number)) => (Some(number), 0),
        Some(EventsSince::Time(moment)) => (None, moment),
        None => (None, 0),
    };
    let mut retry = DaemonRetry::new();
    loop {
        let lines = daemon.lines::<EventView>("GET", &target(args, since), None::<&()>);
        let lines = match lines {
            Ok(lines) => lines,
            // Nothing was printed yet.
            Err(error) if error.is_gone() => {
                daemon.retry(&mut retry, error)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for event in lines {
            match event {
                Ok(event) => {
                    since = Some(event.seq);
                    if timestamp::parse(&event.time).is_some_and(|at| at < moment) {
                        continue;
                    }
                    if args.json {
                        print::json_line(&event)?;
                    } else {
                        print(&format!("{}\n", line(&event, true, color)))?;
                    }
                }
                // The daemon went away in the middle of a line; the next one sends the rest.
                Err(_) if args.follow => break,
                Err(error) => return Err(RequestError::Lost(error).into()),
            }
        }
        if !args.follow {
            return Ok(0);
        }
        daemon.reconnect()?;
    }
}

fn target(args: &EventsArgs, since: Option<u64>) -> String {
    let mut target = format!("/v1/events?follow={}", args.follow);
    if let Some(since) = since {
        target += &format!("&since={since}");
    }
    if let Some(session) = &args.session {
        target += &format!("&session={}", escape(session));
    }
    target
}

/// Formats an event, optionally with its session.
pub(super) fn line(event: &EventView, with_session: bool, color: ColorMode) -> String {
    let style = match event.kind.as_str() {
        "running" | "daemon_started" => TextStyle::Good,
        "lost" | "still_alive" | "keeper_lost" | "launch_failed" => TextStyle::Bad,
        "cleaned" => TextStyle::Faint,
        _ => TextStyle::Plain,
    };
    let seq = color.paint(TextStyle::Faint, &format!("{:>6}", event.seq));
    let kind = color.paint(style, &format!("{:16}", event.kind));
    let mut line = format!("{seq}  {}", event.time);
    if with_session {
        line += &format!("  {:12}", event.session.as_deref().unwrap_or("-"));
    }
    line += &format!("  {kind}");
    if !event.cause.is_empty() {
        line += &format!("  {}", sanitize(&event.cause));
    }
    if let Some(by) = &event.by {
        line += &format!("  (by {})", sanitize(by));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> EventView {
        EventView {
            seq: 12,
            time: "2026-01-31T12:00:00.000Z".to_owned(),
            session: Some("0c3k5d9wq2fa".to_owned()),
            kind: "wanted_stopped".to_owned(),
            cause: "a\nb".to_owned(),
            by: Some("kennel stop".to_owned()),
        }
    }

    #[test]
    fn an_event_is_a_line() {
        assert_eq!(
            line(&event(), true, ColorMode::Plain),
            "    12  2026-01-31T12:00:00.000Z  0c3k5d9wq2fa  wanted_stopped    a\\nb  (by kennel stop)"
        );
        let plain = EventView { session: None, cause: String::new(), by: None, ..event() };
        assert_eq!(
            line(&plain, true, ColorMode::Plain),
            "    12  2026-01-31T12:00:00.000Z  -             wanted_stopped"
        );
    }

    #[test]
    fn since_is_a_number_or_a_time() {
        assert_eq!(parse_since_event("17"), Ok(EventsSince::Number(17)));
        assert_eq!(parse_since_event("1970-01-02"), Ok(EventsSince::Time(86_400_000)));
        assert!(matches!(parse_since_event("5m"), Ok(EventsSince::Time(_))));
        assert!(parse_since_event("soon").is_err());
    }

    #[test]
    fn the_request_contains_the_filters() {
        let args =
            EventsArgs { follow: true, since: None, session: Some("a.b".into()), json: false };
        assert_eq!(target(&args, Some(7)), "/v1/events?follow=true&since=7&session=a.b");
    }
}
