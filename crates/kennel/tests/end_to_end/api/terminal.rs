//! Attaching to a session over a WebSocket.

use std::fs;
use std::io::Write;

use kennel_testing::{Pen, Scene, Who, eventually};
use tungstenite::Message;

use super::client::{
    Answer, attach, connect, descriptors, next_message, next_text, press, send_text, wait_close,
    wait_for,
};

fn scene() -> Option<Scene> {
    Scene::new(Who::Root, Pen::Cgroup)
}

/// A shell that reports its terminal.
fn shell(scene: &Scene, name: &str) -> String {
    let script = "PS1=; stty -echo; echo up; exec /bin/sh";
    let id = scene.launch_command(&["-t", "--name", name], &["/bin/sh", "-c", script]);
    eventually("the shell is up", || scene.output(name).contains("up"));
    id
}

#[test]
fn keys_and_output_pass_and_the_size_is_the_clients() {
    let Some(scene) = scene() else { return };
    shell(&scene, "x");
    let before = descriptors(&scene);
    let (mut socket, attached) = attach(&scene, "x", "");
    assert_eq!((&attached["terminal"], &attached["read_only"]), (&true.into(), &false.into()));
    assert!(attached["replay"].as_u64() > Some(0), "{attached}");
    wait_for(&mut socket, "up");
    press(&mut socket, "echo $((40+2))\n");
    wait_for(&mut socket, "42");
    send_text(&mut socket, r#"{"type":"input","text":"echo ü$((1+1))\n"}"#);
    wait_for(&mut socket, "ü2");
    send_text(&mut socket, r#"{"type":"resize","cols":101,"rows":33}"#);
    let mut tries = 0;
    // The first size is sent twice, so that a program redraws its screen.
    loop {
        press(&mut socket, &format!("stty size; echo done{tries}\n"));
        if wait_for(&mut socket, &format!("done{tries}")).contains("33 101") {
            break;
        }
        tries += 1;
    }
    send_text(&mut socket, r#"{"type":"resize","cols":77,"rows":22}"#);
    press(&mut socket, "stty size; echo then\n");
    assert!(wait_for(&mut socket, "then").contains("22 77"));
    // The session continues after a disconnect and can be attached again.
    socket.close(None).expect("the close is sent");
    assert_eq!(wait_close(&mut socket).0, 1005);
    drop(socket);
    eventually("nothing is left of it", || descriptors(&scene) <= before);
    let (mut again, _) = attach(&scene, "x", "");
    assert!(wait_for(&mut again, "then").contains("42"), "the screen is drawn");
    press(&mut again, "echo ag''ain\n");
    wait_for(&mut again, "again");
    drop(again); // without a close message
    eventually("nothing is left of it", || descriptors(&scene) <= before);
    assert_eq!(scene.session("x")["phase"], "running");
    scene.call_ok(&["stop", "--now", "x"]);
    scene.stop_daemon();
}

#[test]
fn several_clients_can_attach_and_some_are_read_only() {
    let Some(scene) = scene() else { return };
    shell(&scene, "x");
    let (mut one, _) = attach(&scene, "x", "?replay=none");
    let (mut two, _) = attach(&scene, "x", "?replay=none&cols=90&rows=30");
    let (mut watcher, attached) = attach(&scene, "x", "?read_only=true&replay=all");
    assert_eq!((&attached["read_only"], &attached["offset"]), (&true.into(), &0.into()));
    wait_for(&mut watcher, "up");
    press(&mut one, "echo fr''om one\n");
    press(&mut two, "echo fr''om two\n");
    for socket in [&mut one, &mut two, &mut watcher] {
        let seen = wait_for(socket, "from ");
        if !(seen.contains("from one") && seen.contains("from two")) {
            wait_for(socket, "from ");
        }
    }
    press(&mut watcher, "echo ne''ver\n");
    assert_eq!(next_text(&mut watcher)["type"], "refused");
    send_text(&mut watcher, r#"{"type":"resize","cols":1,"rows":1}"#);
    assert_eq!(next_text(&mut watcher)["type"], "refused");
    press(&mut one, "exit 5\n");
    for socket in [&mut one, &mut two, &mut watcher] {
        let ended = loop {
            match next_message(socket) {
                Message::Text(text) => break serde_json::from_str::<serde_json::Value>(&text),
                Message::Binary(bytes) => {
                    assert!(!String::from_utf8_lossy(&bytes).contains("never"))
                }
                other => panic!("{other:?}"),
            }
        };
        let ended = ended.expect("JSON");
        assert_eq!(ended["type"], "ended");
        assert_eq!(ended["outcome"]["exit_code"], 5);
        assert_eq!(wait_close(socket).0, 1000);
    }
    // An ended session can still be viewed.
    let (mut late, _) = attach(&scene, "x", "?replay=all");
    wait_for(&mut late, "from two");
    press(&mut late, "x");
    let (code, _) = wait_close(&mut late);
    assert_eq!(code, 1000);
    scene.stop_daemon();
}

#[test]
fn a_session_without_a_terminal_uses_pipes() {
    let Some(scene) = scene() else { return };
    scene.launch_command(&["-i", "--name", "x"], &["/bin/cat"]);
    scene.launch_ready(&["--name", "deaf"], &["sleep"]);
    let (mut socket, attached) = attach(&scene, "x", "");
    assert_eq!(attached["terminal"], false);
    press(&mut socket, "through\n");
    wait_for(&mut socket, "through");
    send_text(&mut socket, r#"{"type":"resize","cols":80,"rows":24}"#);
    assert_eq!(next_text(&mut socket)["why"], "this session has no terminal");
    send_text(&mut socket, r#"{"type":"eof"}"#);
    let ended = next_text(&mut socket);
    assert_eq!((&ended["type"], &ended["outcome"]["exit_code"]), (&"ended".into(), &0.into()));
    let (mut deaf, _) = attach(&scene, "deaf", "?replay=none");
    press(&mut deaf, "x");
    assert_eq!(next_text(&mut deaf)["why"], "this session takes no input");
    scene.call_ok(&["stop", "--now", "deaf"]);
    assert_eq!(wait_close(&mut deaf).0, 1000);
    scene.stop_daemon();
}

/// Builds a frame: a head, a zero mask and the payload.
fn frame(head: u8, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![head];
    match data.len() {
        length @ 0..126 => frame.push(0x80 | u8::try_from(length).expect("short")),
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(data);
    frame
}

#[test]
fn invalid_frames_close_the_connection_with_a_reason() {
    let Some(scene) = scene() else { return };
    shell(&scene, "x");
    let before = descriptors(&scene);
    let (text, binary) = (0x81, 0x82);
    for (bytes, code) in [
        (frame(text, b"no json"), 1007),
        (frame(text, br#"{"type":"resize","cols":"wide","rows":1}"#), 1007),
        (frame(text, b"\xff\xfe"), 1007),
        (frame(text, br#"{"type":"dance"}"#), 1003),
        (frame(binary, &[b'x'; 100_000]), 1009),
        (frame(0x8b, b""), 1002),       // no such opcode
        (frame(0xc2, b"x"), 1002),      // a reserved bit
        (vec![0x82, 0x01, b'x'], 1002), // no mask
    ] {
        let (mut socket, _) = attach(&scene, "x", "?replay=none");
        socket.get_mut().write_all(&bytes).expect("it is sent");
        assert_eq!(wait_close(&mut socket).0, code, "{:?}", &bytes[..bytes.len().min(20)]);
    }
    eventually("nothing is left", || descriptors(&scene) <= before);
    // Not a WebSocket request.
    let plain = Answer::get(&scene, "/v1/sessions/x/terminal", &[]);
    assert_eq!(plain.status, 422);
    let (mut fine, _) = attach(&scene, "x", "?replay=none");
    press(&mut fine, "echo st''ill\n");
    wait_for(&mut fine, "still");
    scene.call_ok(&["stop", "--now", "x"]);
    scene.stop_daemon();
}

#[test]
fn a_shutdown_is_announced_and_the_next_daemon_continues() {
    let Some(scene) = scene() else { return };
    shell(&scene, "x");
    let (mut socket, attached) = attach(&scene, "x", "?replay=all");
    let seen = wait_for(&mut socket, "up");
    let offset = attached["offset"].as_u64().expect("a number") + seen.len() as u64;
    scene.call_ok(&["daemon", "restart"]);
    let (code, more) = wait_close(&mut socket);
    assert_eq!(code, 1001);
    let offset = offset + more.len() as u64;
    let (mut again, attached) = attach(&scene, "x", &format!("?from={offset}"));
    assert_eq!((&attached["offset"], &attached["replay"]), (&offset.into(), &0.into()));
    press(&mut again, "echo go''es on\n");
    assert!(!wait_for(&mut again, "goes on").contains("up"), "nothing is sent twice");
    scene.call_ok(&["stop", "--now", "x"]);
    scene.stop_daemon();
}

#[test]
fn a_client_that_does_not_read_a_flood_is_disconnected() {
    let Some(scene) = scene() else { return };
    let mut start = scene.kennel(&["daemon", "start"]);
    start.env("KENNEL_DAEMON_WRITE_TIMEOUT", "2s");
    assert_eq!(kennel_testing::Running::start(start).wait().code, 0);
    let script = format!(
        "echo up; while [ ! -e go ]; do sleep 0.01; done; {} flood 4000000; exec sleep 1000",
        scene.fake_agent()
    );
    scene.launch_command(&["-t", "--name", "x"], &["/bin/sh", "-c", &script]);
    eventually("it is up", || scene.output("x").contains("up"));
    let before = descriptors(&scene);
    let (stuck, _) = attach(&scene, "x", "");
    let (mut reading, _) = attach(&scene, "x", "");
    fs::write(scene.path("work/go"), "").expect("a file");
    let last = format!("{:063}", 4_000_000 / 64 - 1);
    wait_for(&mut reading, &last);
    // The reader remains with its connection and a file, plus the shared connection to the keeper.
    eventually("the other is cut off", || descriptors(&scene) <= before + 3);
    drop((stuck, reading));
    eventually("nothing is left", || descriptors(&scene) <= before);
    scene.call_ok(&["stop", "--now", "x"]);
    scene.stop_daemon();
}

/// A client that disconnects in the middle of its request.
#[test]
fn half_a_request_leaves_nothing() {
    let Some(scene) = scene() else { return };
    shell(&scene, "x");
    let before = descriptors(&scene);
    for _ in 0..20 {
        let mut stream = connect(&scene);
        let half = "GET /v1/sessions/x/terminal HTTP/1.1\r\nUpgrade: websocket\r\n";
        stream.write_all(half.as_bytes()).expect("it is sent");
    }
    eventually("nothing is left", || descriptors(&scene) <= before);
    scene.call_ok(&["stop", "--now", "x"]);
    scene.stop_daemon();
}
