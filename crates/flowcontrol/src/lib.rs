//! flowcontrol
