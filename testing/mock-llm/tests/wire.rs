//! The server as its clients see it, over plain sockets.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mock_llm::{Commands, Kind, Server};
use serde_json::{Value, json};

/// A connection to the mock.
struct Client(BufReader<TcpStream>);

/// An answer, its body put together from its chunks.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Client {
    fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).unwrap();
        Client(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn post(&mut self, target: &str, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        self.send(&format!(
            "POST {target} HTTP/1.1\r\nhost: mock\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    fn head(&mut self) -> io::Result<(u16, String)> {
        let mut head = String::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Ok((status, head));
            }
            head += &(line.to_ascii_lowercase() + "\n");
        }
    }

    /// One chunk; the last one is empty.
    fn chunk(&mut self) -> io::Result<String> {
        let size = usize::from_str_radix(&self.line()?, 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk)?;
        chunk.truncate(size);
        Ok(String::from_utf8(chunk).unwrap())
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let (status, head) = self.head()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = String::new();
        match length {
            Some(length) => {
                let mut bytes = vec![0; length.parse().unwrap()];
                self.0.read_exact(&mut bytes)?;
                body = String::from_utf8(bytes).unwrap();
            }
            None => loop {
                let chunk = self.chunk()?;
                if chunk.is_empty() {
                    break;
                }
                body += &chunk;
            },
        }
        Ok(Answer { status, head, body })
    }

    /// Whether the server has closed the connection.
    fn is_closed(&mut self) -> bool {
        matches!(self.0.fill_buf(), Ok(bytes) if bytes.is_empty())
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of each server-sent event that is JSON.
    fn events(&self) -> Vec<Value> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }
}

fn server() -> Server {
    Server::start([("mine", "echo \"quoted\"")]).unwrap()
}

fn post(server: &Server, target: &str, body: &Value) -> Answer {
    let mut client = Client::new(server);
    client.post(target, body);
    client.answer().unwrap()
}

#[test]
fn anthropic() {
    let server = server();
    let target = "/s/bash:mine@t/v1/messages?beta=true";
    let mut body = json!({
        "model": "m",
        "stream": true,
        "messages": [{ "role": "user", "content": "x" }],
        "tools": [{ "name": "Read" }, { "name": "Bash" }],
    });
    let answer = post(&server, target, &body);
    assert!(answer.body.starts_with("event: message_start\ndata: {"));
    let events = answer.events();
    assert_eq!(events[1]["content_block"]["name"], "Bash");
    assert_eq!(events[1]["content_block"]["input"], json!({}));
    let input = events[2]["delta"]["partial_json"].as_str().unwrap();
    let input: Value = serde_json::from_str(input).unwrap();
    assert_eq!(input["command"], "echo \"quoted\"");
    assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[5]["type"], "message_stop");

    body["messages"] = json!([{ "role": "user", "content": [{ "type": "tool_result" }] }]);
    body["stream"] = json!(false);
    let message = post(&server, target, &body).json();
    assert_eq!(message["content"][0]["text"], "tool done");
    assert_eq!(message["stop_reason"], "end_turn");

    body["messages"] = json!([]);
    let message = post(&server, "/s/bashbg:mine/v1/messages", &body).json();
    assert_eq!(message["content"][0]["input"]["run_in_background"], true);

    body["tools"] = json!([]);
    let message = post(&server, target, &body).json();
    assert_eq!(message["content"][0]["text"], "mock says hello");

    let count = post(&server, "/s/hang/v1/messages/count_tokens", &body);
    assert_eq!(count.json()["input_tokens"], 42);

    let failed = post(&server, "/s/err:529:ra3/v1/messages", &body);
    assert_eq!(failed.status, 529);
    assert!(failed.head.contains("retry-after: 3\n"));
    assert_eq!(failed.json()["error"]["type"], "overloaded_error");

    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, "/v1/messages?beta=true");
    assert_eq!(requests[0].scenario, "bash:mine@t");
    assert_eq!(requests[0].kind, Some(Kind::Anthropic));
    assert_eq!(requests[0].status, Some(200));
    assert_eq!(requests[0].tools, ["Read", "Bash"]);
    assert_eq!(requests[5].status, Some(529));
}

