//! Gemini.

use serde_json::{Value, json};

use crate::wire::{Event, HELLO, Reply, Stream, Turn, error_message, id, list, shell_tool};

/// The answer to a request for content. Here the path selects whether it is a stream.
pub(crate) fn reply(path: &str, body: &Value, turn: Turn<'_>) -> Reply {
    let whole = json!({
        "candidates": [{
            "content": { "parts": [part(body, turn)], "role": "model" },
            "finishReason": "STOP",
            "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 7,
            "totalTokenCount": 18,
        },
        "modelVersion": "mock",
        "responseId": id("resp"),
    });
    if !path.contains(":streamGenerateContent") {
        return Reply::Whole(whole);
    }
    let mut begun = whole.clone();
    if let Some(candidate) = begun["candidates"][0].as_object_mut() {
        candidate.remove("finishReason");
    }
    // A last chunk may be without content of its own.
    let mut done = whole;
    done["candidates"][0]["content"]["parts"] = json!([{ "text": "" }]);
    Reply::Stream(Stream { begin: vec![Event::data(begun)], rest: vec![Event::data(done)] })
}

/// The one part of the content.
fn part(body: &Value, turn: Turn<'_>) -> Value {
    let words = match turn {
        Turn::Text(words) => words,
        Turn::Shell { command, .. } => match shell_tool(body, &["run_shell_command"]) {
            Some(tool) => {
                let args = json!({ "command": command, "description": "mock command" });
                return json!({ "functionCall": { "name": tool, "args": args } });
            }
            None => HELLO,
        },
    };
    let config = &body["generationConfig"];
    if config["responseJsonSchema"].is_null() && config["responseSchema"].is_null() {
        return json!({ "text": words });
    }
    // The CLI also asks which model to use and which side speaks next: this answers all of it.
    let answer = json!({
        "reasoning": "mock",
        "model_choice": "flash",
        "next_speaker": "user",
        "complexity_reasoning": "mock",
        "complexity_score": 1,
    });
    json!({ "text": answer.to_string() })
}

/// Whether the conversation has the result of a tool in it.
pub(crate) fn has_tool_result(body: &Value) -> bool {
    list(&body["contents"])
        .iter()
        .flat_map(|content| list(&content["parts"]))
        .any(|part| !part["functionResponse"].is_null())
}

/// The error shape.
pub(crate) fn error(status: u16) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        _ => "UNKNOWN",
    };
    json!({ "error": { "code": status, "message": error_message(status), "status": name } })
}
