//! Tests that the audit finds real processes and files that are left behind.

use std::path::Path;
use std::process::Stdio;

use kennel_testing::{Running, Who, eventually};

use super::*;

/// Audits a home without requested sessions, after `meanwhile`.
fn audit(meanwhile: impl FnOnce(&Scene) -> Option<Running>) -> Option<Vec<String>> {
    let scene = Scene::new(Who::Root, Pen::Subtree)?;
    std::fs::create_dir(witness_folder(&scene)).unwrap();
    let mut git = scene.command(Path::new("git"));
    git.args(["init", "-q", "repo"]);
    assert_eq!(Running::start(git).wait().code, 0);
    let (ledger, bystanders) = (Ledger::default(), Bystanders::default());
    scene.call_ok(&["daemon", "start"]);
    let mut before = None;
    eventually("it is quiet", || {
        before = baseline(&scene, &bystanders);
        before.is_some()
    });
    let leaked = meanwhile(&scene);
    let audit = Audit {
        scene: &scene,
        ledger: &ledger,
        bystanders: &bystanders,
        cap: 5,
        baseline: &before.unwrap(),
        timeout: Duration::from_secs(2),
    };
    let wrong = audit.run();
    drop(leaked);
    Some(wrong)
}

#[test]
fn accepts_a_clean_home() {
    if let Some(wrong) = audit(|_| None) {
        assert_eq!(wrong, Vec::<String>::new());
    }
}

#[test]
fn finds_a_leaked_process() {
    let leak = |scene: &Scene| {
        let mut agent = scene.command(Path::new(&scene.fake_agent()));
        agent.arg("sleep").stdout(Stdio::piped());
        let mut agent = Running::start(agent);
        agent.wait_ready();
        Some(agent)
    };
    if let Some(wrong) = audit(leak) {
        let text = wrong.join("\n");
        assert!(text.contains("strays") && text.contains("left behind by the daemon"), "{text}");
    }
}

#[test]
fn finds_a_session_that_was_never_requested() {
    let ask = |scene: &Scene| {
        scene.launch(&["--name", "ghost"], &["exit", "0"]);
        None
    };
    if let Some(wrong) = audit(ask) {
        assert!(wrong.iter().any(|what| what.contains("was never requested")), "{wrong:#?}");
    }
}

#[test]
fn finds_a_folder_without_a_session() {
    let leave = |scene: &Scene| {
        std::fs::create_dir_all(scene.kennel_home().join("sessions/0aaaaaaaaaaa")).unwrap();
        None
    };
    if let Some(wrong) = audit(leave) {
        assert!(
            wrong.iter().any(|what| what.contains("without a session on record")),
            "{wrong:#?}"
        );
    }
}
