//! A client of Kennel's daemon: its HTTP API as functions.
//!
//! ```no_run
//! use kennel_client::{Client, Until};
//! use kennel_types::api::{CreateRequest, StopRequest, Text};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let kennel = Client::of_home("/home/me/.local/share/kennel");
//! let request = CreateRequest {
//!     argv: vec![Text::from("sleep"), Text::from("1000")],
//!     env: std::env::vars_os().collect(),
//!     cwd: Text::from("/tmp"),
//!     ..CreateRequest::as_usual()
//! };
//! let session = kennel.create(&request, Until::Started)?;
//! let stopped = kennel.stop(&session.id, &StopRequest::default())?;
//! println!("{:?} after {} ms", stopped.result, stopped.took_ms);
//! # Ok(())
//! # }
//! ```
//!
//! Everything blocks. Each request has a connection of its own, so that one who drops a [`Sent`] is seen to go.

mod address;
mod api;
mod client;
mod error;
mod http;
mod path;
pub mod socket;

pub use api::{Events, Until};
pub use client::{Client, Lines, Patience, Sent};
pub use error::ClientError;
pub use path::{escape, member_path, plan_path, session_path};
