//! The API over the socket, without a client library.

mod answer;
mod client;
mod events;
mod list;
mod output;
mod socket;
mod terminal;
