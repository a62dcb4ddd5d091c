//! Shows the agent's activity while it works.

use std::io::Write as _;

use kennel_agents::AgentEvent;
use kennel_types::TokenUsage;
use serde::Serialize;

use super::outcome::used;
use crate::command_prelude::*;

/// The maximum length of a line about a tool or of the model's text.
const MAX_LINE: usize = 100;
/// How often the status line is redrawn.
const TICK: Duration = Duration::from_millis(200);
const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];

pub(super) struct Progress {
    format: ProgressFormat,
    started: Instant,
    ticked: Instant,
    turn: usize,
    usage: TokenUsage,
    /// Whether the status line is on the terminal.
    status: bool,
    error: Option<CommandError>,
    position: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressFormat {
    Hidden,
    /// Text on standard error, which is a terminal.
    Terminal,
    Json,
}

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
    Agent(&'a AgentEvent<'a>),
}

impl Progress {
    pub(super) fn new(format: ProgressFormat) -> Self {
        let now = Instant::now();
        Self {
            format,
            started: now,
            ticked: now,
            turn: 0,
            usage: TokenUsage::default(),
            status: false,
            error: None,
            position: None,
        }
    }

    pub(super) fn attempt(&mut self, session: &SessionView) {
        self.line(&ProgressEvent::Attempt { session: &session.id, attempt: session.attempt });
        if session.attempt > 1 {
            self.print(&format!("retrying, attempt {}", session.attempt));
        }
    }

    pub(super) fn queued(&mut self, session: &SessionView) {
        if self.position == session.queue_position {
            return;
        }
        self.position = session.queue_position;
        self.line(&ProgressEvent::Queued { session: &session.id, place: session.queue_position });
        if let Some(place) = session.queue_position {
            self.print(&format!("queued (position {place})"));
        }
    }

    pub(super) fn stopping(&mut self, now: bool) {
        self.print(if now { "killing" } else { "stopping; press Ctrl-C again to kill" });
    }

    pub(super) fn event(&mut self, event: &AgentEvent<'_>) {
        self.line(&ProgressEvent::Agent(event));
        match event {
            AgentEvent::Text { text } => {
                text.lines()
                    .filter(|line| !line.trim().is_empty())
                    .for_each(|line| self.print(line));
            }
            AgentEvent::ToolBegan { name, about, .. } => self.print(&format!("{name}: {about}")),
            AgentEvent::ToolEnded { failed: true, .. } => self.print("the tool failed"),
            AgentEvent::Usage { usage } => self.usage = *usage,
            AgentEvent::Retrying { why, .. } => {
                self.print(&format!("the agent is retrying: {why}"));
            }
            AgentEvent::Notice { text } => self.print(text),
            AgentEvent::Conversation { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolEnded { failed: false, .. } => {}
        }
    }

    /// Prints a line on the terminal.
    fn print(&mut self, text: &str) {
        if self.format != ProgressFormat::Terminal {
            return;
        }
        self.clear();
        let text = sanitize(text.lines().next().unwrap_or_default());
        let cut: String = text.chars().take(MAX_LINE).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        // Progress that can't be shown is no reason to fail.
        writeln!(std::io::stderr(), "  {cut}{more}").ok();
    }

    fn line(&mut self, line: &ProgressEvent<'_>) {
        if self.format == ProgressFormat::Json && self.error.is_none() {
            self.error = print::json_line(line).err();
        }
    }

    /// Redraws the status line if it is time to.
    pub(super) fn tick(&mut self) {
        if self.format != ProgressFormat::Terminal || self.ticked.elapsed() < TICK {
            return;
        }
        self.ticked = Instant::now();
        self.turn = (self.turn + 1) % SPINNER.len();
        let text = format!(
            "{} {} s{}",
            SPINNER[self.turn],
            self.started.elapsed().as_secs(),
            used(&self.usage).map(|text| format!(", {text}")).unwrap_or_default(),
        );
        write!(std::io::stderr(), "\r\x1b[2K{text}").ok();
        self.status = true;
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.status) {
            write!(std::io::stderr(), "\r\x1b[2K").ok();
        }
    }

    pub(super) fn printed(&mut self) -> Result<(), CommandError> {
        self.error.take().map_or(Ok(()), Err)
    }
}
