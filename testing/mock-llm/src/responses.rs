//! OpenAI Responses.

use serde_json::{Value, json};

use crate::wire::{
    Event, HELLO, Reply, Stream, TOOL_LIMIT_MS, Turn, id, list, now, shell_tool, wants_stream,
};

/// How long a command may run before the tool reports that it is still running, in milliseconds.
const YIELD_MS: u32 = 30_000;

/// The shell tools of codex under this API, the preferred one first.
const SHELL_TOOLS: &[&str] =
    &["exec_command", "shell_command", "shell", "local_shell", "bash", "exec"];

/// The answer to a request for a response.
pub(crate) fn reply(body: &Value, turn: Turn<'_>) -> Reply {
    let item = output(body, turn);
    let response = json!({
        "id": id("resp"),
        "object": "response",
        "created_at": now(),
        "status": "completed",
        "model": body["model"],
        "output": [item],
        "usage": {
            "input_tokens": 11,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 7,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": 18,
        },
        "error": null,
    });
    if wants_stream(body) {
        Reply::Stream(stream(&response, &item))
    } else {
        Reply::Whole(response)
    }
}

/// The one item of output.
fn output(body: &Value, turn: Turn<'_>) -> Value {
    match turn {
        Turn::Text(words) => message(words),
        Turn::Shell { command, .. } => match shell_tool(body, SHELL_TOOLS) {
            Some(tool) => call(tool, command),
            None => message(HELLO),
        },
    }
}

fn message(words: &str) -> Value {
    json!({
        "type": "message",
        "id": id("msg"),
        "role": "assistant",
        "status": "completed",
        "content": [{ "type": "output_text", "text": words, "annotations": [] }],
    })
}

fn call(tool: &str, command: &str) -> Value {
    let arguments = match tool {
        "exec_command" | "exec" => json!({ "cmd": command, "yield_time_ms": YIELD_MS }),
        "shell_command" => json!({ "command": command, "timeout_ms": TOOL_LIMIT_MS }),
        "shell" => json!({ "command": ["bash", "-lc", command], "timeout_ms": TOOL_LIMIT_MS }),
        _ => json!({
            "command": command,
            "description": "mock command",
            "timeout": TOOL_LIMIT_MS,
        }),
    };
    if tool == "exec" {
        // A tool that takes a script, which in turn calls the tool that runs commands.
        let script =
            format!("const r = await tools.exec_command({arguments}); text(JSON.stringify(r));");
        return json!({
            "type": "custom_tool_call",
            "id": id("ctc"),
            "call_id": id("call"),
            "name": tool,
            "input": script,
            "status": "completed",
        });
    }
    json!({
        "type": "function_call",
        "id": id("fc"),
        "call_id": id("call"),
        "name": tool,
        "arguments": arguments.to_string(),
        "status": "completed",
    })
}

/// The events that build up `response`, whose only output is `item`.
fn stream(response: &Value, item: &Value) -> Stream {
    let mut number = 0;
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(number);
        number += 1;
        Event::named(kind, &data)
    };
    let place = |more: Value| {
        let mut data = json!({ "item_id": item["id"], "output_index": 0 });
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    };

    let mut started = response.clone();
    started["status"] = json!("in_progress");
    started["output"] = json!([]);
    started["usage"] = Value::Null;
    let mut added = item.clone();
    added["status"] = json!("in_progress");
    match item["type"].as_str() {
        Some("message") => added["content"] = json!([]),
        Some("function_call") => added["arguments"] = json!(""),
        _ => {}
    }

    let mut begin = vec![
        event("response.created", json!({ "response": started })),
        event("response.output_item.added", json!({ "output_index": 0, "item": added })),
    ];
    let mut rest = Vec::new();
    match item["type"].as_str() {
        Some("message") => {
            let part = &item["content"][0];
            let mut empty = part.clone();
            empty["text"] = json!("");
            begin.push(event(
                "response.content_part.added",
                place(json!({ "content_index": 0, "part": empty })),
            ));
            begin.push(event(
                "response.output_text.delta",
                place(json!({ "content_index": 0, "delta": part["text"] })),
            ));
            rest.push(event(
                "response.output_text.done",
                place(json!({ "content_index": 0, "text": part["text"] })),
            ));
            rest.push(event(
                "response.content_part.done",
                place(json!({ "content_index": 0, "part": part })),
            ));
        }
        Some("function_call") => {
            rest.push(event(
                "response.function_call_arguments.delta",
                place(json!({ "delta": item["arguments"] })),
            ));
            rest.push(event(
                "response.function_call_arguments.done",
                place(json!({ "arguments": item["arguments"] })),
            ));
        }
        _ => {}
    }
    rest.push(event("response.output_item.done", json!({ "output_index": 0, "item": item })));
    rest.push(event("response.completed", json!({ "response": response })));
    Stream { begin, rest }
}

/// Whether the conversation has the result of a tool in it.
pub(crate) fn has_tool_result(body: &Value) -> bool {
    list(&body["input"])
        .iter()
        .filter_map(|item| item["type"].as_str())
        .any(|kind| kind.ends_with("call_output"))
}
