//! What the four protocols have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::commands::Commands;
use crate::scenario::Scenario;
use crate::{anthropic, chat, gemini, responses};

/// The text of an answer.
pub(crate) const HELLO: &str = "mock says hello";

/// The text after the result of the shell tool.
const TOOL_DONE: &str = "tool done";

/// The timeout for shell tools that take one, in milliseconds.
pub(crate) const TOOL_LIMIT_MS: u32 = 600_000;

/// Which call of which API a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Anthropic: a message.
    Anthropic,
    /// Anthropic: the number of tokens of a message.
    AnthropicCount,
    /// OpenAI: a response.
    Responses,
    /// OpenAI: a chat completion.
    Chat,
    /// Gemini: content, streamed or not.
    Gemini,
    /// Gemini: the number of tokens of some content.
    GeminiCount,
}

impl Kind {
    /// Which call a `POST` to this path is.
    pub(crate) fn of(path: &str) -> Option<Kind> {
        let path = path.split('?').next().unwrap_or_default();
        let ends = |end| path.ends_with(end);
        if ends("/messages") {
            Some(Kind::Anthropic)
        } else if ends("/count_tokens") {
            Some(Kind::AnthropicCount)
        } else if ends("/responses") {
            Some(Kind::Responses)
        } else if ends("/chat/completions") {
            Some(Kind::Chat)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Kind::Gemini)
        } else if ends(":countTokens") {
            Some(Kind::GeminiCount)
        } else {
            None
        }
    }

    /// A word for logs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Anthropic => "anthropic",
            Kind::AnthropicCount => "anthropic_count",
            Kind::Responses => "responses",
            Kind::Chat => "chat",
            Kind::Gemini => "gemini",
            Kind::GeminiCount => "gemini_count",
        }
    }

    /// Whether the call is only about numbers of tokens. Those are always answered.
    pub(crate) fn is_count(self) -> bool {
        matches!(self, Kind::AnthropicCount | Kind::GeminiCount)
    }

    /// The answer to `body`, a request to `path`.
    pub(crate) fn reply(self, path: &str, body: &Value, turn: Turn<'_>) -> Reply {
        match self {
            Kind::Anthropic => anthropic::reply(body, turn),
            Kind::AnthropicCount => Reply::Whole(json!({ "input_tokens": 42 })),
            Kind::Responses => responses::reply(body, turn),
            Kind::Chat => chat::reply(body, turn),
            Kind::Gemini => gemini::reply(path, body, turn),
            Kind::GeminiCount => Reply::Whole(json!({ "totalTokens": 42 })),
        }
    }

    /// Returns the body of an error response.
    pub(crate) fn error(self, status: u16) -> Value {
        match self {
            Kind::Anthropic | Kind::AnthropicCount => anthropic::error(status),
            Kind::Responses | Kind::Chat => openai_error(status),
            Kind::Gemini | Kind::GeminiCount => gemini::error(status),
        }
    }

    /// Whether `body` has the result of a tool in it.
    pub(crate) fn has_tool_result(self, body: &Value) -> bool {
        match self {
            Kind::Anthropic => anthropic::has_tool_result(body),
            Kind::Responses => responses::has_tool_result(body),
            Kind::Chat => chat::has_tool_result(body),
            Kind::Gemini => gemini::has_tool_result(body),
            Kind::AnthropicCount | Kind::GeminiCount => false,
        }
    }
}

/// What the model does next, independent of the protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn<'a> {
    /// It answers with text and ends.
    Text(&'a str),
    /// It wants a command to be run. A request that offers no shell tool gets [`HELLO`] instead:
    /// the CLIs also make calls on the side, for the title of a conversation and such.
    Shell { command: &'a str, background: bool },
}

impl<'a> Turn<'a> {
    /// Returns the next turn, or the name of an unknown command.
    pub(crate) fn next(
        scenario: &'a Scenario,
        commands: &'a Commands,
        has_tool_result: bool,
    ) -> Result<Self, &'a str> {
        match scenario {
            Scenario::Shell { .. } if has_tool_result => Ok(Turn::Text(TOOL_DONE)),
            Scenario::Shell { command: name, background } => match commands.get(name) {
                Some(command) => Ok(Turn::Shell { command, background: *background }),
                None => Err(name),
            },
            _ => Ok(Turn::Text(HELLO)),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) enum Reply {
    /// In one piece.
    Whole(Value),
    /// As server-sent events.
    Stream(Stream),
}

/// A streamed answer.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// What is sent in any case: up to and including the first piece of content.
    pub(crate) begin: Vec<Event>,
    /// What is left out of a stream that stalls or breaks off.
    pub(crate) rest: Vec<Event>,
}

/// One server-sent event.
#[derive(Debug)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
}

