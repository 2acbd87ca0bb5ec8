//! What is wrong with an object: its shape first, then its metadata.

use apimachinery::StatusError;
use serde_json::{Map, Value, json};

use super::errors::{self, FieldError};
use super::registry::ResourceInfo;
use super::selector::is_label_word;
use super::write::text;

/// The shape that everything after relies on: 400 for a body that a Go struct could not be read from.
pub(crate) fn check_shape(resource: &ResourceInfo, object: &Value) -> Result<(), StatusError> {
    let wrong = |field: &str, found: &Value, wanted: &str| {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        Err(errors::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: json: cannot unmarshal {found} into Go struct \
             field {kind}.{field} of type {wanted}",
            kind = resource.kind,
            version = resource.version,
        )))
    };
    let meta = &object["metadata"];
    if !meta.is_object() {
        return wrong("metadata", meta, "v1.ObjectMeta");
    }
    for field in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
    ] {
        if !meta[field].is_null() && !meta[field].is_string() {
            return wrong(&format!("metadata.{field}"), &meta[field], "string");
        }
    }
    for field in ["generation", "deletionGracePeriodSeconds"] {
        if !meta[field].is_null() && !meta[field].is_i64() {
            return wrong(&format!("metadata.{field}"), &meta[field], "int64");
        }
    }
    for field in ["labels", "annotations"] {
        let map = &meta[field];
        if !map.is_null() && !map.is_object() {
            return wrong(&format!("metadata.{field}"), map, "map[string]string");
        }
        let values = map.as_object().into_iter().flatten().map(|(_, value)| value);
        if let Some(value) = values.into_iter().find(|value| !value.is_string()) {
            return wrong(&format!("metadata.{field}"), value, "string");
        }
    }
    let is_list_of = |list: &Value, of: fn(&Value) -> bool| {
        list.is_null() || list.as_array().is_some_and(|items| items.iter().all(of))
    };
    if !is_list_of(&meta["finalizers"], Value::is_string) {
        return wrong("metadata.finalizers", &meta["finalizers"], "[]string");
    }
    for (field, wanted) in
        [("ownerReferences", "[]v1.OwnerReference"), ("managedFields", "[]v1.ManagedFieldsEntry")]
    {
        if !is_list_of(&meta[field], Value::is_object) {
            return wrong(&format!("metadata.{field}"), &meta[field], wanted);
        }
    }
    if resource.custom {
        return Ok(());
    }
    // The parts of built-in kinds that defaults are put into.
    for path in ["spec", "status", "data", "spec.template", "spec.template.spec", "spec.template.metadata"] {
        let part = path.split('.').try_fold(object, |at, word| at.get(word));
        if let Some(part) = part.filter(|part| !part.is_null() && !part.is_object()) {
            return wrong(path, part, "struct");
        }
    }
    Ok(())
}

/// What is wrong with a new object.
pub(crate) fn check_create(resource: &ResourceInfo, object: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    let (name, base) = (text(object, "name"), text(object, "generateName"));
    if !base.is_empty() {
        // What comes after the base is alphanumeric: a base may end in a dash.
        check_name(resource, "metadata.generateName", &format!("{base}x"), base, &mut found);
    }
    if name.is_empty() {
        found.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else {
        check_name(resource, "metadata.name", name, name, &mut found);
    }
    check_metadata(object, &mut found);
    check_kind(resource, object, &mut found);
    found
}

fn check_kind(resource: &ResourceInfo, object: &Value, found: &mut Vec<FieldError>) {
    if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        super::definition::check(object, found);
    }
    if let Some(schema) = &resource.schema {
        super::schema::check(object, schema, found);
    }
}

/// What is wrong with the new state of an object.
pub(crate) fn check_update(resource: &ResourceInfo, old: &Value, object: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    let immutable = "field is immutable";
    for field in ["name", "namespace", "deletionGracePeriodSeconds"] {
        if old["metadata"][field] != object["metadata"][field] {
            found.push(FieldError::invalid(
                format!("metadata.{field}"),
                &object["metadata"][field],
                immutable,
            ));
        }
    }
    if !old["metadata"]["deletionTimestamp"].is_null() {
        let names = |value: &Value| -> Vec<String> {
            let list = value["metadata"]["finalizers"].as_array().into_iter().flatten();
            list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let past = names(old);
        let mut added: Vec<_> = names(object).into_iter().filter(|name| !past.contains(name)).collect();
        added.sort();
        added.dedup();
        if !added.is_empty() {
            let list: Vec<_> = added.iter().map(|name| format!("{name:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            found.push(FieldError::forbidden("metadata.finalizers", &why));
        }
    }
    check_metadata(object, &mut found);
    check_kind(resource, object, &mut found);
    check_immutable(resource, old, object, &mut found);
    found
}

/// What a kind does not let anybody change once it is there.
fn check_immutable(resource: &ResourceInfo, old: &Value, object: &Value, found: &mut Vec<FieldError>) {
    let paths: &[&[&str]] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets") => &[&["spec", "selector"]],
        ("batch", "jobs") => &[&["spec", "selector"], &["spec", "completionMode"]],
        ("", "secrets") => &[&["type"]],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => &[&["roleRef"]],
        ("apiextensions.k8s.io", "customresourcedefinitions") => &[&["spec", "group"], &["spec", "scope"]],
        _ => &[],
    };
    for path in paths {
        if at(old, path) != at(object, path) {
            found.push(FieldError::invalid(path.join("."), at(object, path), "field is immutable"));
        }
    }
    let is_map = matches!(resource.plural.as_str(), "configmaps" | "secrets") && resource.group.is_empty();
    if is_map && old["immutable"] == true {
        let why = "field is immutable when `immutable` is set";
        for field in ["data", "binaryData", "immutable"] {
            if old[field] != object[field] {
                found.push(FieldError::forbidden(field, why));
            }
        }
    }
    if resource.is("", "pods") && spec_without_mutable(old) != spec_without_mutable(object) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
            `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
            `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        found.push(FieldError::forbidden("spec", why));
    }
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |at, word| &at[*word])
}

