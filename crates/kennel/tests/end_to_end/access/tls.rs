//! Beyond loopback: only on request, and only with TLS.

use std::fs;
use std::io::{Read, Write};
use std::sync::Arc;

use kennel_testing::Scene;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::{Answer, Tcp};
use super::{link_of, scene};
use crate::config::configure;

/// Writes a certificate and key for localhost, and returns both paths and the trust anchor.
fn certificate(scene: &Scene) -> (String, String, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let mut trusted = RootCertStore::empty();
    trusted.add(made.cert.der().clone()).expect("sound");
    let write = |name: &str, text: String| {
        let path = scene.path("work").join(name);
        fs::write(&path, text).expect("written");
        scene.give(&path);
        path.to_str().expect("plain").to_owned()
    };
    let cert = write("cert.pem", made.cert.pem());
    (cert, write("key.pem", made.signing_key.serialize_pem()), trusted)
}

/// Sends a request over TLS to localhost.
fn ask(tcp: &Tcp, trusted: &RootCertStore, target: &str, token: &str) -> Answer {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(trusted.clone())
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(client, tcp.connect());
    let port = tcp.address.port();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    // Some connections end without a close message.
    stream.read_to_end(&mut answer).ok();
    Answer::parse(&answer)
}

#[test]
fn beyond_loopback_permission_and_tls_are_required() {
    let Some(scene) = scene() else { return };
    let (cert, key, trusted) = certificate(&scene);
    let start = ["daemon", "start", "--listen", "0.0.0.0:0"];
    for (flags, printed) in [
        (&[][..], "set api.allow_remote"),
        (&["--tls-cert", &cert, "--tls-key", &key], "set api.allow_remote"),
        (&["--allow-remote"], "set api.tls_cert and api.tls_key"),
    ] {
        let refused = scene.call(&[&start, flags].concat());
        assert_eq!(refused.code, 201, "{refused:?}");
        assert!(refused.stderr.contains(printed), "{refused:?}");
        assert_eq!(scene.daemon(), None);
    }
    let flags = ["--allow-remote", "--tls-cert", &cert, "--tls-key", &key];
    let printed = scene.call_ok(&[&start[..], &flags].concat());
    assert!(printed.contains("API at https://127.0.0.1:"), "{printed}");
    let mut tcp = Tcp::of(&scene);
    tcp.address.set_ip([127, 0, 0, 1].into());
    let answer = ask(&tcp, &trusted, "/v1/daemon", &tcp.token);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(ask(&tcp, &trusted, "/v1/daemon", "wrong").status, 401);
    let link = link_of(&scene);
    let once = link.split_once("/login").expect("a link").1.trim_end();
    let login = ask(&tcp, &trusted, &format!("/login{once}"), "");
    assert!(login.header("Set-Cookie").is_some_and(|it| it.contains("; Secure")), "{login:?}");
    // Without TLS there is no response.
    let mut plain = tcp.connect();
    plain.write_all(tcp.head("GET", "/v1/daemon", &[]).as_bytes()).expect("sent");
    let mut printed = Vec::new();
    plain.read_to_end(&mut printed).ok();
    assert!(!printed.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&printed));
    scene.stop_daemon();
}

#[test]
fn an_invalid_listener_setting_does_not_prevent_sessions() {
    let Some(scene) = scene() else { return };
    configure(&scene, "api.listen = '0.0.0.0:0'");
    let refused = scene.call(&["daemon", "start"]);
    assert_eq!(refused.code, 201, "{refused:?}");
    let id = scene.launch(&[], &["exit", "0"]);
    scene.call_ok(&["wait", &id]);
    let listen = scene.call_json(&["daemon", "status", "--json"])["listen"].clone();
    assert_eq!(listen["state"], "failing", "{listen}");
    assert!(listen["why"].as_str().is_some_and(|why| why.contains("allow_remote")), "{listen}");
    assert!(!scene.kennel_home().join("api.addr").exists());
    configure(&scene, "api.listen = '127.0.0.1:0'\napi.tls_cert = '/no/such.pem'");
    let half = scene.call(&["daemon", "restart"]);
    assert_eq!(half.code, 201, "{half:?}");
    configure(
        &scene,
        "[api]\nlisten = '127.0.0.1:0'\ntls_cert = '/no/such.pem'\ntls_key = '/no/such.pem'",
    );
    let missing = scene.call(&["daemon", "restart"]);
    assert_eq!(missing.code, 202, "{missing:?}");
    assert!(missing.stderr.contains("/no/such.pem"), "{missing:?}");
    scene.stop_daemon();
}
