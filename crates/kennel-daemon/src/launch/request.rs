//! The checked request for a launch: from the client's request to the keeper's order.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kennel_keeper::journal::MIN_LIMIT;
use kennel_keeper::protocol::{LaunchOrder, Stdin, TerminalOrder};
use kennel_pen::{PenName, ResourceLimit, Size};
use kennel_types::api::{CreateRequest, Environment, OsText, ResumeRequest, StdinFrom};
use kennel_types::{LaunchToken, SessionId, SessionSpec, WorktreeSpec};
use rustix::fd::OwnedFd;

use crate::error::ApiError;
use crate::os::home::{API_SOCKET, TOKEN_FILE};
use crate::prompt::command;
use crate::prompt::settle::SettledPrompt;
use crate::readiness;

/// Variables that point git to a repository, index or files independent of the folder (see
/// `git rev-parse --local-env-vars`): a session that is started from a git hook has them.
const GIT_ENV_VARS: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];
const LONGEST_NAME: usize = 64;
/// How many special characters `termios` has at most.
const CHARACTER_LIMIT: usize = 64;

/// A checked request. Its values are exact; only the spec is recorded.
pub(crate) struct LaunchRequest {
    pub(crate) spec: SessionSpec,
    /// The id of the session, if it was made before admission.
    pub(crate) id: Option<SessionId>,
    /// Whether it is queued if it can't start at once.
    pub(crate) queue: bool,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    umask: u32,
    limits: Vec<ResourceLimit>,
    terminal: Option<TerminalOrder>,
    stdin: Stdin,
    given: Option<OwnedFd>,
    /// The prompt that the agent reads from its standard input.
    prompt: Option<Arc<[u8]>>,
}

impl std::fmt::Debug for LaunchRequest {
    /// Omits the environment, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchRequest").finish_non_exhaustive()
    }
}

impl LaunchRequest {
    /// Checks a request; `given` is the standard input that the client has handed over.
    pub(crate) fn new(request: CreateRequest, given: Option<OwnedFd>) -> Result<Self, ApiError> {
        let mut spec = request.spec.with_zero_as_unlimited();
        if let Some(name) = &spec.name {
            check_name(name)?;
        }
        if let Some(key) = &spec.key {
            kennel_types::check_key(key).map_err(ApiError::invalid)?;
        }
        readiness::check(&spec)?;
        if spec.output_limit < MIN_LIMIT {
            return Err(ApiError::invalid(format!(
                "invalid output_limit {}: expected at least {MIN_LIMIT} bytes",
                spec.output_limit
            )));
        }
        let argv: Vec<OsString> =
            request.argv.into_iter().map(|arg| exact(arg, "argv")).collect::<Result<_, _>>()?;
        if argv.is_empty() && spec.agent.is_none() {
            return Err(ApiError::invalid("argv is empty: expected a command"));
        }
        if let Some(number) = spec.stop_signal
            && rustix::process::Signal::from_named_raw(number).is_none()
        {
            let text = format!("invalid stop_signal {number}: unknown signal");
            return Err(ApiError::invalid(text));
        }
        let prompt = command::check(&mut spec, &argv, request.prompt)?;
        let env = request.env.into_iter().map(variable).collect::<Result<_, _>>()?;
        let cwd = PathBuf::from(exact(request.cwd, "cwd")?);
        spec.argv = argv.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        spec.cwd = cwd.to_string_lossy().into_owned();
        if !cwd.is_absolute() {
            return Err(ApiError::invalid(format!("cwd {cwd:?} is not absolute")));
        }
        if request.umask > 0o777 {
            return Err(ApiError::invalid(format!(
                "invalid umask {:o}: expected an octal number up to 777",
                request.umask
            )));
        }
        let limits = request.limits.into_iter().map(limit).collect::<Result<_, _>>()?;
        let terminal = spec.terminal.map(|size| TerminalOrder {
            size: Size { rows: size.rows, columns: size.columns },
            settings: request.terminal_settings,
            stderr_apart: request.stderr_apart,
        });
        let characters = terminal.as_ref().and_then(|terminal| terminal.settings.as_ref());
        if characters.is_some_and(|settings| settings.characters.len() > CHARACTER_LIMIT) {
            return Err(ApiError::invalid("terminal_settings has too many special characters"));
        }
        let stdin = match (&request.stdin, &given) {
            _ if prompt.is_some() => Stdin::Given,
            _ if terminal.is_some() => Stdin::Null,
            (StdinFrom::Null, _) => Stdin::Null,
            (StdinFrom::Pipe, _) => Stdin::Pipe,
            (StdinFrom::Deposit { .. }, Some(_)) => Stdin::Given,
            (StdinFrom::Deposit { .. }, None) => {
                return Err(ApiError::invalid("unknown stdin ticket (tickets expire after 30 s)")
                    .hint("hand over standard input first, then send the request"));
            }
        };
        let given = given.filter(|_| stdin == Stdin::Given);
        spec.stdin = terminal.is_some() || stdin == Stdin::Pipe;
        // Clients can't set what the daemon decides about a worktree.
        spec.worktree = spec.worktree.as_ref().map(WorktreeSpec::as_requested);
        let (umask, queue) = (request.umask, request.queue);
        let (id, prompt) = (None, prompt.map(Arc::from));
        Ok(Self { spec, id, queue, argv, env, cwd, umask, limits, terminal, stdin, given, prompt })
    }

