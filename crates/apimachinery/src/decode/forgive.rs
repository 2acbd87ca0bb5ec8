//! Nulls where a form expects a value: the reference client reads them as the zero value.

use serde_json::Value;

/// The object in `body` without its nulls, if the parser's error may come from one (or from a key that stands twice,
/// which goes here, too). A field that is not there is the zero value of itself in every form; a null in a map of
/// texts is the empty text; a null in a list stays: what it means there only the form knows.
pub(super) fn nulls(body: &[u8], error: &serde_json::Error) -> Option<Vec<u8>> {
    if !error.is_data() {
        return None;
    }
    let mut object: Value = serde_json::from_slice(body).ok()?;
    without_nulls(&mut object);
    serde_json::to_vec(&object).ok()
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            for (key, field) in fields.iter_mut() {
                if is_map_of_texts(key) {
                    with_empty_texts(field);
                }
                without_nulls(field);
            }
        }
        _ => {}
    }
}

fn is_map_of_texts(key: &str) -> bool {
    matches!(key, "labels" | "annotations" | "matchLabels" | "nodeSelector")
}

fn with_empty_texts(value: &mut Value) {
    let Value::Object(texts) = value else { return };
    for text in texts.values_mut().filter(|text| text.is_null()) {
        *text = Value::String(String::new());
    }
}
