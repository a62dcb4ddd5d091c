//! Anthropic Messages.

use serde_json::{Value, json};

use crate::wire::{
    Event, HELLO, Reply, Stream, TOOL_LIMIT_MS, Turn, error_message, id, list, shell_tool,
    wants_stream,
};

/// The answer to a request for a message.
pub(crate) fn reply(body: &Value, turn: Turn<'_>) -> Reply {
    let (block, stop) = content(body, turn);
    let usage = json!({
        "input_tokens": 11,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 7,
    });
    let mut message = json!({
        "id": id("msg"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage,
    });
    if !wants_stream(body) {
        return Reply::Whole(message);
    }

    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let mut empty = block.clone();
    let delta = if block["type"] == "text" {
        empty["text"] = json!("");
        json!({ "type": "text_delta", "text": block["text"] })
    } else {
        empty["input"] = json!({});
        json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
    };
    Reply::Stream(Stream {
        begin: vec![
            event(json!({ "type": "message_start", "message": message })),
            event(json!({ "type": "content_block_start", "index": 0, "content_block": empty })),
            event(json!({ "type": "content_block_delta", "index": 0, "delta": delta })),
        ],
        rest: vec![
            event(json!({ "type": "content_block_stop", "index": 0 })),
            event(json!({
                "type": "message_delta",
                "delta": { "stop_reason": stop, "stop_sequence": null },
                "usage": usage,
            })),
            event(json!({ "type": "message_stop" })),
        ],
    })
}

/// The one block of content, and why the message ends after it.
fn content(body: &Value, turn: Turn<'_>) -> (Value, &'static str) {
    let text = |text: &str| (json!({ "type": "text", "text": text }), "end_turn");
    let (command, background) = match turn {
        Turn::Text(words) => return text(words),
        Turn::Shell { command, background } => (command, background),
    };
    let Some(tool) = shell_tool(body, &["Bash", "bash"]) else {
        return text(HELLO);
    };
    let mut input = json!({
        "command": command,
        "description": "mock command",
        "timeout": TOOL_LIMIT_MS,
    });
    if background {
        input["run_in_background"] = json!(true);
    }
    let block = json!({ "type": "tool_use", "id": id("toolu"), "name": tool, "input": input });
    (block, "tool_use")
}

/// An event, named after its type as all of them are.
fn event(data: Value) -> Event {
    Event::named(data["type"].as_str().unwrap_or_default(), &data)
}

/// Whether the conversation has the result of a tool in it.
pub(crate) fn has_tool_result(body: &Value) -> bool {
    list(&body["messages"])
        .iter()
        .flat_map(|message| list(&message["content"]))
        .any(|block| block["type"] == "tool_result")
}

/// The error shape.
pub(crate) fn error(status: u16) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({
        "type": "error",
        "error": { "type": kind, "message": error_message(status) },
        "request_id": id("req"),
    })
}
