//! `kennel token`: who is let in over TCP.

use clap::{Args, Subcommand};
use kennel_types::api::{NewToken, RevokeAnswer, Scope, SecretView, TokenKind, TokenView};

use super::for_each;
use crate::command_error::{CommandError, say};
use crate::connect::{DaemonClient, Patience, StartDaemon, escape};
use crate::exit_code;
use crate::home::Home;
use crate::plural::counted;
use crate::print::{self, ColorMode, print};
use crate::table::{Cell, Column, TextTable};

/// The verbs of `kennel token`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Print the main token, made if there is none
    ///
    /// It is in the file api.token of the home too.
    Show(TokenJsonArgs),
    /// Make one more, and print it
    ///
    /// It is shown this once: only its sum is kept.
    New(TokenNewArgs),
    /// List tokens, and browsers that were let in
    #[command(visible_alias = "ls")]
    List(TokenJsonArgs),
    /// Put another secret in the place of a token's, and print it
    ///
    /// The former one is void at once, and connections by it are cut. With the main token all browsers are out too.
    Rotate(TokenRotateArgs),
    /// Let in no more by a token, or a browser; its connections are cut
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenJsonArgs {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenNewArgs {
    /// It may look, and change nothing
    #[arg(long)]
    read_only: bool,
    /// A name for it [default: one that is free]
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
    /// Which
    #[arg(value_name = "NAME", default_value = "main")]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct TokenRevokeArgs {
    /// Which, by name
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// Does it.
pub(crate) fn token(home: &Home, args: &TokenArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    match &args.verb {
        TokenVerb::Show(args) => tell(&daemon.get("/v1/access/token")?, args),
        TokenVerb::New(args) => {
            let scope = if args.read_only { Scope::ReadOnly } else { Scope::Full };
            let new = NewToken { name: args.name.clone(), scope };
            let made: SecretView = daemon.post("/v1/access/tokens", &new)?;
            if !args.print.json {
                say(&format!("token {}: shown this once, and kept nowhere", made.token.name));
            }
            tell(&made, &args.print)
        }
        TokenVerb::List(args) => list(&daemon, args),
        TokenVerb::Rotate(args) => {
            let path = format!("/v1/access/tokens/{}/rotate", escape(&args.name));
            let made: SecretView = daemon.post(&path, &serde_json::json!({}))?;
            if !args.print.json {
                say(&format!("token {}: the former one is void; {}", args.name, cut(made.cut)));
            }
            tell(&made, &args.print)
        }
        TokenVerb::Revoke(args) => for_each(&args.names, |name| {
            let path = format!("/v1/access/tokens/{}", escape(name));
            let sent = daemon.send("DELETE", &path, None::<&()>, Patience::Short)?;
            let answer: RevokeAnswer = sent.receive()?;
            print(&format!("{name}: revoked; {}\n", cut(answer.cut)))
        }),
    }
}

fn cut(connections: u64) -> String {
    let number = usize::try_from(connections).unwrap_or(usize::MAX);
    format!("{} cut", counted(number, "connection"))
}

fn tell(made: &SecretView, args: &TokenJsonArgs) -> Result<u8, CommandError> {
    if args.json {
        print::json(made)?;
    } else {
        print(&format!("{}\n", made.secret))?;
    }
    Ok(0)
}

fn list(daemon: &DaemonClient, args: &TokenJsonArgs) -> Result<u8, CommandError> {
    let tokens: Vec<TokenView> = daemon.get("/v1/access/tokens")?;
    if args.json {
        print::json(&tokens)?;
    } else {
        print(&table(&tokens, ColorMode::of_stdout()))?;
    }
    Ok(0)
}

fn table(tokens: &[TokenView], ink: ColorMode) -> String {
    let columns = ["NAME", "KIND", "MAY", "MADE", "EXPIRES"].map(Column::whole);
    let mut table = TextTable::new(&columns);
    for token in tokens {
        let kind = match token.kind {
            TokenKind::Main => "main token",
            TokenKind::Extra => "token",
            TokenKind::Browser => "browser",
        };
        let may = match token.scope {
            Scope::Full => "everything",
            Scope::ReadOnly => "look",
        };
        let moment = |at: &Option<String>| at.clone().unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            Cell::new(token.name.clone()),
            Cell::new(kind),
            Cell::new(may),
            Cell::new(moment(&token.made_at)),
            Cell::new(moment(&token.expires_at)),
        ]);
    }
    table.text(None, ink)
}
