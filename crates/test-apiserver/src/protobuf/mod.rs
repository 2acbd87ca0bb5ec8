//! Protobuf bodies of requests, into JSON. kubectl's generators and client-go's typed clients write built-in kinds so.
//!
//! Answers are never protobuf: a client that takes nothing else is refused with 406.

mod schema;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use schema::{Field, Kind, Shape, fields_of};
use wire::{Datum, Reader};

/// What stands before an envelope (`runtime.Unknown`).
const MAGIC: &[u8] = b"k8s\0";
/// Messages in messages beyond this are refused.
const DEPTH: u32 = 64;

/// Why a body cannot be read, for people.
pub(crate) type Problem = String;

/// The object in an envelope, with its `apiVersion` and `kind`.
pub(crate) fn decode(body: &[u8]) -> Result<Value, Problem> {
    let envelope = body.strip_prefix(MAGIC).ok_or("it does not start as a protobuf envelope")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut reader = Reader::new(envelope);
    while let Some((number, datum)) = reader.next()? {
        match (number, datum) {
            (1, Datum::Bytes(meta)) => {
                let mut meta = Reader::new(meta);
                while let Some((number, datum)) = meta.next()? {
                    match (number, datum) {
                        (1, Datum::Bytes(text)) => api_version = lossy(text),
                        (2, Datum::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Datum::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let mut fields = Map::new();
    fields.insert("apiVersion".to_owned(), Value::from(api_version.as_str()));
    fields.insert("kind".to_owned(), Value::from(kind.as_str()));
    let known =
        [api_version.as_str(), "meta/v1"].into_iter().find_map(|group| fields_of(&format!("{group}.{kind}")));
    let known = known.ok_or_else(|| format!("{api_version} {kind} is not known as protobuf"))?;
    message(known, raw, &mut fields, 0)?;
    Ok(Value::Object(fields))
}

/// Reads the fields of a message into `out`.
fn message(known: &[Field], bytes: &[u8], out: &mut Map<String, Value>, depth: u32) -> Result<(), Problem> {
    if depth > DEPTH {
        return Err("it is nested too deeply".to_owned());
    }
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        let Some(field) = known.iter().find(|field| field.number == number) else { continue };
        if field.json.is_empty() {
            let Datum::Bytes(bytes) = datum else { return Err(mismatch(field)) };
            message(inner(field)?, bytes, out, depth + 1)?;
            continue;
        }
        match field.shape {
            Shape::One => {
                let value = one(field, datum, depth)?;
                if !(value.is_null() || field.hides_zero && !field.is_pointer && is_zero(&value)) {
                    out.insert(field.json.to_owned(), value);
                }
            }
            Shape::List => {
                let value = one(field, datum, depth)?;
                let list = out.entry(field.json).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().ok_or_else(|| mismatch(field))?.push(value);
            }
            Shape::Map => {
                let Datum::Bytes(entry) = datum else { return Err(mismatch(field)) };
                let (key, value) = map_entry(field, entry, depth)?;
                let map = out.entry(field.json).or_insert_with(|| Value::Object(Map::new()));
                map.as_object_mut().ok_or_else(|| mismatch(field))?.insert(key, value);
            }
        }
    }
    Ok(())
}

/// Key and value of a map; what is not there is zero.
fn map_entry(field: &Field, entry: &[u8], depth: u32) -> Result<(String, Value), Problem> {
    let (mut key, mut value) = (String::new(), None);
    let mut reader = Reader::new(entry);
    while let Some((number, datum)) = reader.next()? {
        match (number, datum) {
            (1, Datum::Bytes(text)) => key = lossy(text),
            (2, datum) => value = Some(one(field, datum, depth)?),
            _ => {}
        }
    }
    let value = match value {
        Some(value) => value,
        None => one(field, Datum::Bytes(&[]), depth)?,
    };
    Ok((key, value))
}

/// A single value of the field's kind.
fn one(field: &Field, datum: Datum<'_>, depth: u32) -> Result<Value, Problem> {
    Ok(match (&field.kind, datum) {
        (Kind::Text, Datum::Bytes(text)) => Value::from(lossy(text)),
        (Kind::Flag, Datum::Number(number)) => Value::from(number != 0),
        (Kind::Integer, Datum::Number(number)) => Value::from(number.cast_signed()),
        (Kind::Double, Datum::Number(bits)) => {
            let double = f64::from_bits(bits);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be whole, and small enough to be exact"
            )]
            if double.fract() == 0.0 && double.abs() < 9e15 {
                Value::from(double as i64)
            } else {
                Value::from(double)
            }
        }
        (Kind::Bytes, Datum::Bytes(bytes)) => Value::from(STANDARD.encode(bytes)),
        (Kind::Time, Datum::Bytes(bytes)) => time(bytes, false)?,
        (Kind::MicroTime, Datum::Bytes(bytes)) => time(bytes, true)?,
        (Kind::Quantity, Datum::Bytes(bytes)) => match text_of(bytes)? {
            text if text.is_empty() => Value::from("0"),
            text => Value::from(text),
        },
        (Kind::IntOrString, Datum::Bytes(bytes)) => int_or_string(bytes)?,
        (Kind::Json, Datum::Bytes(bytes)) => {
            let mut reader = Reader::new(bytes);
            let mut raw = Value::Null;
            while let Some((number, datum)) = reader.next()? {
                if let (1, Datum::Bytes(json)) = (number, datum) {
                    raw = serde_json::from_slice(json)
                        .map_err(|error| format!("{} is not JSON: {error}", field.json))?;
                }
            }
            raw
        }
        (Kind::Texts, Datum::Bytes(bytes)) => {
            let mut reader = Reader::new(bytes);
            let mut texts = Vec::new();
            while let Some((number, datum)) = reader.next()? {
                if let (1, Datum::Bytes(text)) = (number, datum) {
                    texts.push(Value::from(lossy(text)));
                }
            }
            Value::Array(texts)
        }
        (Kind::Message(_), Datum::Bytes(bytes)) => {
            let mut fields = Map::new();
            message(inner(field)?, bytes, &mut fields, depth + 1)?;
            Value::Object(fields)
        }
        _ => return Err(mismatch(field)),
    })
}

/// `seconds` and `nanos`; nothing at all is no time.
fn time(bytes: &[u8], with_micros: bool) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        match (number, datum) {
            (1, Datum::Number(number)) => seconds = number.cast_signed(),
            (2, Datum::Number(number)) => nanos = i32::try_from(number.cast_signed()).unwrap_or(0),
            _ => {}
        }
    }
    let whole =
        Timestamp::from_second(seconds).map_err(|error| format!("a time is out of range: {error}"))?;
    let text = whole.strftime("%Y-%m-%dT%H:%M:%S");
    Ok(Value::from(if with_micros { format!("{text}.{:06}Z", nanos / 1000) } else { format!("{text}Z") }))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Problem> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((field, datum)) = reader.next()? {
        match (field, datum) {
            (1, Datum::Number(kind)) => is_text = kind == 1,
            (2, Datum::Number(value)) => number = value.cast_signed(),
            (3, Datum::Bytes(value)) => text = lossy(value),
            _ => {}
        }
    }
    Ok(if is_text { Value::from(text) } else { Value::from(number) })
}

/// The text in field 1.
fn text_of(bytes: &[u8]) -> Result<String, Problem> {
    let mut text = String::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        if let (1, Datum::Bytes(found)) = (number, datum) {
            text = lossy(found);
        }
    }
    Ok(text)
}

