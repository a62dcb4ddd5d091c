//! Small HTML pages for browsers that are not signed in, and for programs that were built without the dashboard.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("html_page.html");

/// Returns a page that redirects to another path of this site.
pub(super) fn redirect(status: StatusCode, path: &str) -> Response {
    // The path becomes part of an attribute, so allow only characters without a special meaning in HTML.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    let safe = path.starts_with('/') && !path.starts_with("//") && path.chars().all(plain);
    let path = if safe { path } else { "/" };
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={path}\">\n");
    page(status, &head, "Redirecting", &format!("<p><a href=\"{path}\">Continue</a></p>"))
}

pub(super) fn not_signed_in() -> Response {
    page(
        StatusCode::UNAUTHORIZED,
        "",
        "This browser is not signed in",
        "<p>Run this command in a terminal on the machine that runs Kennel:</p>\n\
         <pre>kennel dashboard</pre>\n\
         <p>It opens a link that signs this browser in for a week. <code>kennel dashboard --no-open</code> prints the \
         link instead, and <code>--read-only</code> creates one that can't change anything.</p>\n\
         <p class=\"soft\"><code>kennel token revoke</code> signs a browser out; rotating the main token signs out all \
         browsers.</p>",
    )
}

pub(super) fn invalid_link() -> Response {
    page(
        StatusCode::FORBIDDEN,
        "",
        "This link is no longer valid",
        "<p>A sign-in link works once, within ten minutes. To create a new one, run:</p>\n<pre>kennel dashboard</pre>\n\
         <p class=\"soft\">(In the folder with Kennel's sources: <code>cargo run --release -- dashboard</code>.) If this \
         browser is already signed in, <a href=\"/\">go to the dashboard</a>.</p>",
    )
}

pub(super) fn no_dashboard(version: &str, why: &str) -> Response {
    let (version, why) = (escape(version), escape(why));
    let text = format!(
        "<p>Kennel {version} is running, and this browser is signed in, but the program was built without the dashboard:</p>\n\
         <pre class=\"reason\">{why}</pre>\n\
         <p>Install Node 20 or newer with npm, and build the program again in the folder with Kennel's sources:</p>\n\
         <pre>KENNEL_WEB=require cargo build --release</pre>\n\
         <p>If something is missing, the build fails and reports it. Then run <code>kennel daemon restart</code> with the \
         new program; sessions keep running.</p>\n\
         <p class=\"soft\">The command line and <a href=\"/v1/openapi.json\">the API</a> can do everything that the \
         dashboard can.</p>"
    );
    page(StatusCode::OK, "", "This program has no dashboard", &text)
}

/// Returns a page with this title and text. The text is HTML, and `head` is added to the page's head.
fn page(status: StatusCode, head: &str, title: &str, text: &str) -> Response {
    let html = PAGE.replace("{head}", head).replace("{title}", title).replace("{text}", text);
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

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
    async fn escapes_untrusted_text() {
        let page = text(no_dashboard("1.0", "<script>alert(1)</script>\n{title}")).await;
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(!page.contains("<script") && page.contains("Kennel 1.0 is running"), "{page}");
        assert!(page.contains("KENNEL_WEB=require"), "{page}");
    }

    #[tokio::test]
    async fn redirects_an_unsafe_path_to_the_front_page() {
        let leads = async |path| {
            text(redirect(StatusCode::OK, path)).await.contains(&format!("url={path}\""))
        };
        assert!(leads("/sessions/0sp2m5p09ddg").await && leads("/").await);
        for path in ["/a\"b", "/a'b", "/a;url=x", "/%22"] {
            assert!(!leads(path).await, "{path}");
        }
        // Never to another host.
        assert!(text(redirect(StatusCode::OK, "//evil.example")).await.contains("url=/\""));
    }
}
