//! Showing what an agent does, while it does it.

use std::io::Write as _;
use std::time::{Duration, Instant};

use kennel_agents::{Doing, Happening};
use kennel_types::{SessionView, Usage};
use serde::Serialize;

use super::outcome::{dollars, tokens};
use crate::command_error::CommandError;
use crate::print::{self, sanitize};

/// The longest text of a line that is shown of a tool or of the model's words.
const WIDEST: usize = 100;
/// How often the line that tells how it goes is written anew.
const TICK: Duration = Duration::from_millis(200);
/// What moves as long as it goes on.
const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];

/// Who is shown what happens.
pub(super) struct Progress {
    form: ProgressFormat,
    begun: Instant,
    ticked: Instant,
    turn: usize,
    usage: Usage,
    /// Whether the line that tells how it goes stands on the terminal.
    status: bool,
    /// A line of the model's words that has not ended yet.
    line: String,
    failure: Option<CommandError>,
    place: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressFormat {
    Nothing,
    /// On standard error, which is a terminal.
    People,
    /// On standard output, for programs.
    Lines,
}

/// What happened, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
enum ProgressEvent<'a> {
    Attempt {
        session: &'a str,
        attempt: u32,
    },
    Queued {
        session: &'a str,
        place: Option<u64>,
    },
    #[serde(untagged)]
    Doing(Doing<'a>),
}

impl Progress {
    fn new(form: ProgressFormat) -> Self {
        let now = Instant::now();
        Self {
            form,
            begun: now,
            ticked: now,
            turn: 0,
            usage: Usage::default(),
            status: false,
            line: String::new(),
            failure: None,
            place: None,
        }
    }

    pub(super) fn nothing() -> Self {
        Self::new(ProgressFormat::Nothing)
    }

    pub(super) fn people() -> Self {
        Self::new(ProgressFormat::People)
    }

    pub(super) fn lines() -> Self {
        Self::new(ProgressFormat::Lines)
    }

    /// An attempt begins.
    pub(super) fn attempt(&mut self, session: &SessionView) {
        self.line(&ProgressEvent::Attempt { session: &session.id, attempt: session.attempt });
        if session.attempt > 1 {
            self.say(&format!("asking again, attempt {}", session.attempt));
        }
    }

    /// It waits in line.
    pub(super) fn queued(&mut self, session: &SessionView) {
        if self.place == session.queue_place {
            return;
        }
        self.place = session.queue_place;
        self.line(&ProgressEvent::Queued { session: &session.id, place: session.queue_place });
        if let Some(place) = session.queue_place {
            self.say(&format!("waits, number {place} in line"));
        }
    }

    pub(super) fn stopping(&mut self, now: bool) {
        self.say(if now { "killing it" } else { "stopping it; once more kills it" });
    }

    /// Something happened.
    pub(super) fn happening(&mut self, happening: &Happening<'_>) {
        self.line(&ProgressEvent::Doing(happening.into()));
        match happening {
            Happening::Text(text) => self.words(text),
            Happening::ToolBegan { name, about, .. } => self.say(&format!("{name}: {about}")),
            Happening::ToolEnded { failed: true, .. } => self.say("the tool failed"),
            Happening::Usage(usage) => self.usage = *usage,
            Happening::Retrying { why, .. } => {
                self.say(&format!("the agent tries again by itself: {why}"));
            }
            Happening::Notice(text) => self.say(text),
            Happening::Conversation(_)
            | Happening::Thinking(_)
            | Happening::ToolEnded { failed: false, .. } => {}
        }
    }

    /// The model's words, a line at a time.
    fn words(&mut self, text: &str) {
        if self.form != ProgressFormat::People {
            return;
        }
        self.line.push_str(text);
        if !self.line.ends_with('\n') {
            self.line.push('\n');
        }
        for line in std::mem::take(&mut self.line).lines().filter(|line| !line.trim().is_empty()) {
            self.say(line);
        }
    }

    /// A line for people.
    fn say(&mut self, text: &str) {
        if self.form != ProgressFormat::People {
            return;
        }
        self.wipe();
        let text = sanitize(text.lines().next().unwrap_or_default());
        let cut: String = text.chars().take(WIDEST).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        // Whoever can't be shown anything misses only this.
        writeln!(std::io::stderr(), "  {cut}{more}").ok();
    }

    fn line(&mut self, line: &ProgressEvent<'_>) {
        if self.form == ProgressFormat::Lines && self.failure.is_none() {
            self.failure = print::json_line(line).err();
        }
    }

    /// How it goes, now and then.
    pub(super) fn tick(&mut self) {
        if self.form != ProgressFormat::People || self.ticked.elapsed() < TICK {
            return;
        }
        self.ticked = Instant::now();
        self.turn = (self.turn + 1) % SPINNER.len();
        let text = format!(
            "{} {} s{}{}",
            SPINNER[self.turn],
            self.begun.elapsed().as_secs(),
            tokens(&self.usage).map(|text| format!(", {text}")).unwrap_or_default(),
            dollars(&self.usage).map(|text| format!(", {text}")).unwrap_or_default(),
        );
        write!(std::io::stderr(), "\r\x1b[2K{text}").ok();
        self.status = true;
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.status) {
            write!(std::io::stderr(), "\r\x1b[2K").ok();
        }
    }

    /// Whether what was to be printed could be.
    pub(super) fn printed(&mut self) -> Result<(), CommandError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// It is over.
    pub(super) fn end(&mut self) {
        self.wipe();
    }
}