fn inner(field: &Field) -> Result<&'static [Field], Problem> {
    match field.kind {
        Kind::Message(name) => fields_of(name).ok_or_else(|| format!("{name} is not known as protobuf")),
        _ => Err(mismatch(field)),
    }
}

fn mismatch(field: &Field) -> Problem {
    format!("field {} ({:?}) is not of its type", field.number, field.json)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What Go's `omitempty` hides: never a struct.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::decode;

    /// What kubectl 1.32 sends for `create configmap a --from-literal=x=y`.
    const CONFIG_MAP: &[u8] =
        b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x1b\x0a\x11\x0a\x01a\x12\x00\x1a\x00\"\x00*\
        \x002\x008\x00B\x00\x12\x06\x0a\x01x\x12\x01y\x1a\x00\"\x00";

    #[test]
    fn a_config_map_reads_as_its_json() {
        let wanted = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "y" } });
        assert_eq!(decode(CONFIG_MAP), Ok(wanted));
    }

    #[test]
    fn damage_is_an_error_or_another_object_and_never_a_panic() {
        for cut in 0..CONFIG_MAP.len() {
            let _ = decode(&CONFIG_MAP[..cut]);
        }
        let mut refused = 0;
        for index in 4..CONFIG_MAP.len() {
            for bit in 0..8 {
                let mut damaged = CONFIG_MAP.to_vec();
                damaged[index] ^= 1 << bit;
                refused += u32::from(decode(&damaged).is_err());
            }
        }
        assert!(refused > 20, "damage is noticed at all: {refused}");
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let unknown = b"k8s\0\x0a\x0b\x0a\x02v1\x12\x05Thing\x12\x00";
        assert_eq!(decode(unknown), Err("v1 Thing is not known as protobuf".to_owned()));
        assert!(decode(b"{}").is_err());
    }

    /// `STEERSMAN_K8S_TESTDATA=…/k8s.io/api@v0.37.2/testdata/HEAD cargo test … -- --ignored`
    #[test]
    #[ignore = "needs the fixtures of the Go module k8s.io/api, in STEERSMAN_K8S_TESTDATA"]
    fn every_fixture_of_the_go_module_reads_as_its_json() {
        let folder = std::env::var("STEERSMAN_K8S_TESTDATA").expect("STEERSMAN_K8S_TESTDATA names a folder");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "pb") {
                continue;
            }
            let json = std::fs::read(path.with_extension("json")).expect("its JSON");
            let wanted: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
            match decode(&std::fs::read(&path).expect("its protobuf")) {
                Err(why) if why.ends_with("is not known as protobuf") => {}
                found => {
                    assert_eq!(found, Ok(wanted), "{}", path.display());
                    read += 1;
                }
            }
        }
        assert!(read > 50, "the kinds that are served are among them: {read}");
    }
}
