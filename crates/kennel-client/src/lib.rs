//! A client of Kennel's daemon: its HTTP API as functions.
//!
//! ```no_run
//! use kennel_client::Client;
//! use kennel_types::api::{CreateRequest, OsText, StopRequest, Until};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let kennel = Client::of_home("/home/me/.local/state/kennel");
//! let request = CreateRequest {
//!     argv: vec![OsText::from("sleep"), OsText::from("1000")],
//!     env: std::env::vars_os().collect(),
//!     cwd: OsText::from("/tmp"),
//!     ..CreateRequest::with_defaults()
//! };
//! let session = kennel.create(&request, Until::Started)?;
//! let stopped = kennel.stop(&session.id, &StopRequest::default())?;
//! println!("{:?} after {} ms", stopped.result, stopped.took_ms);
//! # Ok(())
//! # }
//! ```
//!
//! All functions block. Each request has its own connection, so that the daemon notices when a [`Sent`] is dropped.

#![warn(missing_docs)]

mod api;
mod client;
mod error;
mod http;
pub mod socket;

pub use api::{Events, escape, session_path};
pub use client::{Client, Lines, Sent, Timeout};
pub use error::ClientError;
