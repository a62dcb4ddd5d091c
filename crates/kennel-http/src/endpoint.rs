//! An endpoint of the API: its handler and its documentation. Routes and the OpenAPI document are generated from the same
//! list, so that they have the same endpoints.

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::api::Api;
use crate::stream::{sse, ws_events};

type Text = &'static str;

#[cfg(feature = "schema")]
pub(crate) use schemars::JsonSchema as HasSchema;
/// A substitute without the feature `schema`: then no type needs a schema.
#[cfg(not(feature = "schema"))]
pub(crate) trait HasSchema {}
#[cfg(not(feature = "schema"))]
impl<T> HasSchema for T {}

/// Generates the schema of a type. Empty without the feature `schema`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaSource(
    #[cfg(feature = "schema")] pub(crate) fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
);

impl SchemaSource {
    pub(crate) fn of<T: HasSchema>() -> Self {
        Self(
            #[cfg(feature = "schema")]
            |generator| generator.subschema_for::<T>(),
        )
    }
}

#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "schema"), expect(dead_code, reason = "only the document reads it"))]
pub(crate) enum ResponseContent {
    Empty,
    Json(SchemaSource),
    /// A stream in one of these media types, with items of this schema.
    Stream(&'static [Text], SchemaSource),
    Other(Text),
    WebSocket,
}

#[derive(Debug)]
#[cfg_attr(not(feature = "schema"), expect(dead_code, reason = "only the document reads it"))]
pub(crate) struct Endpoint {
    pub(crate) method: Text,
    pub(crate) path: Text,
    handler: MethodRouter<Api>,
    pub(crate) id: Text,
    pub(crate) summary: Text,
    pub(crate) status: u16,
    pub(crate) content: ResponseContent,
    pub(crate) query: Option<SchemaSource>,
    pub(crate) body: Option<SchemaSource>,
    /// Whether the endpoint streams events to clients that accept them.
    streams_events: bool,
}

impl Endpoint {
    /// Documents the query parameters.
    pub(crate) fn query<T: HasSchema>(mut self) -> Self {
        self.query = Some(SchemaSource::of::<T>());
        self
    }

    /// Documents the JSON request body.
    pub(crate) fn body<T: HasSchema>(mut self) -> Self {
        self.body = Some(SchemaSource::of::<T>());
        self
    }

    /// Documents the JSON response.
    pub(crate) fn answer<T: HasSchema>(self, summary: Text) -> Self {
        self.respond(200, ResponseContent::Json(SchemaSource::of::<T>()), summary)
    }

    /// Documents the JSON response of an endpoint that creates something.
    pub(crate) fn created<T: HasSchema>(self, summary: Text) -> Self {
        self.respond(201, ResponseContent::Json(SchemaSource::of::<T>()), summary)
    }

    pub(crate) fn empty(self, summary: Text) -> Self {
        self.respond(204, ResponseContent::Empty, summary)
    }

    /// Documents a response that is a stream in one of these media types, with items of this type.
    pub(crate) fn stream<T: HasSchema>(mut self, kinds: &'static [Text], summary: Text) -> Self {
        self.streams_events = kinds.contains(&sse::EVENT_STREAM);
        self.respond(200, ResponseContent::Stream(kinds, SchemaSource::of::<T>()), summary)
    }

    /// Documents that the response is a stream of events if the client accepts them.
    pub(crate) fn or_events(mut self) -> Self {
        self.streams_events = true;
        self
    }

    /// Documents only the media type of the response.
    pub(crate) fn other(self, media_type: Text, summary: Text) -> Self {
        self.respond(200, ResponseContent::Other(media_type), summary)
    }

    pub(crate) fn respond(self, status: u16, content: ResponseContent, summary: Text) -> Self {
        Self { status, content, summary, ..self }
    }
}

fn endpoint<T: 'static>(
    (method, filter): (Text, MethodFilter),
    path: Text,
    id: Text,
    handler: impl Handler<T, Api>,
) -> Endpoint {
    Endpoint {
        method,
        path,
        handler: on(filter, handler),
        id,
        summary: "",
        status: 204,
        content: ResponseContent::Empty,
        query: None,
        body: None,
        streams_events: false,
    }
}

pub(crate) fn get<T: 'static>(path: Text, id: Text, handler: impl Handler<T, Api>) -> Endpoint {
    endpoint(("get", MethodFilter::GET), path, id, handler)
}

pub(crate) fn post<T: 'static>(path: Text, id: Text, handler: impl Handler<T, Api>) -> Endpoint {
    endpoint(("post", MethodFilter::POST), path, id, handler)
}

pub(crate) fn delete<T: 'static>(path: Text, id: Text, handler: impl Handler<T, Api>) -> Endpoint {
    endpoint(("delete", MethodFilter::DELETE), path, id, handler)
}

/// Returns the routes of these endpoints. Endpoints that stream events also do so over a WebSocket.
pub(crate) fn router(endpoints: Vec<Endpoint>, api: &Api) -> Router<Api> {
    let add = |router: Router<Api>, endpoint: Endpoint| {
        let handler = match endpoint.streams_events {
            true => endpoint.handler.layer(from_fn_with_state(api.clone(), ws_events::or_stream)),
            false => endpoint.handler,
        };
        router.route(endpoint.path, handler)
    };
    endpoints.into_iter().fold(Router::new(), add)
}
