//! bytes to frames to events.
