//! deltafifo
