//! Every endpoint of the API is used once, as its description specifies.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;

use kennel_client::{Client, Timeout};
use kennel_testing::{Pen, Scene, Who, eventually};
use serde_json::{Value, json};

use crate::ask::AskScene;
use crate::client::kennel_of;

/// A client that records which endpoints it used.
struct RecordingClient {
    kennel: Client,
    description: Value,
    used: RefCell<BTreeSet<String>>,
}

impl RecordingClient {
    fn new(kennel: Client) -> Self {
        let description = kennel.get("/v1/openapi.json").expect("the description");
        Self { kennel, description, used: RefCell::default() }
    }

    fn note(&self, method: &str, target: &str) {
        let path = target.split('?').next().expect("a path");
        let parts: Vec<_> = path.split('/').collect();
        let paths = self.description["paths"].as_object().expect("paths");
        let fits = |template: &&String| {
            let places: Vec<_> = template.split('/').collect();
            let fits = |(place, part): (&&str, &&str)| place.starts_with('{') || place == part;
            places.len() == parts.len() && places.iter().zip(&parts).all(fits)
        };
        // A literal path segment takes precedence over a parameter.
        let template = paths
            .keys()
            .filter(fits)
            .max_by_key(|it| it.split('/').filter(|it| !it.starts_with('{')).count());
        let template = template.unwrap_or_else(|| panic!("{path} is not described"));
        let operation = &paths[template][method.to_lowercase()];
        let id = operation["operationId"]
            .as_str()
            .unwrap_or_else(|| panic!("{method} {template} is not described"));
        self.used.borrow_mut().insert(id.to_owned());
    }

    fn ask(&self, method: &str, target: &str, body: &Value) -> Value {
        self.note(method, target);
        let body = (!body.is_null()).then_some(body);
        let sent = self.kennel.send(method, target, body, Timeout::None).expect("sent");
        sent.receive().unwrap_or_else(|error| panic!("{method} {target}: {error}"))
    }

    fn get(&self, target: &str) -> Value {
        self.ask("GET", target, &Value::Null)
    }

    fn post(&self, target: &str, body: &Value) -> Value {
        self.ask("POST", target, body)
    }

    /// Sends a request whose response has no body.
    fn send_only(&self, method: &str, target: &str, body: &Value) {
        self.note(method, target);
        let body = (!body.is_null()).then_some(body);
        let sent = self.kennel.send(method, target, body, Timeout::None).expect("sent");
        sent.accepted().unwrap_or_else(|error| panic!("{method} {target}: {error}"));
    }

    /// The described endpoints that were not used.
    fn unused(&self) -> BTreeSet<String> {
        let paths = self.description["paths"].as_object().expect("paths").values();
        let operations = paths.flat_map(|path| path.as_object().expect("operations").values());
        let all = operations
            .map(|operation| operation["operationId"].as_str().expect("an id").to_owned());
        all.collect::<BTreeSet<_>>().difference(&self.used.borrow()).cloned().collect()
    }
}

fn sessions(kennel: &RecordingClient, scene: &Scene) {
    let work = scene.path("work");
    let agent = scene.fake_agent();
    let env = json!({"PATH": "/usr/bin:/bin", "FAKE_AGENT_PIDS": scene.path("work/pids")});
    let start =
        json!({"argv": [agent, "sleep"], "cwd": work, "env": env, "pen": "subtree", "name": "one"});
    let session = kennel.post("/v1/sessions?until=started", &start);
    assert_eq!(session["phase"], "running", "{session:#}");
    let id = session["id"].as_str().expect("an id");
    assert_eq!(kennel.get("/v1/sessions?name=one")["sessions"][0]["id"], session["id"]);
    assert_eq!(kennel.get("/v1/sessions/one")["id"], session["id"]);
    let inspected = kennel.get("/v1/sessions/one/inspect");
    assert!(!inspected["members"].as_array().expect("members").is_empty(), "{inspected:#}");
    assert!(kennel.get("/v1/sessions/one/usage")["usage"]["processes"].as_u64() > Some(0));
    assert_eq!(kennel.get("/v1/usage")[0]["id"], session["id"]);
    assert_eq!(kennel.get("/v1/sessions/one/usage/history")["id"], session["id"]);
    kennel.send_only("POST", "/v1/sessions/one/signal", &json!({"signal": 10}));
    let over = kennel.get("/v1/sessions/one/wait");
    assert_eq!(over["exit_code"], 138, "{over:#}");
    let resumed = kennel.post("/v1/sessions/one/resume", &json!({"env": env}));
    assert_eq!(resumed["attempt"], 2, "{resumed:#}");
    let stopped = kennel.post("/v1/sessions/one/stop", &json!({"grace_ms": 100, "by": "a test"}));
    assert_eq!(stopped["result"], "stopped", "{stopped:#}");
    let mut reading = start.clone();
    reading["argv"] = json!(["/bin/sh", "-c", "read word; test $word = hi"]);
    reading["stdin"] = json!("pipe");
    reading["name"] = json!("two");
    kennel.post("/v1/sessions", &reading);
    kennel.send_only("POST", "/v1/sessions/two/input", &json!({"hex": "68690a"}));
    assert_eq!(kennel.get("/v1/sessions/two/wait")["exit_code"], 0);
    let would = kennel.get("/v1/prune?older_than_ms=0");
    assert_eq!(would["removed"].as_array().expect("ids").len(), 3, "{would:#}");
    kennel.send_only("DELETE", &format!("/v1/sessions/{id}"), &Value::Null);
    let pruned = kennel.post("/v1/prune", &json!({}));
    assert!(!pruned["removed"].as_array().expect("ids").is_empty(), "{pruned:#}");
    assert_eq!(kennel.get("/v1/strays"), json!({"strays": [], "outside": []}));
    assert_eq!(kennel.post("/v1/strays/end", &json!({})), json!({"ended": [], "still_alive": []}));
}

