//! OpenAI chat completions.

use serde_json::{Value, json};

use crate::wire::{
    Event, HELLO, Reply, Stream, TOOL_LIMIT_MS, Turn, id, list, now, shell_tool, wants_stream,
};

/// The answer to a request for a completion.
pub(crate) fn reply(body: &Value, turn: Turn<'_>) -> Reply {
    let (mut message, finish) = message(body, turn);
    let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
    let id = id("chatcmpl");
    let completion = |object: &str, choices: Value| {
        json!({
            "id": id,
            "object": object,
            "created": now(),
            "model": body["model"],
            "choices": choices,
        })
    };
    if !wants_stream(body) {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        let mut whole = completion("chat.completion", json!([choice]));
        whole["usage"] = usage;
        return Reply::Whole(whole);
    }

    let chunk = |choices: Value| completion("chat.completion.chunk", choices);
    if !message["tool_calls"].is_null() {
        message["tool_calls"][0]["index"] = json!(0);
    }
    let first = json!({ "index": 0, "delta": message, "finish_reason": null });
    let last = json!({ "index": 0, "delta": {}, "finish_reason": finish });
    let mut total = chunk(json!([]));
    total["usage"] = usage;
    Reply::Stream(Stream {
        begin: vec![Event::data(chunk(json!([first])))],
        rest: vec![Event::data(chunk(json!([last]))), Event::data(total), Event::data("[DONE]")],
    })
}

/// The assistant's message, and why it ends there.
fn message(body: &Value, turn: Turn<'_>) -> (Value, &'static str) {
    let text = |text: &str| (json!({ "role": "assistant", "content": text }), "stop");
    let command = match turn {
        Turn::Text(words) => return text(words),
        Turn::Shell { command, .. } => command,
    };
    let Some(tool) = shell_tool(body, &["bash", "Bash", "shell"]) else {
        return text(HELLO);
    };
    let arguments = json!({
        "command": command,
        "description": "mock command",
        "timeout": TOOL_LIMIT_MS,
    });
    let call = json!({
        "id": id("call"),
        "type": "function",
        "function": { "name": tool, "arguments": arguments.to_string() },
    });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    (message, "tool_calls")
}

/// Whether the conversation has the result of a tool in it.
pub(crate) fn has_tool_result(body: &Value) -> bool {
    list(&body["messages"]).iter().any(|message| message["role"] == "tool")
}
