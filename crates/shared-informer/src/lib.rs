//! shared-informer