fn members(kennel: &RecordingClient, ask_scene: &AskScene) {
    let scene = &ask_scene.scene;
    let member = json!({"name": "ann", "settings": {"agent": "claude"}, "cwd": scene.path("work")});
    kennel.post("/v1/members", &member);
    assert_eq!(kennel.get("/v1/members")[0]["name"], "ann");
    assert_eq!(kennel.get("/v1/members/ann")["settings"]["agent"], "claude");
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    let question =
        json!({"member": "ann", "prompt": "hello", "env": {"PATH": path}, "pen": "subtree"});
    let asked = kennel.post("/v1/ask", &question);
    let of =
        |what: &str| format!("/v1/sessions/{}{what}", asked["session"].as_str().expect("an id"));
    assert_eq!(kennel.get(&of("/answer?wait=true"))["answer"], "done");
    kennel.send_only("GET", &of("/output?format=raw"), &Value::Null);
    kennel.send_only("DELETE", "/v1/members/ann?force=true&by=a%20test", &Value::Null);
}

fn plans(kennel: &RecordingClient, ask_scene: &AskScene) {
    let scene = &ask_scene.scene;
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    let agent = json!({"name": "a", "who": {"agent": "claude"}, "prompt": {"text": "hi"}});
    let spec = json!({"name": "small", "stages": [{"name": "one", "agents": [agent]}]});
    let plan = kennel.post(
        "/v1/plans",
        &json!({
            "spec": spec, "env": {"PATH": path}, "cwd": scene.path("work"), "pen": "subtree",
        }),
    );
    let of = |what: &str| format!("/v1/plans/{}{what}", plan["id"].as_str().expect("an id"));
    assert_eq!(kennel.get("/v1/plans")[0]["id"], plan["id"]);
    assert_eq!(kennel.get(&of("/wait"))["state"], "succeeded");
    assert_eq!(kennel.get(&of(""))["state"], "succeeded");
    kennel.post(&of("/cancel"), &json!({"by": "a test"}));
    let sent =
        kennel.kennel.send("POST", &of("/resume"), Some(&json!({})), Timeout::None).expect("sent");
    kennel.note("POST", &of("/resume"));
    assert!(sent.receive::<Value>().is_err(), "everything is done");
}

/// Endpoints that need the socket.
const SOCKET_ONLY: &[&str] =
    &["listen", "makeLink", "getToken", "listTokens", "addToken", "revokeToken", "rotateToken"];

fn access(kennel: &RecordingClient) {
    let listen = kennel.post("/v1/access/listen", &json!({}));
    assert!(
        listen["url"].as_str().expect("a place").starts_with("http://127.0.0.1:"),
        "{listen:#}"
    );
    let link = kennel.post("/v1/access/links", &json!({}));
    assert!(link["url"].as_str().expect("a link").contains("/login?once="), "{link:#}");
    kennel.get("/v1/access/token");
    kennel.post("/v1/access/tokens", &json!({"name": "ci", "scope": "read_only"}));
    kennel.post("/v1/access/tokens/ci/rotate", &json!({}));
    assert!(kennel.get("/v1/access/tokens").as_array().is_some_and(|all| !all.is_empty()));
    kennel.ask("DELETE", "/v1/access/tokens/ci", &Value::Null);
}

/// Endpoints that other tests cover, with the reason.
const TESTED_ELSEWHERE: &[&str] = &[
    // They end or change the daemon: see shutdown.rs.
    "stopDaemon",
    "replaceDaemon",
    // It is a WebSocket: api/terminal.rs.
    "attach",
    // It needs a lost session: see supervisor_death.rs.
    "forgetSession",
    // They need a user's or an agent's process: see adopt.rs and reports.rs.
    "adopt",
    "report",
    // It is for browsers: see access/dashboard.rs.
    "logOut",
    // They need a kept worktree: see worktrees/.
    "removeWorktree",
    "getWorktreeLosses",
];

