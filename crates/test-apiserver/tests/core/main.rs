//! The core of the test API server, driven as the shell and the simulation drive it.

mod definitions;
mod deletes;
mod lists;
mod patches;
mod property;
mod watches;
mod world;
mod writes;