/// A pod's spec without what an update may change.
fn spec_without_mutable(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    if let Some(map) = spec.as_object_mut() {
        for field in ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"] {
            map.remove(field);
        }
        for list in ["containers", "initContainers"] {
            for item in map.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                item.as_object_mut().map(|container| container.remove("image"));
            }
        }
    }
    spec
}

fn check_metadata(object: &Value, found: &mut Vec<FieldError>) {
    let meta = &object["metadata"];
    let entries = |field: &str| meta[field].as_object().into_iter().flatten();
    for (key, value) in entries("labels") {
        check_qualified(key, "metadata.labels", found);
        let value = value.as_str().unwrap_or_default();
        if !is_label_word(value) {
            found.push(FieldError::invalid("metadata.labels", &json!(value), LABEL_VALUE));
        }
    }
    let mut size = 0;
    for (key, value) in entries("annotations") {
        check_qualified(&key.to_lowercase(), "metadata.annotations", found);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        found.push(FieldError::forbidden(
            "metadata.annotations",
            "Too long: may not be more than 262144 bytes",
        ));
    }
    for (index, owner) in meta["ownerReferences"].as_array().into_iter().flatten().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences[{index}].{field}");
                found.push(FieldError::required(path, "must not be empty"));
            }
        }
    }
    let controllers = meta["ownerReferences"].as_array().into_iter().flatten();
    let controllers: Vec<_> = controllers.filter(|owner| owner["controller"] == true).collect();
    if let [first, second, ..] = controllers.as_slice() {
        let word = |owner: &Value| {
            format!(
                "{}/{}",
                owner["kind"].as_str().unwrap_or_default(),
                owner["name"].as_str().unwrap_or_default()
            )
        };
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            word(first),
            word(second)
        );
        found.push(FieldError::invalid("metadata.ownerReferences", &meta["ownerReferences"], &why));
    }
    for name in meta["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        check_qualified(name, "metadata.finalizers", found);
    }
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
    end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
    character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
    '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn check_qualified(text: &str, field: &str, found: &mut Vec<FieldError>) {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        found.push(FieldError::invalid(field, &json!(text), &format!("prefix part {SUBDOMAIN}")));
    }
    if name.is_empty() || !is_label_word(name) {
        found.push(FieldError::invalid(field, &json!(text), QUALIFIED));
    }
}

fn check_name(resource: &ResourceInfo, field: &str, name: &str, shown: &str, found: &mut Vec<FieldError>) {
    let (most, is_right, why): (usize, bool, &str) = match (resource.group.as_str(), resource.plural.as_str())
    {
        ("rbac.authorization.k8s.io", _) => {
            let is_right = !matches!(name, "." | "..") && !name.contains(['/', '%']);
            (usize::MAX, is_right, "may not contain '/' or '%'")
        }
        ("", "namespaces") => (63, is_label(name), LABEL),
        ("", "services") => {
            (63, is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase()), LABEL_1035)
        }
        _ => (253, is_subdomain(name), SUBDOMAIN),
    };
    if name.len() > most {
        found.push(FieldError::invalid(field, &json!(shown), &format!("must be no more than {most} bytes")));
    }
    if !is_right {
        found.push(FieldError::invalid(field, &json!(shown), why));
    }
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.iter().all(|b| plain(b) || *b == b'-')
        && bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// The metadata of an object that is about to be stored never holds what is empty, or what ObjectMeta does not have.
pub(crate) fn tidy(meta: &mut Map<String, Value>) {
    meta.retain(|field, value| match field.as_str() {
        "labels" | "annotations" => value.as_object().is_some_and(|map| !map.is_empty()),
        "finalizers" | "ownerReferences" | "managedFields" => {
            value.as_array().is_some_and(|list| !list.is_empty())
        }
        "name" | "generateName" | "namespace" | "uid" | "resourceVersion" | "selfLink" => {
            value.as_str().is_some_and(|text| !text.is_empty())
        }
        "generation" | "creationTimestamp" | "deletionTimestamp" | "deletionGracePeriodSeconds" => {
            !value.is_null()
        }
        _ => false,
    });
}
