//! Precedence, mistakes, and the table held against the flags and the docs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgAction;

use super::check::Checker;
use super::file::Document;
use super::keys::{self, KEYS, Meaning, NOT_OFFERED};
use super::settings::Settings;
use super::{ProfileChoice, built_in, command, flags};

/// A file with this text.
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

/// What is said of a file and variables, with FILE for the file.
fn complaint(text: &str, variables: &[(&str, &str)], profile: Option<&str>) -> String {
    let file = file(text);
    let settings = Settings::from(Some(&file.path), variables, ProfileChoice::Chosen(profile));
    let error = settings.expect_err(text).to_string();
    error.replace(file.path.to_str().unwrap(), "FILE")
}

/// Value and origin of a key, with FILE for the file.
fn shown(settings: &Settings, file: &Path, key: &str) -> Option<(String, String)> {
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
fn the_environment_goes_before_the_profile_and_that_before_the_file() {
    let file = file(LAYERED);
    let variables = [("KENNEL_RUN_GRACE", "3s"), ("KENNEL_PROFILE", "fast")];
    let settings =
        Settings::from(Some(&file.path), &variables, ProfileChoice::Chosen(None)).unwrap();
    let shown = |key| shown(&settings, &file.path, key);
    let said = |value: &str, origin: &str| Some((value.to_owned(), origin.to_owned()));
    assert_eq!(shown("run.grace"), said("3s", "env KENNEL_RUN_GRACE"));
    assert_eq!(shown("run.linger"), said("2s", "profile fast in FILE:8"));
    assert_eq!(shown("run.lease"), said("1s", "FILE:4"));
    assert_eq!(shown("run.pen"), None);
    assert_eq!(shown("daemon.ended_kept"), said("5", "FILE:11"));
    assert_eq!(settings.profile, Some(("fast".to_owned(), "env KENNEL_PROFILE".to_owned())));
    // A verb without profiles does not care for one.
    let settings = Settings::from(Some(&file.path), &variables, ProfileChoice::None).unwrap();
    assert_eq!(settings.profile, None);
}

#[test]
fn a_profile_is_chosen_by_flag_variable_or_file() {
    let text = format!("profile = 'c'\n{LAYERED}\n[profiles.a]\n[profiles.b]\n[profiles.c]\n");
    let file = file(&text);
    let chosen = |flag, variables: &[(&str, &str)]| {
        let settings = Settings::from(Some(&file.path), variables, ProfileChoice::Chosen(flag));
        settings.unwrap().profile.unwrap().0
    };
    let variable = [("KENNEL_PROFILE", "b")];
    assert_eq!(chosen(Some("a"), &variable), "a");
    assert_eq!(chosen(None, &variable), "b");
    assert_eq!(chosen(None, &[("KENNEL_PROFILE", "")]), "c");
}

#[test]
fn a_switch_in_the_environment_is_true_or_false() {
    let settings = Settings::from(None, &[("KENNEL_RUN_STAY", "1")], ProfileChoice::None);
    let stay = keys::find("run", "stay").unwrap().name;
    assert_eq!(settings.unwrap().get(stay).unwrap().text, "true");
}

#[test]
fn every_mistake_in_a_file_is_told_with_its_place_and_a_remedy() {
    for (text, said) in [
        ("[run]\ngrcae = '1s'", "FILE:2:1: unknown key `grcae` in [run]; did you mean `grace`?"),
        (
            "[run]\noutput-limit = 1",
            "FILE:2:1: unknown key `output-limit` in [run]; did you mean `output_limit`?",
        ),
        (
            "[run]\nended_kept = 1",
            "FILE:2:1: unknown key `ended_kept` in [run]; it belongs in [daemon]",
        ),
        ("[stop]\nxyzzy = 1", "FILE:2:1: unknown key `xyzzy` in [stop]; there are: grace"),
        (
            "[profiles.a]\ngracee = 1",
            "FILE:2:1: unknown key `gracee` in [profiles.a]; did you mean `grace`?",
        ),
        (
            "grace = '1s'",
            "FILE:1:1: unknown key `grace` above all sections; it belongs in [run] or [stop]",
        ),
        ("[rnu]", "FILE:1:2: unknown section [rnu]; did you mean [run]?"),
        (
            "[xyzzy]",
            "FILE:1:2: unknown section [xyzzy]; there are: run, stop, attach, prune, daemon, api, profiles",
        ),
        ("run = 1", "FILE:1:1: [run] is a section, and not an integer"),
        ("profile = 1", "FILE:1:11: `profile` is a name, and not an integer"),
        ("profiles.a = 1", "FILE:1:10: `a` is a profile, and not an integer"),
        (
            "[run]\n  grace = '10x'",
            "FILE:2:11: \"10x\" is not a time; write for instance 500ms, 10s, 2m, 1h or 7d",
        ),
        ("[run]\ngrace = true", "FILE:2:9: `grace` is a string (time), and not a boolean"),
        ("[run]\nstay = 'yes'", "FILE:2:8: `stay` is true or false, and not a string"),
        ("[run]\nstay = [1]", "FILE:2:8: `stay` is true or false, and not an array"),
        (
            "[run]\npen = 'cgruop'",
            "FILE:2:7: \"cgruop\" is not one of auto, cgroup, subtree, pidns; did you mean \"cgroup\"?",
        ),
        (
            "[run]\noutput_limit = '5X'",
            "FILE:2:16: \"5X\" is not a size; write for instance 512K, 64M or 1G",
        ),
        (
            "[run]\noutput_limit = '1K'",
            "FILE:2:16: \"1K\" is too little: a journal needs 128.0 KiB (131072 bytes)",
        ),
        (
            "[daemon]\nended_kept = -1",
            "FILE:2:14: \"-1\" is not a number; write for instance 0, 20 or 1000",
        ),
        ("[daemon]\nended_kept = true", "FILE:2:14: `ended_kept` is a number, and not a boolean"),
        (
            "[run]\nname = 'x'",
            "FILE:2:1: `name` can't be set here: a name is for one session; --name gives it",
        ),
        (
            "[run.env]\nKEY = 'x'",
            "FILE:1:6: `env` can't be set here: what is secret does not belong in this file; \
             --env and --env-file set variables",
        ),
        (
            "[stop]\nx1 = 1\n[run]\ngrace = 'ü'\n[attach]\nx2 = 2",
            "FILE:2:1: unknown key `x1` in [stop]; there are: grace\n\
             FILE:4:9: \"ü\" is not a time; write for instance 500ms, 10s, 2m, 1h or 7d\n\
             FILE:6:1: unknown key `x2` in [attach]; there are: detach_keys",
        ),
    ] {
        assert_eq!(complaint(text, &[], None), said, "{text}");
    }
}

#[test]
fn text_that_is_no_toml_is_told_with_line_and_column() {
    for (text, said) in [
        ("[run]\ngrace 5s", "FILE:2:7: key with no value, expected `=`"),
        ("[run]\ngrace = ", "FILE:2:9: "),
        ("[run]\ngrace = '5s\n", "FILE:2:"),
        ("[run", "FILE:1:5: unclosed table, expected `]`"),
        ("[run]\ngrace = 1\ngrace = 2", "FILE:3:1: duplicate key"),
    ] {
        let complaint = complaint(text, &[], None);
        assert!(complaint.starts_with(said), "{text:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
}

#[test]
fn a_profile_that_is_not_there_is_told_with_those_that_are() {
    let text = "[profiles.fast]\n[profiles.slow]\n";
    assert_eq!(
        complaint(text, &[], Some("fsat")),
        "--profile: there is no profile \"fsat\" in FILE (there are: fast, slow); did you mean fast?"
    );
    assert_eq!(
        complaint(text, &[("KENNEL_PROFILE", "x")], None),
        "KENNEL_PROFILE: there is no profile \"x\" in FILE (there are: fast, slow)"
    );
    assert_eq!(
        complaint("\nprofile = 'x'", &[], None),
        "FILE:2:11: there is no profile \"x\" in FILE (it has none)"
    );
    let nowhere = Settings::from(None, &[("HOME", "/no/home")], ProfileChoice::Chosen(Some("x")));
    assert_eq!(
        nowhere.unwrap_err().to_string(),
        "--profile: there is no profile \"x\": there is no file /no/home/.config/kennel/kennel.toml"
    );
}

#[test]
fn a_mistake_in_the_environment_is_told_with_the_variable() {
    for (variable, value, said) in [
        (
            "KENNEL_RUN_GRACE",
            "10x",
            "\"10x\" is not a time; write for instance 500ms, 10s, 2m, 1h or 7d",
        ),
        ("KENNEL_RUN_STAY", "maybe", "\"maybe\" is neither true nor false"),
        (
            "KENNEL_RUN_GRCAE",
            "1s",
            "there is nothing of this name to set; did you mean KENNEL_RUN_GRACE?",
        ),
    ] {
        assert_eq!(complaint("", &[(variable, value)], None), format!("{variable}: {said}"));
    }
    // Both places at once.
    let both = complaint("x = 1", &[("KENNEL_RUN_GRACE", "10x")], None);
    assert_eq!(both.lines().count(), 2, "{both}");
    // Not ours, or as good as unset.
    let others = [("KENNEL_RUNNER", "x"), ("KENNEL_SESSION_ID", "y"), ("KENNEL_RUN_GRACE", "")];
    assert!(Settings::from(None, &others, ProfileChoice::Chosen(None)).is_ok());
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let missing = Path::new("/no/such/file");
    let named = |flag, variables: &[_]| Settings::from(flag, variables, ProfileChoice::None);
    assert_eq!(
        named(Some(missing), &[]).unwrap_err().to_string(),
        "/no/such/file (named by --config): can't read it: No such file or directory (os error 2)"
    );
    let error = named(None, &[("KENNEL_CONFIG", "/no/such/file")]).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file (named by KENNEL_CONFIG): can't read it"), "{error}");
    assert!(!named(None, &[("HOME", "/no/such/home")]).unwrap().found);
    // What is there and can't be read is never as good as nothing.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kennel/kennel.toml")).unwrap();
    let home = folder.path().to_str().unwrap();
    assert!(named(None, &[("XDG_CONFIG_HOME", home)]).is_err());
    let bytes = file("");
    fs::write(&bytes.path, b"# \xff").unwrap();
    let error = named(Some(&bytes.path), &[]).unwrap_err().to_string();
    assert!(error.ends_with("it is not UTF-8 from byte 2 on"), "{error}");
}

/// A new flag of `run` gets a line in the table, or a reason why not.
#[test]
fn every_flag_of_run_can_be_set_or_it_is_said_why_not() {
    let command = command();
    let run = command.find_subcommand("run").unwrap();
    let flags = run.get_arguments().filter(|flag| !flag.is_hide_set());
    let mut flags: BTreeSet<_> = flags.map(|flag| flag.get_id().as_str()).collect();
    assert!(flags.remove("no_tty"), "the other half of a switch");
    let keys = keys::of_section("run").map(|key| key.name.key);
    let known: BTreeSet<_> = keys.chain(NOT_OFFERED.iter().map(|(flag, _)| *flag)).collect();
    assert_eq!(flags, known);
}

#[test]
fn every_key_is_a_flag_that_can_have_a_default_and_what_is_built_in_is_valid() {
    let command = command();
    let checker = Checker::new();
    for key in KEYS {
        if let Meaning::Flag = key.meaning {
            let flag = flags::find(&command, key.name.section, key.name.key).expect("a flag");
            let action = flag.get_action();
            assert!(matches!(action, ArgAction::Set | ArgAction::SetTrue), "{}", key.name);
        }
        if let Some(text) = built_in(&command, key) {
            assert_eq!(checker.variable(key, &text), Ok(text), "{}", key.name);
        }
    }
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len(), "each once");
    let sections = keys::sections();
    assert_eq!(sections.len(), sections.iter().collect::<BTreeSet<_>>().len(), "in one piece each");
}

const DOCS: &str = include_str!("../../../../docs/configuration.md");

/// The first TOML in the docs.
fn example() -> &'static str {
    let rest = DOCS.split_once("```toml\n").expect("an example").1;
    rest.split_once("```").expect("its end").0
}

#[test]
fn the_example_in_the_docs_is_understood_and_has_every_key() {
    let document = Document::parse(Path::new("example"), example(), &Checker::new()).unwrap();
    for key in KEYS {
        assert!(document.layer.get(key.name).is_some(), "{} is missing", key.name);
    }
    assert!(document.profile.is_none() || document.profiles.len() > 1);
    assert!(!document.profiles.is_empty());
}

/// The docs name what is built in; that must be so.
#[test]
fn the_docs_tell_what_is_built_in() {
    let command = command();
    for key in KEYS {
        let row = DOCS.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("no row for {}", key.name));
        if let Some(text) = built_in(&command, key) {
            assert!(row.contains(&format!("| `{text}` |")), "{row} says not {text}");
        }
    }
}
