//! The API over TCP: who is let in, who is not, and that those who are not harm nobody.

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

/// A scene whose daemon is at a port of loopback, and a client with its token.
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

/// A new link for a browser.
fn link_of(scene: &Scene) -> String {
    scene.call_ok(&["dashboard", "--no-open"]).trim_end().to_owned()
}
