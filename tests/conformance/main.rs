//! The contracts' rules as tests, where a reader can find each: a module a subject.

mod kube_derive;