#[test]
fn responses() {
    let server = server();
    let target = "/s/bash:mine/v1/responses";
    let mut body = json!({
        "model": "m",
        "stream": true,
        "input": "x",
        "tools": [{ "type": "function", "name": "exec_command" }],
    });
    let events = post(&server, target, &body).events();
    let kinds: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    assert_eq!(events[5]["sequence_number"], 5);
    let item = &events[4]["item"];
    let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(item["name"], "exec_command");
    assert_eq!(arguments["cmd"], "echo \"quoted\"");

    body["input"] = json!([{ "type": "function_call_output", "call_id": "x", "output": "y" }]);
    let events = post(&server, target, &body).events();
    let done = events.last().unwrap();
    assert_eq!(done["type"], "response.completed");
    let content = &done["response"]["output"][0]["content"];
    assert_eq!(content[0]["text"], "tool done");

    body["stream"] = json!(false);
    body["input"] = json!([]);
    body["tools"] = json!([{ "type": "custom", "name": "exec" }]);
    let item = post(&server, target, &body).json()["output"][0].clone();
    assert_eq!(item["type"], "custom_tool_call");
    assert!(item["input"].as_str().unwrap().contains(r#"echo \"quoted\""#));

    let failed = post(&server, "/s/err:401/v1/responses", &body);
    assert_eq!(failed.json()["error"]["code"], "invalid_api_key");
    assert_eq!(server.requests()[0].kind, Some(Kind::Responses));
}

#[test]
fn chat() {
    let server = server();
    let target = "/s/bash:mine/v1/chat/completions";
    let mut body = json!({
        "model": "m",
        "stream": true,
        "messages": [],
        "tools": [{ "type": "function", "function": { "name": "bash" } }],
    });
    let answer = post(&server, target, &body);
    assert!(answer.body.ends_with("data: [DONE]\n\n"));
    let events = answer.events();
    let call = &events[0]["choices"][0]["delta"]["tool_calls"][0];
    let arguments = call["function"]["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(call["index"], 0);
    assert_eq!(arguments["command"], "echo \"quoted\"");
    assert_eq!(events[1]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events[2]["usage"]["total_tokens"], 18);
    assert_eq!(events[0]["id"], events[2]["id"]);

    body["messages"] = json!([{ "role": "tool", "content": "x" }]);
    body["stream"] = json!(false);
    let choice = post(&server, target, &body).json()["choices"][0].clone();
    assert_eq!(choice["message"]["content"], "tool done");
    assert_eq!(choice["finish_reason"], "stop");

    let failed = post(&server, "/s/err:500/v1/chat/completions", &body);
    assert_eq!(failed.json()["error"]["type"], "server_error");
    assert_eq!(server.requests()[0].kind, Some(Kind::Chat));
}

#[test]
fn gemini() {
    let server = server();
    let model = "/s/bash:mine/v1beta/models/m";
    let mut body = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "x" }] }],
        "tools": [{ "functionDeclarations": [{ "name": "run_shell_command" }] }],
    });
    let target = format!("{model}:streamGenerateContent?alt=sse");
    let events = post(&server, &target, &body).events();
    let part = &events[0]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["functionCall"]["args"]["command"], "echo \"quoted\"");
    assert_eq!(events[0]["candidates"][0]["finishReason"], Value::Null);
    assert_eq!(events[1]["candidates"][0]["finishReason"], "STOP");

    body["contents"] = json!([{ "parts": [{ "functionResponse": { "name": "x" } }] }]);
    let target = format!("{model}:generateContent");
    let whole = post(&server, &target, &body).json();
    let part = &whole["candidates"][0]["content"]["parts"][0];
    assert_eq!(part["text"], "tool done");

    let ask = json!({ "generationConfig": { "responseJsonSchema": { "type": "object" } } });
    let whole = post(&server, &target, &ask).json();
    let text = &whole["candidates"][0]["content"]["parts"][0]["text"];
    let choice: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(choice["next_speaker"], "user");

    let count = post(&server, &format!("{model}:countTokens"), &body).json();
    assert_eq!(count["totalTokens"], 42);

    let failed = post(&server, "/s/err:429/v1beta/models/m:generateContent", &body);
    assert_eq!(failed.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(server.requests()[0].kind, Some(Kind::Gemini));
}

