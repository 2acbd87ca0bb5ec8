//! What the client can read: the header `Accept`, in the order of the client's liking.

/// The shape in which objects are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Object,
    /// As rows: `as=Table`.
    Table,
    /// Their metadata alone: `as=PartialObjectMetadata`, and the list of them.
    Partial,
}

/// One thing that the client takes.
#[derive(Debug, Clone, PartialEq)]
struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl Clause<'_> {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn takes_json(&self) -> bool {
        matches!(self.media, "application/json" | "application/*" | "*/*")
    }
}

fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = accept
        .split(',')
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<_> = parts
                .filter_map(|part| part.split_once('='))
                .map(|(key, value)| (key.trim(), value.trim().trim_matches('"')))
                .collect();
            let quality = parameters
                .iter()
                .find(|(key, _)| *key == "q")
                .and_then(|(_, value)| value.parse().ok())
                .unwrap_or(1.0);
            Clause { media, parameters, quality }
        })
        .filter(|clause| clause.quality > 0.0)
        .collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality)); // stable: equals stay as the client put them
    clauses
}

/// The form for objects; none if the client takes nothing that this server can write (406). No header takes anything.
pub(crate) fn form(accept: Option<&str>) -> Option<Form> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else { return Some(Form::Object) };
    clauses(accept).iter().filter(|clause| clause.takes_json()).find_map(|clause| {
        match (clause.parameter("as"), clause.parameter("g"), clause.parameter("v")) {
            (None, _, _) => Some(Form::Object),
            (Some("Table"), Some("meta.k8s.io"), Some("v1" | "v1beta1")) => Some(Form::Table),
            (
                Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                Some("meta.k8s.io"),
                Some("v1" | "v1beta1"),
            ) => Some(Form::Partial),
            _ => None,
        }
    })
}

/// Whether aggregated discovery is what the client likes best, and in which version of it: `v2` or `v2beta1`.
pub(crate) fn aggregated(accept: Option<&str>) -> Option<&'static str> {
    let clauses = clauses(accept?);
    let first = clauses.iter().find(|clause| clause.takes_json())?;
    let is_discovery = first.parameter("as") == Some("APIGroupDiscoveryList")
        && first.parameter("g") == Some("apidiscovery.k8s.io");
    match first.parameter("v") {
        Some("v2") if is_discovery => Some("v2"),
        Some("v2beta1") if is_discovery => Some("v2beta1"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, aggregated, form};

    #[test]
    fn the_first_form_that_can_be_written_wins() {
        for (accept, wanted) in [
            ("application/json", Some(Form::Object)),
            ("*/*", Some(Form::Object)),
            ("", Some(Form::Object)),
            ("application/vnd.kubernetes.protobuf, application/json", Some(Form::Object)),
            ("application/vnd.kubernetes.protobuf", None),
            ("text/html", None),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Some(Form::Table)),
            ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Some(Form::Object)),
            ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Some(Form::Partial)),
            ("application/json;q=0.1,application/json;as=Table;v=v1;g=meta.k8s.io", Some(Form::Table)),
            ("application/json;stream=watch", Some(Form::Object)),
            ("application/json;q=0", None),
        ] {
            assert_eq!(form(Some(accept)), wanted, "{accept}");
        }
        assert_eq!(form(None), Some(Form::Object));
    }

    #[test]
    fn aggregated_discovery_must_be_liked_best() {
        let kubectl = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                       application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        assert_eq!(aggregated(Some(kubectl)), Some("v2"));
        assert_eq!(aggregated(Some("application/json")), None);
        assert_eq!(aggregated(None), None);
    }
}