fn use_every_endpoint(ask_scene: &AskScene, kennel: Client, at_socket: bool) {
    let kennel = RecordingClient::new(kennel);
    kennel.note("GET", "/v1/openapi.json");
    let daemon = kennel.get("/v1/daemon");
    assert!(daemon["pid"].as_i64().is_some(), "{daemon:#}");
    let via = if at_socket { "socket" } else { "token" };
    assert_eq!(kennel.get("/v1/access/me")["via"], via);
    sessions(&kennel, &ask_scene.scene);
    members(&kennel, ask_scene);
    plans(&kennel, ask_scene);
    assert_eq!(kennel.get("/v1/worktrees"), json!({"worktrees": []}));
    kennel.note("GET", "/v1/events");
    let events =
        kennel.kennel.lines::<Value>("GET", "/v1/events?since=0", None::<&()>).expect("events");
    assert!(events.map(|event| event.expect("an event")).any(|event| event["kind"] == "running"));
    assert_eq!(kennel.get("/readyz")["ready"], true);
    assert!(
        kennel.get("/v1/doctor")["pen"].is_object() || kennel.get("/v1/doctor")["pen"].is_string()
    );
    kennel.send_only("GET", "/healthz", &Value::Null);
    kennel.send_only("GET", "/metrics", &Value::Null);
    if at_socket {
        access(&kennel);
    }
    let left = TESTED_ELSEWHERE.iter().chain(if at_socket { &[] } else { SOCKET_ONLY });
    let left: BTreeSet<_> = left.map(ToString::to_string).collect();
    assert_eq!(kennel.unused(), left);
    ask_scene.scene.assert_nothing_left_soon();
}

#[test]
fn every_endpoint_works_over_the_socket() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["ok done"]) else { return };
    ask_scene.scene.call_ok(&["daemon", "start"]);
    use_every_endpoint(&ask_scene, kennel_of(&ask_scene.scene), true);
    ask_scene.scene.stop_daemon();
}

#[test]
fn every_endpoint_works_over_tcp() {
    let Some(ask_scene) = AskScene::new(Who::Root, Pen::Subtree, &["ok done"]) else { return };
    ask_scene.scene.call_ok(&["daemon", "start", "--listen", "127.0.0.1:0"]);
    let kennel = kennel_of(&ask_scene.scene);
    let token: Value = kennel.get("/v1/access/token").expect("a token");
    let daemon = kennel.daemon().expect("a daemon");
    let address = daemon.listen.expect("it listens").address;
    let token = token["secret"].as_str().expect("a secret").to_owned();
    use_every_endpoint(
        &ask_scene,
        Client::at_port(address.parse().expect("an address"), token),
        false,
    );
    ask_scene.scene.stop_daemon();
}

/// All errors have the same shape, wherever they come from.
#[test]
fn every_error_is_problem_details() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    let kennel = kennel_of(&scene);
    for (method, target, body, status) in [
        ("GET", "/v1/nothing", Value::Null, 404),
        ("GET", "/", Value::Null, 404),
        ("PUT", "/v1/sessions", Value::Null, 405),
        ("GET", "/v1/sessions/nobody", Value::Null, 404),
        ("GET", "/v1/sessions/%ff", Value::Null, 400),
        ("GET", "/v1/sessions?all=perhaps", Value::Null, 422),
        ("GET", "/v1/sessions?al=true", Value::Null, 422),
        ("GET", "/v1/sessions?after=x", Value::Null, 422),
        ("POST", "/v1/sessions?until=noon", json!({}), 422),
        ("POST", "/v1/sessions", json!([]), 422),
        ("POST", "/v1/sessions", json!({"argv": ["x"], "cwd": "here"}), 422),
        ("POST", "/v1/sessions/x/stop", json!({"now": 1}), 422),
        ("DELETE", "/v1/members/nobody", Value::Null, 404),
        ("POST", "/v1/plans", json!({"spec": {}}), 422),
        ("POST", "/v1/plans/nothing/cancel", json!({}), 404),
    ] {
        let body = (!body.is_null()).then_some(&body);
        let sent = kennel.send(method, target, body, Timeout::Short).expect("sent");
        match sent.receive::<Value>() {
            Err(kennel_client::ClientError::Problem(problem)) => {
                assert_eq!(
                    (problem.status, problem.kind.is_empty()),
                    (status, false),
                    "{method} {target}: {problem:?}"
                );
                assert!(!problem.detail.is_empty() && !problem.title.is_empty(), "{problem:?}");
            }
            other => panic!("{method} {target}: {other:?}"),
        }
    }
    let huge = json!({"argv": ["x".repeat(17 << 20)], "cwd": "/"});
    let sent = kennel.send("POST", "/v1/sessions", Some(&huge), Timeout::Short).expect("sent");
    let refused = sent.receive::<Value>().expect_err("it is too large");
    assert!(
        matches!(&refused, kennel_client::ClientError::Problem(problem) if problem.status == 413),
        "{refused:?}"
    );
    eventually("the daemon is well", || kennel.daemon().is_ok());
    assert!(fs::metadata(scene.kennel_home().join("kennel.sock")).is_ok());
    scene.stop_daemon();
}
