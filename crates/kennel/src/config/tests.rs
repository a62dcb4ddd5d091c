//! Precedence, mistakes, and the table of keys compared with the flags and the documentation.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgAction;

use super::file::Document;
use super::keys::{self, Checker, KEYS, NOT_CONFIGURABLE};
use super::layers::Settings;
use super::{ProfileChoice, built_in, command, flags};

/// A file with a text.
struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kennel.toml");
    fs::write(&path, text).unwrap();
    File { _folder: folder, path }
}

/// Returns the error for a file and variables, with FILE for the file.
fn error_of(text: &str, variables: &[(&str, &str)], profile: Option<&str>) -> String {
    let file = file(text);
    let settings = Settings::from(Some(&file.path), variables, ProfileChoice::Selected(profile));
    let error = settings.expect_err(text).to_string();
    error.replace(file.path.to_str().unwrap(), "FILE")
}

/// Returns value and origin of a key, with FILE for the file.
fn value_of(settings: &Settings, file: &Path, key: &str) -> Option<(String, String)> {
    let key = KEYS.iter().find(|other| other.name.to_string() == key).expect(key);
    let set = settings.get(key.name)?;
    let origin = set.origin.to_string().replace(file.to_str().unwrap(), "FILE");
    Some((set.text.clone(), origin))
}

const LAYERED: &str = "\
[run]
grace = '1s'
linger = '1s'
lease = '1s'

[profiles.fast]
grace = '2s'
linger = '2s'

[daemon]
ended_kept = 5
";

#[test]
fn the_environment_overrides_the_profile_which_overrides_the_file() {
    let file = file(LAYERED);
    let variables = [("KENNEL_RUN_GRACE", "3s"), ("KENNEL_PROFILE", "fast")];
    let settings =
        Settings::from(Some(&file.path), &variables, ProfileChoice::Selected(None)).unwrap();
    let value_of = |key| value_of(&settings, &file.path, key);
    let expected = |value: &str, origin: &str| Some((value.to_owned(), origin.to_owned()));
    assert_eq!(value_of("run.grace"), expected("3s", "env KENNEL_RUN_GRACE"));
    assert_eq!(value_of("run.linger"), expected("2s", "profile fast in FILE:8"));
    assert_eq!(value_of("run.lease"), expected("1s", "FILE:4"));
    assert_eq!(value_of("run.pen"), None);
    assert_eq!(value_of("daemon.ended_kept"), expected("5", "FILE:11"));
    assert_eq!(settings.profile, Some(("fast".to_owned(), "env KENNEL_PROFILE".to_owned())));
    // A verb without profiles ignores them.
    let settings = Settings::from(Some(&file.path), &variables, ProfileChoice::None).unwrap();
    assert_eq!(settings.profile, None);
}

#[test]
fn a_profile_is_selected_by_flag_variable_or_file() {
    let text = format!("profile = 'c'\n{LAYERED}\n[profiles.a]\n[profiles.b]\n[profiles.c]\n");
    let file = file(&text);
    let selected = |flag, variables: &[(&str, &str)]| {
        let settings = Settings::from(Some(&file.path), variables, ProfileChoice::Selected(flag));
        settings.unwrap().profile.unwrap().0
    };
    let variable = [("KENNEL_PROFILE", "b")];
    assert_eq!(selected(Some("a"), &variable), "a");
    assert_eq!(selected(None, &variable), "b");
    assert_eq!(selected(None, &[("KENNEL_PROFILE", "")]), "c");
}

#[test]
fn a_switch_in_the_environment_is_true_or_false() {
    let settings = Settings::from(None, &[("KENNEL_RUN_STAY", "1")], ProfileChoice::None);
    let stay = keys::find("run", "stay").unwrap().name;
    assert_eq!(settings.unwrap().get(stay).unwrap().text, "true");
}

#[test]
fn every_mistake_in_a_file_is_reported_with_its_position_and_a_remedy() {
    let mut report = String::new();
    for text in [
        "[run]\ngrcae = '1s'",
        "[run]\noutput-limit = 1",
        "[run]\nended_kept = 1",
        "[stop]\nxyzzy = 1",
        "[profiles.a]\ngracee = 1",
        "grace = '1s'",
        "[rnu]",
        "[xyzzy]",
        "run = 1",
        "profile = 1",
        "profiles.a = 1",
        "[run]\n  grace = '10x'",
        "[run]\ngrace = true",
        "[run]\nstay = 'yes'",
        "[run]\nstay = [1]",
        "[run]\npen = 'cgruop'",
        "[run]\noutput_limit = '5X'",
        "[run]\noutput_limit = '1K'",
        "[daemon]\nended_kept = -1",
        "[daemon]\nended_kept = true",
        "[daemon]\nmax_live_by_name = 3",
        "[daemon]\nmax_live_by_name = { 'ci-*' = true }",
        "[daemon]\nworktrees = 'trees'",
        "[api]\nlisten = '7380'",
        "[api]\nnames = [1]",
        "[api]\nnames = ['a b']",
        "[run]\nname = 'x'",
        "[run.env]\nKEY = 'x'",
        "[stop]\nx1 = 1\n[run]\ngrace = 'ü'\n[attach]\nx2 = 2",
        "[run]\ngrace 5s",
        "[run]\ngrace = ",
        "[run]\ngrace = '5s\n",
        "[run",
        "[run]\ngrace = 1\ngrace = 2",
        "\nprofile = 'x'",
    ] {
        report += &format!("{text}\n=> {}\n\n", error_of(text, &[], None).replace('\n', "\n   "));
    }
    insta::assert_snapshot!(report);
}

