//! The server from outside: a client that is written here, and hostile ones.

#![cfg(unix)]

mod client;
mod hostile;
mod protocol;
mod serving;
