//! Rows for people: the `Table` form of objects, with the columns of a kube-apiserver.
//!
//! Facts from Kubernetes 1.37 `pkg/printers/internalversion/printers.go`, and for custom resources
//! `apiextensions-apiserver/pkg/registry/customresource/tableconvertor`.

mod age;
mod builtin;
mod cells;
mod custom;
mod json_path;
mod pod;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::ResourceInfo;

/// How a cell comes out of an object.
enum Cell {
    /// The text or number at a dotted path; empty text if there is none.
    Text(&'static str),
    /// The number at a dotted path; 0 if there is none.
    Number(&'static str),
    /// How long ago the time at a dotted path was.
    Age(&'static str),
    /// The value itself, as it stands at a dotted path.
    Raw(&'static str),
    /// More than a look-up.
    Of(fn(&Value, Timestamp) -> Value),
    /// A custom resource's column.
    Custom(custom::Column),
}

/// One column: how it is called, what it holds, and whether it shows without `-o wide` (priority 0).
struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    cell: Cell,
}

/// The columns of one resource, ready to make rows.
pub(crate) struct Printer {
    columns: Vec<Column>,
}

impl Printer {
    /// The printer of `resource`.
    pub(crate) fn of(resource: &ResourceInfo) -> Self {
        let columns = if resource.custom {
            custom::columns(&resource.printer_columns)
        } else {
            builtin::columns(&resource.group, &resource.plural)
        };
        Self { columns }
    }

    /// `columnDefinitions`.
    pub(crate) fn definitions(&self) -> Value {
        let definitions = self.columns.iter().map(|column| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        });
        definitions.collect()
    }

    /// One row. `include` is the query's `includeObject`: `None`, `Metadata` or `Object`.
    pub(crate) fn row(&self, object: &Value, include: &str, now: Timestamp) -> Value {
        let cells: Vec<Value> = self.columns.iter().map(|column| column.cell.of(object, now)).collect();
        let mut row = json!({ "cells": cells });
        match include {
            "None" => {}
            "Object" => row["object"] = object.clone(),
            _ => row["object"] = partial(object),
        }
        row
    }

    /// A whole table.
    pub(crate) fn table(&self, metadata: &Value, rows: &[Value], with_columns: bool) -> Value {
        let definitions = if with_columns { self.definitions() } else { Value::Null };
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }
}

impl Cell {
    fn of(&self, object: &Value, now: Timestamp) -> Value {
        match self {
            Self::Text(path) => match at(object, path) {
                Value::Null => Value::from(""),
                Value::String(text) => Value::from(text.as_str()),
                other => Value::from(other.to_string()),
            },
            Self::Number(path) => Value::from(at(object, path).as_i64().unwrap_or(0)),
            Self::Age(path) => Value::from(age::since(at(object, path), now)),
            Self::Raw(path) => at(object, path).clone(),
            Self::Of(make) => make(object, now),
            Self::Custom(column) => column.cell(object, now),
        }
    }
}

/// What stands at a dotted path; null if there is nothing.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |value, word| &value[word])
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
