//! Removes traces of this machine from recorded output.

use std::path::Path;

/// Replacements of texts.
pub(crate) struct Scrub(Vec<(String, &'static str)>);

impl Scrub {
    /// Replaces a home, the folder of a program, and the port of the mock.
    pub(crate) fn new(home: &Path, program: &Path, port: u16) -> Self {
        let mut all = Vec::new();
        let mut path = |path: &Path, stands: &'static str, dashed: &'static str| {
            let text = path.display().to_string();
            // Some agents name a folder after a path, with dashes in place of slashes.
            let dashes: String =
                text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            all.push((text, stands));
            all.push((dashes, dashed));
        };
        path(home, "/home/user", "-home-user");
        // Up to the folder of npm's installation.
        let installed = program.ancestors().find(|path| path.ends_with("node_modules"));
        if let Some(folder) = installed.and_then(Path::parent) {
            path(folder, "/opt/agent", "-opt-agent");
        }
        all.push((format!("127.0.0.1:{port}"), "127.0.0.1:8080"));
        Self(all)
    }

    pub(crate) fn clean(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.0.iter().fold(text, |text, (what, stands)| text.replace(what, stands))
    }
}
