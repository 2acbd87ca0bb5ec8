//! The columns that a CustomResourceDefinition asks for.

use jiff::Timestamp;
use serde_json::Value;

use super::json_path::JsonPath;
use super::{Cell, age};

/// One of `additionalPrinterColumns`.
pub(super) struct Column {
    path: JsonPath,
    kind: String,
}

/// The name, then what was asked for; an age if nothing was.
pub(super) fn columns(asked: &[Value]) -> Vec<super::Column> {
    let text = |column: &Value, field: &str| column[field].as_str().unwrap_or_default().to_owned();
    let name = super::Column {
        name: "Name".to_owned(),
        kind: "string".to_owned(),
        format: "name".to_owned(),
        description: "The name of the object".to_owned(),
        priority: 0,
        cell: Cell::Text("metadata.name"),
    };
    let mut columns = vec![name];
    columns.extend(asked.iter().map(|column| super::Column {
        name: text(column, "name"),
        kind: text(column, "type"),
        format: text(column, "format"),
        description: text(column, "description"),
        priority: column["priority"].as_i64().unwrap_or(0),
        cell: Cell::Custom(Column {
            path: JsonPath::parse(column["jsonPath"].as_str().unwrap_or_default()),
            kind: text(column, "type"),
        }),
    }));
    if asked.is_empty() {
        columns.push(super::Column {
            name: "Age".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: "When the object was created".to_owned(),
            priority: 0,
            cell: Cell::Custom(Column {
                path: JsonPath::parse(".metadata.creationTimestamp"),
                kind: "date".to_owned(),
            }),
        });
    }
    columns
}

impl Column {
    /// The first thing that the path finds, as the column's type wants it; null if there is none, or of another type.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.find(object);
        let Some(first) = found.first() else { return Value::Null };
        match (self.kind.as_str(), *first) {
            ("integer", Value::Number(number)) => {
                #[expect(clippy::cast_possible_truncation, reason = "the column asks for a whole number")]
                let whole = number.as_i64().or_else(|| number.as_f64().map(|float| float as i64));
                whole.map_or(Value::Null, Value::from)
            }
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*first).clone(),
            ("date", Value::String(_)) => Value::from(age::since(first, now)),
            ("string", _) => {
                let texts: Vec<_> = found.iter().map(|value| plain(value)).collect();
                Value::from(texts.join(" "))
            }
            _ => Value::Null,
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
