//! `decode`: one value a line, as the library reads it.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use steersman::apimachinery::DecodeContext;
use steersman::{Decode, FieldSelector, LabelSelector};

use crate::args::Args;
use crate::commands::Commands;
use crate::out::{chain, emit, unsupported};

type Decoder = fn(&str) -> Result<Value, String>;

pub(crate) async fn run(args: &Args, mut commands: Commands) {
    let decode: Decoder = match args.need("as") {
        "pod" => object::<Pod>,
        "configmap" => object::<ConfigMap>,
        "event" => object::<Event>,
        "lease" => object::<Lease>,
        "time" => field::<Time>,
        "microtime" => field::<MicroTime>,
        "intorstring" => field::<IntOrString>,
        "selector" => |line| selector(line.parse::<LabelSelector>()),
        "fieldselector" => |line| selector(line.parse::<FieldSelector>()),
        other => unsupported(&format!("--as {other}")),
    };
    while let Some(command) = commands.next().await {
        match decode(&command.line) {
            Ok(value) => emit("decoded", json!({ "value": value })),
            Err(message) => emit(
                "failed",
                json!({ "during": "decode", "code": null, "reason": null, "message": message, "object": null }),
            ),
        }
    }
}

fn selector<S: std::fmt::Display, E: std::error::Error + 'static>(
    parsed: Result<S, E>,
) -> Result<Value, String> {
    parsed.map(|selector| selector.to_string().into()).map_err(|error| chain(&error))
}

/// An object as the client reads it.
fn object<T: Decode + Serialize>(line: &str) -> Result<Value, String> {
    let object = T::decode(line.as_bytes(), DecodeContext::default()).map_err(|error| chain(&error))?;
    serde_json::to_value(object).map_err(|error| error.to_string())
}

/// A field, given as JSON or as bare text.
fn field<T: DeserializeOwned + Serialize>(line: &str) -> Result<Value, String> {
    let json = serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()));
    let value: T = serde_json::from_value(json).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}
