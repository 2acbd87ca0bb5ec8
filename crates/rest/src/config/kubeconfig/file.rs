//! One kubeconfig file, as it is written: YAML or JSON, every text with its place.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::ConfigError;

/// A text and where it stands. Null, absent and empty mean the same (F-28).
pub(super) type Text = Option<Spanned<String>>;

/// The whole file. Unknown keys are passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct File {
    #[serde(default, rename = "apiVersion")]
    api_version: Text,
    #[serde(default)]
    kind: Text,
    #[serde(default)]
    pub(super) current_context: Text,
    #[serde(default)]
    pub(super) clusters: Option<Vec<Option<NamedCluster>>>,
    #[serde(default)]
    pub(super) contexts: Option<Vec<Option<NamedContext>>>,
    #[serde(default)]
    pub(super) users: Option<Vec<Option<NamedUser>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedCluster {
    #[serde(default)]
    pub(super) name: Text,
    #[serde(default)]
    pub(super) cluster: Option<Cluster>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cluster {
    #[serde(default)]
    pub(super) server: Text,
    #[serde(default)]
    pub(super) tls_server_name: Text,
    #[serde(default)]
    pub(super) insecure_skip_tls_verify: Option<bool>,
    #[serde(default)]
    pub(super) certificate_authority: Text,
    #[serde(default)]
    pub(super) certificate_authority_data: Text,
    #[serde(default)]
    pub(super) proxy_url: Text,
    #[serde(default)]
    pub(super) disable_compression: Option<bool>,
    #[serde(default)]
    pub(super) extensions: Option<Vec<Option<Extension>>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Extension {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) extension: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedContext {
    #[serde(default)]
    pub(super) name: Text,
    #[serde(default)]
    pub(super) context: Option<Context>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Context {
    #[serde(default)]
    pub(super) cluster: Text,
    #[serde(default)]
    pub(super) user: Text,
    #[serde(default)]
    pub(super) namespace: Text,
}

#[derive(Deserialize)]
pub(super) struct NamedUser {
    #[serde(default)]
    pub(super) name: Text,
    #[serde(default)]
    pub(super) user: Option<User>,
}

/// Holds secrets: it has no `Debug` form.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct User {
    #[serde(default)]
    pub(super) client_certificate: Text,
    #[serde(default)]
    pub(super) client_certificate_data: Text,
    #[serde(default)]
    pub(super) client_key: Text,
    #[serde(default)]
    pub(super) client_key_data: Text,
    #[serde(default)]
    pub(super) token: Text,
    #[serde(default, rename = "tokenFile")]
    pub(super) token_file: Text,
    #[serde(default, rename = "as")]
    pub(super) acting_as: Text,
    #[serde(default)]
    pub(super) as_uid: Text,
    #[serde(default)]
    pub(super) as_groups: Option<Vec<String>>,
    #[serde(default)]
    pub(super) as_user_extra: Option<std::collections::BTreeMap<String, Option<Vec<String>>>>,
    #[serde(default)]
    pub(super) username: Text,
    #[serde(default)]
    pub(super) password: Text,
    #[serde(default)]
    pub(super) auth_provider: Option<AuthProvider>,
    #[serde(default)]
    pub(super) exec: Option<Exec>,
}

#[derive(Clone, Deserialize)]
pub(super) struct AuthProvider {
    #[serde(default)]
    pub(super) name: Text,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exec {
    #[serde(default)]
    pub(super) command: Text,
    #[serde(default)]
    pub(super) args: Option<Vec<String>>,
    #[serde(default)]
    pub(super) env: Option<Vec<Option<EnvVar>>>,
    #[serde(default)]
    pub(super) api_version: Text,
    #[serde(default)]
    pub(super) install_hint: Text,
    #[serde(default)]
    pub(super) provide_cluster_info: Option<bool>,
    #[serde(default)]
    pub(super) interactive_mode: Text,
}

#[derive(Clone, Deserialize)]
pub(super) struct EnvVar {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) value: Option<String>,
}

impl std::fmt::Debug for NamedUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedUser").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where an entry was written.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    /// `clusters[0].cluster`
    pub(super) field: String,
}

impl Origin {
    /// An error at this text of this entry.
    pub(super) fn error(&self, key: &str, at: Option<&Spanned<String>>, problem: &str) -> ConfigError {
        let field = format!("{}.{key}", self.field);
        match at {
            Some(at) => at_place(&self.path, at, format!("{field}: {problem}")),
            None => ConfigError::invalid(format!("{}: {field}", self.path.display()), problem),
        }
    }

    /// The directory that relative paths of this entry begin at (REST-KC-09).
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }
}

