//! The API as programs in any language use it: over the socket, by hand.

mod answer;
mod client;
mod events;
mod list;
mod output;
mod socket;
mod terminal;
