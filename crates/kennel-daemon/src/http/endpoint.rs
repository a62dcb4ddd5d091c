//! One place of the API: what serves it, and what is said of it. Routes and description are made from the same list, so
//! that neither has what the other has not.

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};

use super::{Api, socket, sse};

/// A type that the description can tell of.
#[cfg(feature = "schema")]
pub(super) trait Told: schemars::JsonSchema {}
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Told for T {}
/// Without the description any type will do.
#[cfg(not(feature = "schema"))]
pub(super) trait Told {}
#[cfg(not(feature = "schema"))]
impl<T> Told for T {}

/// How the schema of a type is made; without the description, nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape(
    #[cfg(feature = "schema")] pub(super) fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
);

impl Shape {
    pub(super) fn of<T: Told>() -> Self {
        Self(
            #[cfg(feature = "schema")]
            |generator| generator.subschema_for::<T>(),
        )
    }
}

/// What is in the answer to a request that was granted.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "schema"), expect(dead_code, reason = "there is nobody to tell"))]
pub(super) enum Content {
    /// Nothing.
    Nothing,
    /// JSON of this shape.
    Json(Shape),
    /// A stream in one of these media types, of things of this shape.
    Stream(&'static [&'static str], Shape),
    /// Something of this media type.
    Other(&'static str),
    /// From here on it is a WebSocket.
    WebSocket,
}

/// See the module.
#[derive(Debug)]
#[cfg_attr(not(feature = "schema"), expect(dead_code, reason = "there is nobody to tell"))]
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    serve: MethodRouter<Api>,
    /// What programs call it.
    pub(super) id: &'static str,
    /// What it does, in a line.
    pub(super) about: &'static str,
    pub(super) status: u16,
    pub(super) content: Content,
    pub(super) query: Option<Shape>,
    pub(super) body: Option<Shape>,
    /// Whether it is a stream of events if that is asked for.
    tells_events: bool,
}

impl Endpoint {
    /// Its query has the parameters of this type.
    pub(super) fn query<T: Told>(mut self) -> Self {
        self.query = Some(Shape::of::<T>());
        self
    }

    /// Its body is JSON of this type.
    pub(super) fn body<T: Told>(mut self) -> Self {
        self.body = Some(Shape::of::<T>());
        self
    }

    /// The answer is JSON of this type.
    pub(super) fn answer<T: Told>(mut self, status: u16) -> Self {
        self.status = status;
        self.content = Content::Json(Shape::of::<T>());
        self
    }

    /// The answer is a stream in one of these media types, of things of this type.
    pub(super) fn stream<T: Told>(mut self, kinds: &'static [&'static str]) -> Self {
        self.status = 200;
        self.content = Content::Stream(kinds, Shape::of::<T>());
        self.tells_events = kinds.contains(&sse::EVENT_STREAM);
        self
    }

    /// The answer is a stream of events, too, if that is asked for.
    pub(super) fn or_events(mut self) -> Self {
        self.tells_events = true;
        self
    }

    /// The answer is empty, with another status than 204.
    pub(super) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The answer is a WebSocket.
    pub(super) fn web_socket(mut self) -> Self {
        self.status = 101;
        self.content = Content::WebSocket;
        self
    }

    /// The answer is something of this media type.
    pub(super) fn other(mut self, kind: &'static str) -> Self {
        self.status = 200;
        self.content = Content::Other(kind);
        self
    }
}

/// What programs call it, and what it does.
type Words = (&'static str, &'static str);

fn endpoint<H: Handler<T, Api>, T: 'static>(
    (method, filter): (&'static str, MethodFilter),
    path: &'static str,
    handler: H,
    (id, about): Words,
) -> Endpoint {
    let (serve, content) = (on(filter, handler), Content::Nothing);
    let (status, query, body, tells_events) = (204, None, None, false);
    Endpoint { method, path, serve, id, about, status, content, query, body, tells_events }
}

/// Something that is read.
pub(super) fn get<H: Handler<T, Api>, T: 'static>(
    path: &'static str,
    handler: H,
    words: Words,
) -> Endpoint {
    endpoint(("get", MethodFilter::GET), path, handler, words)
}

/// Something that is done.
pub(super) fn post<H: Handler<T, Api>, T: 'static>(
    path: &'static str,
    handler: H,
    words: Words,
) -> Endpoint {
    endpoint(("post", MethodFilter::POST), path, handler, words)
}

/// Something that is removed.
pub(super) fn delete<H: Handler<T, Api>, T: 'static>(
    path: &'static str,
    handler: H,
    words: Words,
) -> Endpoint {
    endpoint(("delete", MethodFilter::DELETE), path, handler, words)
}

/// A router of them all. Those that stream events do so over a WebSocket too.
pub(super) fn router(endpoints: Vec<Endpoint>, api: &Api) -> Router<Api> {
    let serve = |router: Router<Api>, endpoint: Endpoint| {
        let serve = match endpoint.tells_events {
            true => endpoint.serve.layer(from_fn_with_state(api.clone(), socket::or_stream)),
            false => endpoint.serve,
        };
        router.route(endpoint.path, serve)
    };
    endpoints.into_iter().fold(Router::new(), serve)
}
