//! Small pages of our own: for those who are not let in, and where there is no dashboard.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("page.html");

/// A page with this title and text, which is HTML.
pub(super) fn page(status: StatusCode, title: &str, text: &str) -> Response {
    with_head(status, "", title, text)
}

/// Leads on to another address, which is a path of ours.
pub(super) fn onward(status: StatusCode, path: &str) -> Response {
    // It stands in an attribute within an attribute: nothing there that means something in either.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    let own = path.starts_with('/') && !path.starts_with("//") && path.chars().all(plain);
    let path = if own { path } else { "/" };
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={path}\">\n");
    with_head(status, &head, "One moment", &format!("<p><a href=\"{path}\">Go on</a></p>"))
}

/// For a browser that is not known.
pub(super) fn not_signed_in() -> Response {
    page(
        StatusCode::UNAUTHORIZED,
        "This browser is not signed in",
        "<p>Run this in a terminal on the machine where Kennel runs:</p>\n\
         <pre>kennel dashboard</pre>\n\
         <p>It opens a link that lets this browser in for a week. <code>kennel dashboard --no-open</code> only prints \
         it, and <code>--read-only</code> makes one that may look and change nothing.</p>\n\
         <p class=\"soft\">A browser that was let in before is signed out by <code>kennel token revoke</code>, or with \
         all others when the main token is rotated.</p>",
    )
}

/// For a link that lets nobody in.
pub(super) fn void_link() -> Response {
    page(
        StatusCode::FORBIDDEN,
        "This link is not good any more",
        "<p>Each is good once, and for ten minutes. This makes another:</p>\n<pre>kennel dashboard</pre>\n\
         <p class=\"soft\">(In the folder with Kennel's sources: <code>cargo run --release -- dashboard</code>.) A browser \
         that was let in before is still: <a href=\"/\">go to the dashboard</a>.</p>",
    )
}

/// For those who are let in where there is no dashboard.
pub(super) fn no_dashboard(version: &str, why: &str) -> Response {
    let (version, why) = (escape(version), escape(why));
    let text = format!(
        "<p>Kennel {version} runs, and this browser is signed in. But this program was built without the page that \
         would be here:</p>\n\
         <pre class=\"said\">{why}</pre>\n\
         <p>To have it, install Node 20 or newer with npm, and in the folder with Kennel's sources build it again:</p>\n\
         <pre>KENNEL_WEB=require cargo build --release</pre>\n\
         <p>That says what is missing, if anything is. Then <code>kennel daemon restart</code>, by the new program; \
         sessions go on.</p>\n\
         <p class=\"soft\">The command line and <a href=\"/v1/openapi.json\">the API</a> have everything that the \
         dashboard has.</p>"
    );
    page(StatusCode::OK, "This kennel has no dashboard", &text)
}

fn with_head(status: StatusCode, head: &str, title: &str, text: &str) -> Response {
    let html = PAGE.replace("{head}", head).replace("{title}", title).replace("{text}", text);
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

/// As HTML shows it.
fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(bytes.into()).unwrap()
    }

    #[tokio::test]
    async fn what_others_said_is_shown_and_not_obeyed() {
        let page = text(no_dashboard("1.0", "<script>alert(1)</script>\n{title}")).await;
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(!page.contains("<script") && page.contains("Kennel 1.0 runs"), "{page}");
        assert!(page.contains("KENNEL_WEB=require"), "{page}");
    }

    #[tokio::test]
    async fn a_path_that_could_mean_more_leads_to_the_front() {
        let leads = async |path| {
            text(onward(StatusCode::OK, path)).await.contains(&format!("url={path}\""))
        };
        assert!(leads("/sessions/0sp2m5p09ddg").await && leads("/").await);
        for path in ["/a\"b", "/a'b", "/a;url=x", "/%22"] {
            assert!(!leads(path).await, "{path}");
        }
        // Somebody else's host it never is.
        assert!(text(onward(StatusCode::OK, "//evil.example")).await.contains("url=/\""));
    }
}
