//! steersman