    /// Returns a client's environment, from which prompts are made later: see
    /// [`LaunchRequest::with_prompt`].
    pub(crate) fn client_environment(
        env: Environment,
        cwd: OsText,
        umask: u32,
        limits: Vec<(u32, u64, u64)>,
    ) -> Result<Self, ApiError> {
        let request = CreateRequest {
            argv: vec![OsText::Plain("true".to_owned())],
            env,
            cwd,
            umask,
            limits,
            queue: true,
            ..CreateRequest::default()
        };
        Self::new(request, None)
    }

    /// Whether it requests a worktree that is not planned yet.
    pub(crate) fn wants_plan(&self) -> bool {
        self.spec.worktree.as_ref().is_some_and(|worktree| worktree.record.is_none())
    }

    pub(crate) fn env(&self) -> &Vec<(OsString, OsString)> {
        &self.env
    }

    /// Sets the command of a prompt. Variables that the client has set stay.
    pub(crate) fn set_prompt(&mut self, settled: SettledPrompt) {
        let SettledPrompt { agent, command, folder } = settled;
        self.spec.stop_signal = self.spec.stop_signal.or(command.stop_signal);
        self.spec.agent = Some(Box::new(agent));
        self.argv = command.argv.iter().map(OsString::from).collect();
        self.spec.argv = command.argv;
        for (name, value) in command.env {
            if self.env.iter().all(|(set, _)| *set != *name) {
                self.env.push((name.into(), value.into()));
            }
        }
        if let Some(folder) = folder.filter(|_| self.spec.worktree.is_none()) {
            self.set_folder(&folder);
        }
    }

    /// Returns a prompt with the environment of this request.
    pub(crate) fn with_prompt(&self, spec: SessionSpec, prompt: &str) -> Self {
        let mut spec = spec.with_zero_as_unlimited();
        spec.stdin = false;
        Self {
            spec,
            id: None,
            queue: true,
            stdin: Stdin::Given,
            prompt: Some(Arc::from(prompt.as_bytes())),
            ..self.for_relaunch()
        }
    }

    /// Makes the agent start in this folder instead of the client's.
    pub(crate) fn set_folder(&mut self, cwd: &str) {
        cwd.clone_into(&mut self.spec.cwd);
        self.set_cwd(cwd.into());
    }