#[test]
fn an_unknown_profile_is_reported_with_the_known_ones() {
    let text = "[profiles.fast]\n[profiles.slow]\n";
    let nowhere = Settings::from(None, &[("HOME", "/no/home")], ProfileChoice::Selected(Some("x")));
    insta::assert_snapshot!(
        [
            error_of(text, &[], Some("fsat")),
            error_of(text, &[("KENNEL_PROFILE", "x")], None),
            error_of("", &[], Some("x")),
            nowhere.unwrap_err().to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn a_mistake_in_the_environment_is_reported_with_the_variable() {
    let errors = [
        ("KENNEL_RUN_GRACE", "10x"),
        ("KENNEL_RUN_STAY", "maybe"),
        ("KENNEL_RUN_GRCAE", "1s"),
        ("KENNEL_RUN_XYZZY", "1s"),
    ];
    insta::assert_snapshot!(errors.map(|pair| error_of("", &[pair], None)).join("\n"));
    // Mistakes in the file and in the environment are reported together.
    let both = error_of("x = 1", &[("KENNEL_RUN_GRACE", "10x")], None);
    assert_eq!(both.lines().count(), 2, "{both}");
    // Other programs' variables and empty ones are ignored.
    let others = [("KENNEL_RUNNER", "x"), ("KENNEL_SESSION_ID", "y"), ("KENNEL_RUN_GRACE", "")];
    assert!(Settings::from(None, &others, ProfileChoice::Selected(None)).is_ok());
}

#[test]
fn a_named_file_must_exist() {
    let missing = Path::new("/no/such/file");
    let named = |flag, variables: &[_]| Settings::from(flag, variables, ProfileChoice::None);
    assert_eq!(
        named(Some(missing), &[]).unwrap_err().to_string(),
        "/no/such/file (named by --config): can't read the file: No such file or directory (os error 2)"
    );
    let error = named(None, &[("KENNEL_CONFIG", "/no/such/file")]).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file (named by KENNEL_CONFIG): can't read"), "{error}");
    assert!(!named(None, &[("HOME", "/no/such/home")]).unwrap().exists);
    // An unreadable file is an error even in the default location.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kennel/kennel.toml")).unwrap();
    let home = folder.path().to_str().unwrap();
    assert!(named(None, &[("XDG_CONFIG_HOME", home)]).is_err());
    let bytes = file("");
    fs::write(&bytes.path, b"# \xff").unwrap();
    let error = named(Some(&bytes.path), &[]).unwrap_err().to_string();
    assert!(error.ends_with("not valid UTF-8 from byte 2 on"), "{error}");
}

/// A new flag of `run` needs a line in the table, or a reason why it can't be set.
#[test]
fn every_flag_of_run_can_be_set_or_has_a_reason_why_not() {
    let command = command();
    let run = command.find_subcommand("run").unwrap();
    let flags = run.get_arguments().filter(|flag| !flag.is_hide_set());
    let mut flags: BTreeSet<_> = flags.map(|flag| flag.get_id().as_str()).collect();
    assert!(flags.remove("no_tty"), "the opposite of tty");
    let keys = keys::of_section("run").map(|key| key.name.key);
    let known: BTreeSet<_> = keys.chain(NOT_CONFIGURABLE.iter().map(|(flag, _)| *flag)).collect();
    assert_eq!(flags, known);
}

#[test]
fn every_key_is_a_flag_that_can_have_a_default_and_its_built_in_value_is_valid() {
    let command = command();
    let checker = Checker::new();
    for key in KEYS {
        if key.kind.is_none() {
            let flag = flags::find(&command, key.name.section, key.name.key).expect("a flag");
            let action = flag.get_action();
            assert!(matches!(action, ArgAction::Set | ArgAction::SetTrue), "{}", key.name);
        }
        if let Some(text) = built_in(&command, key) {
            assert_eq!(checker.variable(key, &text), Ok(text), "{}", key.name);
        }
    }
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len(), "each key once");
    let sections = keys::sections();
    assert_eq!(sections.len(), sections.iter().collect::<BTreeSet<_>>().len(), "no section split");
}

const DOCS: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn the_example_in_the_docs_is_valid_and_has_every_key() {
    let rest = DOCS.split_once("```toml\n").expect("an example").1;
    let example = rest.split_once("```").expect("its end").0;
    let document = Document::parse(Path::new("example"), example, &Checker::new()).unwrap();
    for key in KEYS {
        assert!(document.layer.contains_key(&key.name), "{} is missing", key.name);
    }
    assert!(document.profile.is_none() || document.profiles.len() > 1);
    assert!(!document.profiles.is_empty());
}

#[test]
fn the_docs_state_the_built_in_values() {
    let command = command();
    for key in KEYS {
        let row = DOCS.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("no row for {}", key.name));
        if let Some(text) = built_in(&command, key) {
            assert!(row.contains(&format!("| `{text}` |")), "{row} does not state {text}");
        }
    }
}
