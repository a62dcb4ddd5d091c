//! `kennel events`: what happened, from the event log.

use clap::Args;
use kennel_core::EventView;

use crate::connect::{AskError, Daemon, Start, escape};
use crate::exit_code;
use crate::failure::Failure;
use crate::home::Home;
use crate::moment::{self, parse_since};
use crate::print::{self, Ink, Tone, print, tame};
use crate::quantity::parse_session;

/// The flags of `kennel events`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct EventsArgs {
    /// Go on: show events as they happen
    #[arg(short, long)]
    follow: bool,
    /// Only those after the one with this number, or since then: 10m (ago),
    /// 2026-01-31T12:00:00Z
    #[arg(long, value_name = "SEQ|TIME", value_parser = parse_beginning)]
    since: Option<Beginning>,
    /// Only those of this session
    #[arg(long, value_name = "SESSION", value_parser = parse_session)]
    session: Option<String>,
    /// Print JSON, for programs: one object a line
    #[arg(long)]
    json: bool,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// After the event with this number.
    Number(u64),
    /// At this moment: milliseconds since 1970.
    Moment(u64),
}

/// Digits alone are a number.
fn parse_beginning(text: &str) -> Result<Beginning, String> {
    text.parse().map(Beginning::Number).or_else(|_| parse_since(text).map(Beginning::Moment))
}

/// How often a daemon may vanish before it has answered.
const MOST_LOSSES: u32 = 50;

/// Shows events.
pub(crate) fn events(home: &Home, args: &EventsArgs) -> Result<u8, Failure> {
    let daemon = Daemon::connect(home, Start::IfNeeded)?;
    let ink = Ink::of_stdout();
    let (mut since, moment) = match args.since {
        Some(Beginning::Number(number)) => (Some(number), 0),
        Some(Beginning::Moment(moment)) => (None, moment),
        None => (None, 0),
    };
    let mut losses = 0;
    loop {
        let lines = daemon.lines::<EventView>("GET", &target(args, since), None::<&()>);
        let lines = match lines {
            Ok(lines) => lines,
            // Nothing was shown yet.
            Err(error) if error.is_gone() && (args.follow || losses < MOST_LOSSES) => {
                losses += 1;
                daemon.find_again_later()?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for event in lines {
            match event {
                Ok(event) => {
                    since = Some(event.seq);
                    if moment::parse(&event.time).is_some_and(|at| at < moment) {
                        continue;
                    }
                    if args.json {
                        print::json_line(&event)?;
                    } else {
                        print(&format!("{}\n", line(&event, true, ink)))?;
                    }
                }
                // The daemon went away in the middle of a line; the next one knows the rest.
                Err(_) if args.follow => break,
                Err(error) => return Err(AskError::Lost(error).into()),
            }
        }
        if !args.follow {
            return Ok(0);
        }
        daemon.find_again()?;
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

/// An event, for people; with its session, unless that is known.
pub(super) fn line(event: &EventView, with_session: bool, ink: Ink) -> String {
    let tone = match event.kind.as_str() {
        "running" | "daemon_started" => Tone::Good,
        "lost" | "still_alive" | "keeper_lost" | "launch_failed" => Tone::Bad,
        "cleaned" => Tone::Faint,
        _ => Tone::Plain,
    };
    let seq = ink.paint(Tone::Faint, &format!("{:>6}", event.seq));
    let kind = ink.paint(tone, &format!("{:16}", event.kind));
    let mut line = format!("{seq}  {}", event.time);
    if with_session {
        line += &format!("  {:12}", event.session.as_deref().unwrap_or("-"));
    }
    line += &format!("  {kind}");
    if !event.cause.is_empty() {
        line += &format!("  {}", tame(&event.cause));
    }
    if let Some(by) = &event.by {
        line += &format!("  (by {})", tame(by));
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
            line(&event(), true, Ink::Plain),
            "    12  2026-01-31T12:00:00.000Z  0c3k5d9wq2fa  wanted_stopped    a\\nb  (by kennel stop)"
        );
        let plain = EventView { session: None, cause: String::new(), by: None, ..event() };
        assert_eq!(
            line(&plain, true, Ink::Plain),
            "    12  2026-01-31T12:00:00.000Z  -             wanted_stopped"
        );
    }

    #[test]
    fn a_beginning_is_a_number_or_a_moment() {
        assert_eq!(parse_beginning("17"), Ok(Beginning::Number(17)));
        assert_eq!(parse_beginning("1970-01-02"), Ok(Beginning::Moment(86_400_000)));
        assert!(matches!(parse_beginning("5m"), Ok(Beginning::Moment(_))));
        assert!(parse_beginning("soon").is_err());
    }

    #[test]
    fn the_question_names_what_was_asked() {
        let args =
            EventsArgs { follow: true, since: None, session: Some("a.b".into()), json: false };
        assert_eq!(target(&args, Some(7)), "/v1/events?follow=true&since=7&session=a.b");
    }
}