impl Event {
    /// An event with a name.
    pub(crate) fn named(name: &str, data: &Value) -> Self {
        Event { name: Some(name.to_owned()), data: data.to_string() }
    }

    /// An event that is only data.
    pub(crate) fn data(data: impl ToString) -> Self {
        Event { name: None, data: data.to_string() }
    }

    /// The event as it goes over the wire.
    pub(crate) fn text(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

/// The items of a list that may not be there.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether `body` asks for a stream.
pub(crate) fn wants_stream(body: &Value) -> bool {
    body["stream"] == true
}

/// The names of the tools that a request offers, in whichever protocol.
pub(crate) fn tool_names(body: &Value) -> Vec<&str> {
    let mut names = Vec::new();
    for tool in list(&body["tools"]) {
        let functions = list(&tool["functionDeclarations"]);
        let own = [&tool["name"], &tool["function"]["name"], &tool["type"]];
        names.extend(own.iter().find_map(|name| name.as_str()));
        names.extend(functions.iter().filter_map(|tool| tool["name"].as_str()));
    }
    names
}

/// The first of `known` that the request offers.
pub(crate) fn shell_tool<'a>(body: &Value, known: &[&'a str]) -> Option<&'a str> {
    let names = tool_names(body);
    known.iter().copied().find(|name| names.contains(name))
}

/// An id that no other answer has, from this process or an earlier one.
pub(crate) fn id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.unwrap_or_default().as_micros();
    format!("{prefix}_mock_{micros:x}{count:04x}")
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// The message of an error, in every protocol.
pub(crate) fn error_message(status: u16) -> String {
    match status {
        401 => "invalid x-api-key".to_owned(),
        429 => "This request would exceed your account's rate limit. Please try again later."
            .to_owned(),
        500 => "Internal server error".to_owned(),
        529 => "Overloaded".to_owned(),
        _ => format!("mock error {status}"),
    }
}

/// The error shape of both OpenAI protocols.
fn openai_error(status: u16) -> Value {
    let kind = match status {
        400 | 404 | 413 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        _ => "server_error",
    };
    let code = match status {
        401 => Some("invalid_api_key"),
        429 => Some("rate_limit_exceeded"),
        _ => None,
    };
    json!({
        "error": { "message": error_message(status), "type": kind, "param": null, "code": code },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_paths_to_calls() {
        let table = [
            ("/v1/messages?beta=true", Some(Kind::Anthropic)),
            ("/v1/messages/count_tokens", Some(Kind::AnthropicCount)),
            ("/v1/responses", Some(Kind::Responses)),
            ("/v1/chat/completions", Some(Kind::Chat)),
            ("/v1beta/models/m:streamGenerateContent?alt=sse", Some(Kind::Gemini)),
            ("/v1beta/models/m:generateContent", Some(Kind::Gemini)),
            ("/v1beta/models/m:countTokens", Some(Kind::GeminiCount)),
            ("/v1/embeddings", None),
        ];
        for (path, kind) in table {
            assert_eq!(Kind::of(path), kind, "{path}");
        }
    }

    #[test]
    fn tools_are_found_in_every_shape() {
        let body = json!({"tools": [
            {"name": "a", "type": "custom"},
            {"type": "function", "function": {"name": "b"}},
            {"type": "local_shell"},
            {"functionDeclarations": [{"name": "c"}, {"name": "d"}]},
        ]});
        assert_eq!(tool_names(&body), ["a", "b", "local_shell", "c", "d"]);
        assert_eq!(shell_tool(&body, &["x", "d", "a"]), Some("d"));
        assert_eq!(shell_tool(&json!({}), &["x"]), None);
    }
}