    fn set_cwd(&mut self, cwd: PathBuf) {
        for (_, value) in self.env.iter_mut().filter(|(name, _)| name == "PWD") {
            *value = cwd.clone().into();
        }
        self.cwd = cwd;
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Makes the agent start in this folder of its worktree, without variables that point git
    /// elsewhere.
    pub(crate) fn move_into_worktree(&mut self, cwd: PathBuf) {
        self.env.retain(|(name, _)| !GIT_ENV_VARS.iter().any(|other| name == *other));
        self.set_cwd(cwd);
    }

    /// Returns another launch of a session, with the environment of the client that resumes it.
    pub(crate) fn resumed(
        mut spec: SessionSpec,
        request: ResumeRequest,
        given: Option<OwnedFd>,
    ) -> Result<Self, ApiError> {
        let replaced = |text: &String| text.contains(char::REPLACEMENT_CHARACTER);
        if spec.argv.iter().chain([&spec.cwd]).any(replaced) {
            let what = "its command or folder is not valid UTF-8 and was not recorded exactly";
            return Err(ApiError::conflict(what).hint("start a new session with `kennel run`"));
        }
        // Its streams are of the same kind as before.
        let stdin = match request.stdin {
            _ if spec.stdin && spec.terminal.is_none() => StdinFrom::Pipe,
            StdinFrom::Pipe => StdinFrom::Null,
            other => other,
        };
        // An older version accepted a lower limit, and kept this much.
        spec.output_limit = spec.output_limit.max(MIN_LIMIT);
        spec.asked_by = request.by;
        spec.parent = request.parent;
        spec.tethered = request.tethered;
        let argv = spec.argv.iter().cloned().map(OsText::Plain).collect();
        let cwd = OsText::Plain(spec.cwd.clone());
        // It has the worktree that was decided on for its first launch.
        let worktree = spec.worktree.clone();
        let request = CreateRequest {
            spec,
            argv,
            env: request.env,
            cwd,
            umask: request.umask,
            limits: request.limits,
            stdin,
            terminal_settings: request.terminal_settings,
            stderr_apart: request.stderr_apart,
            queue: request.queue,
            ..CreateRequest::default()
        };
        let mut launch = Self::new(request, given)?;
        launch.spec.worktree = worktree;
        Ok(launch)
    }

    /// Returns a copy for a further launch. A standard input that was handed over is used up.
    pub(crate) fn for_relaunch(&self) -> Self {
        Self {
            spec: self.spec.clone(),
            id: None,
            queue: self.queue,
            argv: self.argv.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            umask: self.umask,
            limits: self.limits.clone(),
            terminal: self.terminal.clone(),
            stdin: match self.stdin {
                Stdin::Given if self.prompt.is_none() => Stdin::Null,
                same => same,
            },
            given: None,
            prompt: self.prompt.clone(),
        }
    }

    /// Returns a launch that a former daemon has stored with the yard.
    pub(crate) fn from_stored(spec: SessionSpec, order: LaunchOrder) -> Self {
        let LaunchOrder { argv, env, cwd, umask, limits, terminal, stdin, prompt, .. } = order;
        let (id, queue, given, prompt) = (None, true, None, prompt.map(Arc::from));
        Self { spec, id, queue, argv, env, cwd, umask, limits, terminal, stdin, given, prompt }
    }

    /// Returns the order for the keeper, and the standard input.
    pub(crate) fn order(
        self,
        name: PenName,
        token: &LaunchToken,
        home: &Path,
        folder: PathBuf,
    ) -> (LaunchOrder, Option<OwnedFd>) {
        let mut env = self.env;
        // The client's own variables with these names are those of the session that it runs in.
        let own = own_variables(&name, token, home, &folder);
        env.retain(|(name, _)| own.iter().all(|(own, _)| name != own));
        env.extend(own.map(|(name, value)| (name.into(), value)));
        let spec = self.spec;
        let order = LaunchOrder {
            name,
            token: token.secret().to_owned(),
            folder,
            argv: self.argv,
            env,
            cwd: self.cwd,
            umask: self.umask,
            limits: self.limits,
            kind: spec.pen,
            linger: spec.linger,
            grace: spec.grace,
            lease: spec.lease,
            tethered: spec.tethered,
            terminal: self.terminal,
            stdin: self.stdin,
            output_limit: spec.output_limit,
            timeout: spec.timeout,
            idle: spec.idle,
            silence: spec.silence,
            memory: spec.memory,
            pids: spec.pids,
            cpu: spec.cpu,
            best_effort: spec.best_effort,
            stop_signal: spec.stop_signal,
            prompt: self.prompt.map(|prompt| prompt.to_vec()),
        };
        (order, self.given)
    }
}

/// Returns the variables with which an agent can report about its session. Only the token is
/// written to disk.
fn own_variables(
    name: &PenName,
    token: &LaunchToken,
    home: &Path,
    folder: &Path,
) -> [(&'static str, OsString); 5] {
    [
        ("KENNEL_HOME", home.into()),
        ("KENNEL_SESSION", name.session.as_str().into()),
        ("KENNEL_TOKEN", token.secret().into()),
        ("KENNEL_TOKEN_FILE", folder.join(TOKEN_FILE).into()),
        ("KENNEL_SOCKET", home.join(API_SOCKET).into()),
    ]
}

/// Checks a session name: no whitespace, no control characters, no leading dash.
pub(crate) fn check_name(name: &str) -> Result<(), ApiError> {
    let sound = |c: char| !c.is_whitespace() && !c.is_control() && c != '/';
    let length = name.chars().count();
    if kennel_types::looks_like_id(name) {
        let text = format!("invalid session name {name:?}: it looks like an id");
        return Err(ApiError::invalid(text).hint("choose a name that does not look like an id"));
    }
    if (1..=LONGEST_NAME).contains(&length) && name.chars().all(sound) && !name.starts_with('-') {
        return Ok(());
    }
    Err(ApiError::invalid(format!("invalid session name {name:?}")).hint(format!(
        "a name has 1 to {LONGEST_NAME} characters without spaces or /, and does not begin with -"
    )))
}

fn exact(text: OsText, what: &str) -> Result<OsString, ApiError> {
    let text =
        OsString::try_from(text).map_err(|why| ApiError::invalid(format!("{what}: {why}")))?;
    no_nul(&text, what)?;
    Ok(text)
}

fn no_nul(text: &OsStr, what: &str) -> Result<(), ApiError> {
    if text.as_bytes().contains(&0) {
        return Err(ApiError::invalid(format!("{what} contains a NUL byte")));
    }
    Ok(())
}

/// Errors about a variable do not show its value: it may be a secret.
fn variable((name, value): (OsText, OsText)) -> Result<(OsString, OsString), ApiError> {
    let name = exact(name, "env")?;
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(ApiError::invalid(format!("env: invalid variable name {name:?}")));
    }
    let wrong = || ApiError::invalid(format!("env: the value of {name:?} is not hex"));
    let value = OsString::try_from(value).map_err(|_| wrong())?;
    no_nul(&value, "env: a value")?;
    Ok((name, value))
}

fn limit((resource, soft, hard): (u32, u64, u64)) -> Result<ResourceLimit, ApiError> {
    if soft > hard {
        return Err(ApiError::invalid(format!(
            "limit {resource}: the soft limit is above the hard one"
        )));
    }
    Ok(ResourceLimit { resource, soft, hard })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    pub(crate) fn request(argv: &[&str]) -> CreateRequest {
        CreateRequest {
            spec: SessionSpec {
                grace: Duration::from_secs(5),
                asked_by: "test".into(),
                ..SessionSpec::default()
            },
            argv: argv.iter().map(|arg| OsText::Plain((*arg).to_owned())).collect(),
            env: Environment(vec![(OsText::Plain("A".into()), OsText::Plain("b".into()))]),
            cwd: OsText::Plain("/".into()),
            umask: 0o22,
            ..CreateRequest::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut CreateRequest)) -> String {
        let mut request = request(&["true"]);
        change(&mut request);
        let refused = LaunchRequest::new(request, None).unwrap_err();
        assert_eq!(refused.problem().code, "invalid");
        refused.problem().detail
    }

    #[test]
    fn an_invalid_field_is_named_in_the_error() {
        let plain = |text: &str| OsText::Plain(text.to_owned());
        assert!(refusal(|r| r.argv.clear()).contains("argv"));
        assert!(refusal(|r| r.argv.push(plain("a\0b"))).contains("NUL"));
        assert!(refusal(|r| r.argv.push(OsText::Bytes { hex: "f".into() })).contains("hex"));
        assert!(refusal(|r| r.cwd = plain("relative")).contains("absolute"));
        assert!(refusal(|r| r.env.0.push((plain("A=B"), plain("")))).contains("A=B"));
        assert!(refusal(|r| r.env.0.push((plain(""), plain("")))).contains("variable name"));
        assert!(refusal(|r| r.umask = 0o1000).contains("umask"));
        assert!(refusal(|r| r.limits.push((7, 2, 1))).contains("soft"));
        for too_little in [0, MIN_LIMIT - 1] {
            let detail = refusal(|r| r.spec.output_limit = too_little);
            assert!(detail.contains(&format!("output_limit {too_little}:")), "{detail}");
            assert!(detail.contains("131072"), "{detail}");
        }
        assert!(refusal(|r| r.spec.name = Some("two words".into())).contains("two words"));
        assert!(refusal(|r| r.spec.name = Some("--all".into())).contains("--all"));
        let ticket = "0".repeat(32);
        assert!(refusal(|r| r.stdin = StdinFrom::Deposit { ticket }).contains("stdin ticket"));
    }

    #[test]
    fn a_refusal_shows_no_value_of_the_environment() {
        let secret = OsText::Bytes { hex: "secret".into() };
        let detail = refusal(|r| r.env.0.push((OsText::Plain("TOKEN".into()), secret)));
        assert!(detail.contains("TOKEN") && !detail.contains("secret"), "{detail}");
        let launch = LaunchRequest::new(request(&["true"]), None).unwrap();
        assert!(!format!("{launch:?}").contains("\"b\""));
    }

    #[test]
    fn in_a_worktree_no_variable_points_git_elsewhere() {
        let mut request = request(&["true"]);
        for (name, value) in [("PWD", "/old"), ("GIT_DIR", "/old/.git"), ("GIT_EDITOR", "vi")] {
            request.env.0.push((OsText::Plain(name.into()), OsText::Plain(value.into())));
        }
        let planned = WorktreeSpec { record: Some("{}".into()), ..WorktreeSpec::default() };
        request.spec.worktree = Some(planned);
        let mut launch = LaunchRequest::new(request, None).unwrap();
        assert!(launch.wants_plan(), "a client can't set the plan");
        launch.move_into_worktree("/tree/sub".into());
        let env: Vec<_> = launch.env().iter().map(|(n, v)| (n.to_str(), v.to_str())).collect();
        assert_eq!(
            env,
            [("A", "b"), ("PWD", "/tree/sub"), ("GIT_EDITOR", "vi")]
                .map(|(n, v)| (Some(n), Some(v)))
        );
        assert_eq!(launch.cwd(), Path::new("/tree/sub"));
    }

    #[test]
    fn the_order_is_exact_and_has_the_variables_of_the_session() {
        let mut request = request(&["printf"]);
        request.argv.push(OsText::Bytes { hex: "ff00".replace("00", "41") });
        for name in ["KENNEL_HOME", "KENNEL_TOKEN", "KENNEL_SESSION"] {
            request.env.0.push((OsText::Plain(name.into()), OsText::Plain("/other".into())));
        }
        let launch = LaunchRequest::new(request, None).unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let (order, given) =
            launch.order(name, &LaunchToken::new(1), Path::new("/home"), "/home/s".into());
        assert!(given.is_none());
        assert_eq!(order.argv[1].as_bytes(), b"\xffA");
        let homes: Vec<_> = order.env.iter().filter(|(name, _)| name == "KENNEL_HOME").collect();
        assert_eq!(homes, [&("KENNEL_HOME".into(), "/home".into())]);
        let value_of = |name: &str| {
            let mut values = order.env.iter().filter(|(other, _)| other == name);
            let value = values.next().map(|(_, value)| value.to_str().unwrap().to_owned());
            assert!(values.next().is_none(), "{name} is set twice");
            value.unwrap_or_else(|| panic!("{name} is not set"))
        };
        assert_eq!(value_of("KENNEL_SESSION"), order.name.session.as_str());
        assert_eq!(value_of("KENNEL_TOKEN"), LaunchToken::new(1).secret());
        assert_eq!(value_of("KENNEL_TOKEN_FILE"), "/home/s/token");
        assert_eq!(value_of("KENNEL_SOCKET"), "/home/kennel.sock");
    }
}