#[test]
fn one_connection_serves_many_requests() {
    let server = server();
    let mut client = Client::new(&server);

    client.send("HEAD /s/ok/ HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 200);

    client.send("GET /s/ok/v1/models?limit=1 HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().unwrap().json()["data"], json!([]));

    client.send("GET /s/ok/v1/nothing HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 404);

    client.send(
        "POST /s/ok/v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\
         9\r\n{\"model\":\r\n4\r\n\"m\"}\r\n0\r\n\r\n",
    );
    assert_eq!(client.answer().unwrap().json()["model"], "m");

    client.send(
        "POST /s/ok/v1/messages HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
    );
    assert_eq!(client.head().unwrap().0, 100);
    client.send("{}");
    assert_eq!(client.answer().unwrap().status, 200);

    client.send(
        "POST /s/ok/v1/messages HTTP/1.1\r\ncontent-encoding: zstd\r\ncontent-length: 2\r\n\
         connection: close\r\n\r\n{}",
    );
    assert_eq!(client.answer().unwrap().status, 415);
    assert!(client.is_closed());
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn reports_a_misspelt_scenario() {
    let server = server();
    for target in ["/s/nonsense/v1/messages", "/s/bash:nothing/v1/messages"] {
        let body = json!({ "tools": [{ "name": "Bash" }] });
        let answer = post(&server, target, &body);
        assert_eq!(answer.status, 400);
        assert!(answer.body.contains("nonsense") || answer.body.contains("nothing"));
    }
}

#[test]
fn the_first_requests_fail_as_often_as_requested() {
    let server = server();
    let statuses: Vec<u16> = ["a", "a", "b", "a"]
        .iter()
        .map(|tag| {
            let target = format!("/s/failN:2:503@{tag}/v1/messages");
            post(&server, &target, &json!({})).status
        })
        .collect();
    assert_eq!(statuses, [503, 503, 503, 200]);
}

#[test]
fn a_slow_scenario_answers_after_its_delay() {
    let server = server();
    let start = Instant::now();
    let answer = post(&server, "/s/slow:0.2/v1/messages", &json!({}));
    assert_eq!(answer.status, 200);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_dropped_stream_is_incomplete() {
    let server = server();
    let mut client = Client::new(&server);
    client.post("/s/drop/v1/responses", &json!({ "stream": true }));
    assert_eq!(client.head().unwrap().0, 200);
    let mut seen = String::new();
    let error = loop {
        match client.chunk() {
            Ok(chunk) => seen += &chunk,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(seen.contains("response.output_text.delta"));
    assert!(!seen.contains("response.completed"));
}

#[test]
fn a_hanging_request_ends_with_the_server() {
    let server = Server::start(Commands::default()).unwrap();
    let mut stalled = Client::new(&server);
    stalled.post("/s/stall/v1/messages", &json!({ "stream": true }));
    assert_eq!(stalled.head().unwrap().0, 200);
    for _ in 0..3 {
        assert!(!stalled.chunk().unwrap().is_empty());
    }
    let mut hanging = Client::new(&server);
    hanging.post("/s/hang/v1/messages", &json!({}));
    while server.requests().len() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(server.requests()[1].status, None);

    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(stalled.is_closed());
    assert!(hanging.is_closed());
}