fn at_place(path: &Path, at: &Spanned<String>, problem: String) -> ConfigError {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    ConfigError::Parse {
        path: path.to_owned(),
        line: number(at.referenced.line()),
        column: number(at.referenced.column()),
        problem,
    }
}

/// Reads the bytes of one file. An empty file is an empty configuration; of several documents the first counts.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<File, ConfigError> {
    let bad = |line: u64, column: u64, problem: String| ConfigError::Parse {
        path: path.to_owned(),
        line: usize::try_from(line).unwrap_or(usize::MAX),
        column: usize::try_from(column).unwrap_or(usize::MAX),
        problem,
    };
    let text = decode(bytes).ok_or_else(|| bad(1, 1, "neither UTF-8 nor UTF-16".into()))?;
    let Some(document) = first_document(&text) else { return Ok(File::default()) };
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    let mut field = String::new();
    let parsed = serde_saphyr::with_deserializer_from_str_with_options(document, options, |deserializer| {
        let mut track = serde_path_to_error::Track::new();
        let parsed =
            Option::<File>::deserialize(serde_path_to_error::Deserializer::new(deserializer, &mut track));
        if parsed.is_err() {
            field = track.path().to_string();
            // What keeps the place of a text is a struct of its own.
            field.truncate(field.strip_suffix(".value").unwrap_or(&field).len());
        }
        parsed
    });
    let file = match parsed {
        Ok(file) => file.unwrap_or_default(),
        Err(error) => {
            let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
            // A message may quote the value, and a user's values are secrets.
            let problem = if field.starts_with("users") { "unexpected value".into() } else { reason(&error) };
            let problem =
                if field == "." || field.is_empty() { problem } else { format!("{field}: {problem}") };
            return Err(bad(line, column, problem));
        }
    };
    let is = |text: &Text, wanted: &str| {
        text.as_ref().is_none_or(|text| text.value.is_empty() || text.value == wanted)
    };
    if !is(&file.api_version, "v1") || !is(&file.kind, "Config") {
        let at = file.kind.as_ref().filter(|_| !is(&file.kind, "Config")).or(file.api_version.as_ref());
        let problem = "not a kubeconfig: apiVersion must be v1 and kind Config";
        return Err(at.map_or_else(|| bad(1, 1, problem.into()), |at| at_place(path, at, problem.into())));
    }
    unique(
        path,
        "clusters",
        file.clusters.iter().flatten().map(|entry| entry.as_ref().and_then(|e| e.name.as_ref())),
    )?;
    unique(
        path,
        "contexts",
        file.contexts.iter().flatten().map(|entry| entry.as_ref().and_then(|e| e.name.as_ref())),
    )?;
    unique(
        path,
        "users",
        file.users.iter().flatten().map(|entry| entry.as_ref().and_then(|e| e.name.as_ref())),
    )?;
    Ok(file)
}

/// The message of the parser, without the place and without a picture of the text around it.
fn reason(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or("not readable");
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = match line.split_once(": ") {
        Some((place, rest)) if place.starts_with("line ") => rest,
        _ => line,
    };
    line.rsplit_once(" at line ").map_or(line, |(reason, _)| reason).to_owned()
}

/// REST-KC-13.
fn unique<'a>(
    path: &Path,
    list: &str,
    names: impl Iterator<Item = Option<&'a Spanned<String>>>,
) -> Result<(), ConfigError> {
    let mut seen = std::collections::HashSet::new();
    for (index, name) in names.enumerate() {
        let Some(name) = name else { continue };
        if !seen.insert(name.value.as_str()) {
            let problem = format!("{list}[{index}].name: {:?} is defined twice in this file", name.value);
            return Err(at_place(path, name, problem));
        }
    }
    Ok(())
}

fn decode(bytes: &[u8]) -> Option<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

/// The first document that holds anything; `None` if none does. Lines keep their numbers.
fn first_document(text: &str) -> Option<&str> {
    let mut content = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let marker = ["---", "..."].iter().any(|mark| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
        });
        if marker && content {
            return Some(&text[..at]);
        }
        let rest_of_marker = if marker { trimmed[3..].trim() } else { trimmed };
        content |= !rest_of_marker.is_empty() && !rest_of_marker.starts_with('#');
        at += line.len();
    }
    content.then_some(text)
}
