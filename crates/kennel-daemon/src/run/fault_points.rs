//! The fault points of the daemon, at which tests stop or kill it.

/// Returns all fault points, in the order of a session's life where there is one.
pub fn fault_points() -> impl Iterator<Item = &'static str> {
    include_str!("fault_points.txt").lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `point("…")` in the sources is listed, and every listed one exists.
    #[test]
    fn the_list_is_complete() {
        let mut found = std::collections::BTreeSet::new();
        let mut pending =
            vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if !path.ends_with("fault_points.rs") && !path.ends_with("run/log.rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let names = text.split('"').filter(|part| part.starts_with("daemon."));
                    let names = names.filter(|name| !name.contains(char::is_whitespace));
                    found.extend(names.filter(|n| n.split('.').count() == 3).map(String::from));
                }
            }
        }
        let listed: std::collections::BTreeSet<_> = fault_points().map(String::from).collect();
        assert_eq!(found, listed);
        assert_eq!(listed.len(), fault_points().count(), "each once");
    }
}
