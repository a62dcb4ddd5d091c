//! `kennel token`: manages tokens for the API over TCP.

use kennel_types::api::{
    CreateTokenRequest, RevokeResponse, Scope, SecretView, TokenKind, TokenView,
};

use super::for_each;
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Print the main token, which is created if needed
    ///
    /// It is also in the file api.token of the home.
    Show(TokenJsonArgs),
    /// Create a token and print it
    ///
    /// The token is shown only once: Kennel stores only its hash.
    New(TokenNewArgs),
    /// List tokens and signed-in browsers
    #[command(visible_alias = "ls")]
    List(TokenJsonArgs),
    /// Replace a token with a new one and print it
    ///
    /// The old token becomes invalid at once, and its connections are closed. Rotating the main
    /// token also signs all browsers out.
    Rotate(TokenRotateArgs),
    /// Revoke tokens or browsers and close their connections
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenJsonArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenNewArgs {
    /// Create a read-only token
    #[arg(long)]
    read_only: bool,
    /// Name of the token [default: a generated one]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    print: TokenJsonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenRotateArgs {
    #[command(flatten)]
    print: TokenJsonArgs,
    /// Name of the token
    #[arg(value_name = "NAME", default_value = "main")]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenRevokeArgs {
    /// Names of the tokens or browsers
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

pub(crate) fn token(daemon: &DaemonClient, args: &TokenArgs) -> Result<u8, CommandError> {
    match &args.verb {
        TokenVerb::Show(args) => print_secret(&daemon.get("/v1/access/token")?, args),
        TokenVerb::New(args) => {
            let scope = if args.read_only { Scope::ReadOnly } else { Scope::Full };
            let new = CreateTokenRequest { name: args.name.clone(), scope };
            let created: SecretView = daemon.post("/v1/access/tokens", &new)?;
            if !args.print.json {
                print_message(&format!("token {}: it is shown only once", created.token.name));
            }
            print_secret(&created, &args.print)
        }
        TokenVerb::List(args) => {
            let tokens: Vec<TokenView> = daemon.get("/v1/access/tokens")?;
            print::json_or_text(args.json, &tokens, || table(&tokens, ColorMode::of_stdout()))
        }
        TokenVerb::Rotate(args) => {
            let path = format!("/v1/access/tokens/{}/rotate", escape(&args.name));
            let created: SecretView = daemon.post(&path, &serde_json::json!({}))?;
            if !args.print.json {
                print_message(&format!(
                    "token {}: the old one is no longer valid; {}",
                    args.name,
                    closed(created.cut)
                ));
            }
            print_secret(&created, &args.print)
        }
        TokenVerb::Revoke(args) => for_each(&args.names, |name| {
            let path = format!("/v1/access/tokens/{}", escape(name));
            let sent = daemon.send("DELETE", &path, None::<&()>, Timeout::Short)?;
            let answer: RevokeResponse = sent.receive()?;
            print(&format!("{name}: revoked; {}\n", closed(answer.cut)))
        }),
    }
}

fn closed(connections: u64) -> String {
    let number = usize::try_from(connections).unwrap_or(usize::MAX);
    format!("{} closed", counted(number, "connection"))
}

fn print_secret(created: &SecretView, args: &TokenJsonArgs) -> Result<u8, CommandError> {
    print::json_or_text(args.json, created, || format!("{}\n", created.secret))
}

fn table(tokens: &[TokenView], color: ColorMode) -> String {
    let columns = ["NAME", "KIND", "SCOPE", "CREATED", "EXPIRES"].map(Column::whole);
    let mut table = TextTable::new(&columns);
    for token in tokens {
        let kind = match token.kind {
            TokenKind::Main => "main token",
            TokenKind::Extra => "token",
            TokenKind::Browser => "browser",
        };
        let scope = match token.scope {
            Scope::Full => "full",
            Scope::ReadOnly => "read-only",
        };
        let time = |at: &Option<String>| at.clone().unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            Cell::new(token.name.clone()),
            Cell::new(kind),
            Cell::new(scope),
            Cell::new(time(&token.made_at)),
            Cell::new(time(&token.expires_at)),
        ]);
    }
    table.text(None, color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_a_list() {
        let token = |name: &str, kind, scope, expires_at: Option<&str>| TokenView {
            name: name.to_owned(),
            kind,
            scope,
            made_at: Some("2026-01-31T12:00:00.000Z".to_owned()),
            expires_at: expires_at.map(ToOwned::to_owned),
        };
        let tokens = [
            token("main", TokenKind::Main, Scope::Full, None),
            token("ci", TokenKind::Extra, Scope::ReadOnly, None),
            token("b1", TokenKind::Browser, Scope::Full, Some("2026-02-07T12:00:00.000Z")),
        ];
        insta::assert_snapshot!(table(&tokens, ColorMode::Plain));
    }
}
