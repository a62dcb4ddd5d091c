//! The API over TCP: which clients get access, and that the others do no harm.

mod client;
mod dashboard;
mod flood;
mod hostile;
mod listener;
mod sign_in_link;
mod tls;
mod tokens;

use client::Tcp;
use kennel_testing::{Pen, Scene, Who};

/// A scene whose daemon listens on loopback, and a client with its token.
fn open() -> Option<(Scene, Tcp)> {
    let scene = scene()?;
    scene.call_ok(&["daemon", "start", "--listen", "127.0.0.1:0"]);
    let tcp = Tcp::of(&scene);
    Some((scene, tcp))
}

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

/// What `kennel token show` prints.
fn token(scene: &Scene) -> String {
    scene.call_ok(&["token", "show"]).trim_end().to_owned()
}

/// Creates a sign-in link.
fn link_of(scene: &Scene) -> String {
    scene.call_ok(&["dashboard", "--no-open"]).trim_end().to_owned()
}
