//! Where the file is.

use std::path::{Path, PathBuf};

use super::environment::ConfigVariables;

/// The variable that names the file.
pub(super) const VARIABLE: &str = "KENNEL_CONFIG";

/// Who says where the file is. One that was named must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// `--config`.
    Flag,
    /// `KENNEL_CONFIG`.
    Variable,
    /// Nobody: it is looked for where such files are.
    Nobody,
}

/// A file, and who named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    pub(crate) named: NamedBy,
}

impl Location {
    /// None if there is nowhere to look.
    pub(super) fn find(flag: Option<&Path>, variables: &ConfigVariables) -> Option<Self> {
        let variable = |name| variables.get(name).map(PathBuf::from);
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        if let Some(flag) = flag {
            return Some(Self { path: absolute(flag.to_owned()), named: NamedBy::Flag });
        }
        if let Some(path) = variable(VARIABLE) {
            return Some(Self { path: absolute(path), named: NamedBy::Variable });
        }
        let folder = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let folder = folder.or_else(|| variable("HOME").map(|home| home.join(".config")))?;
        Some(Self { path: folder.join("kennel/kennel.toml"), named: NamedBy::Nobody })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(flag: Option<&str>, variables: &[(&str, &str)]) -> Option<(String, NamedBy)> {
        let location = Location::find(flag.map(Path::new), &ConfigVariables::of(variables))?;
        Some((location.path.display().to_string(), location.named))
    }

    #[test]
    fn the_flag_goes_before_the_variable_and_that_before_the_usual_places() {
        let home = ("HOME", "/home/u");
        let xdg = ("XDG_CONFIG_HOME", "/xdg");
        let named = (VARIABLE, "/named.toml");
        let place = |path: &str, named| Some((path.to_owned(), named));
        assert_eq!(found(Some("/f"), &[home, xdg, named]), place("/f", NamedBy::Flag));
        assert_eq!(found(None, &[home, xdg, named]), place("/named.toml", NamedBy::Variable));
        assert_eq!(found(None, &[home, xdg]), place("/xdg/kennel/kennel.toml", NamedBy::Nobody));
        let usual = place("/home/u/.config/kennel/kennel.toml", NamedBy::Nobody);
        assert_eq!(found(None, &[home]), usual);
        // As the standard has it, a relative one counts for nothing; nor does one that is empty.
        assert_eq!(found(None, &[home, ("XDG_CONFIG_HOME", "x"), (VARIABLE, "")]), usual);
        assert_eq!(found(None, &[]), None);
    }
}
