//! One object at a time: get, create, update, patch, delete.

use apimachinery::{
    ApiError, CreateOptions, Decode, DecodeError, DeleteOptions, GetOptions, ListOptions, Object, ObjectKey,
    Objects, Patch, PatchOptions, Status, StatusError, UpdateOptions,
};
use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Api;
use crate::json::kind_in_front;
use crate::request::{About, Call, Query, Target, check_object, invalid, options};

const JSON: &str = "application/json";

impl<T: Object + Decode> Api<T> {
    /// Reads one object from the server: see [`Objects::get`].
    pub async fn get(&self, key: &ObjectKey, options: &GetOptions) -> Result<T, ApiError> {
        let target = self.object(key, "")?;
        self.object_call("get", Method::GET, target, options::get(options), None).await
    }

    /// Patches one object: see [`Objects::patch`].
    ///
    /// With a subresource whose kind is its own (`scale`), use an `Api` of that kind's form.
    pub async fn patch(
        &self,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Patch,
        options: &PatchOptions,
    ) -> Result<T, ApiError> {
        let target = self.object(key, subresource.unwrap_or_default())?;
        let body = match patch {
            Patch::Apply(wanted) => self.apply_body(wanted)?,
            patch => patch.body().to_string().into_bytes(),
        };
        let query = options::patch(options, matches!(patch, Patch::Apply(_)))?;
        self.object_call("patch", Method::PATCH, target, query, Some((patch.content_type(), body))).await
    }

    /// Asks for one object to be deleted: see [`Objects::delete`].
    pub async fn delete(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), ApiError> {
        let target = self.object(key, "")?;
        self.deletion("delete", target, target.object_path()?, options).await
    }

    /// Asks for all objects that `which` selects, and the selectors of this `Api`, to be deleted.
    pub async fn delete_collection(
        &self,
        options: &DeleteOptions,
        which: &ListOptions,
    ) -> Result<(), ApiError> {
        let target = self.target();
        let query = options::list(&self.narrowed(which), self.client.timeout());
        self.deletion("deletecollection", target, query.onto(target.path()?), options).await
    }

    async fn deletion(
        &self,
        verb: &'static str,
        target: Target<'_>,
        url: String,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        let body = options::delete_body(options)?;
        let call = Call { body: Some((JSON, body.into())), ..self.named(verb, Method::DELETE, url, target) };
        // A Status of success, or the object as it is now: both are a yes.
        let (_, body) = self.client.whole(&call).await?;
        Status::from_error_body(&body).map_or(Ok(()), |status| Err(StatusError::new(status).into()))
    }

    async fn object_call(
        &self,
        verb: &'static str,
        method: Method,
        target: Target<'_>,
        mut query: Query,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<T, ApiError> {
        options::timeout(&mut query, self.client.timeout());
        let path = if method == Method::POST { target.create_path()? } else { target.object_path()? };
        let body = body.map(|(media, bytes)| (media, Bytes::from(bytes)));
        let call = Call { body, ..self.named(verb, method, query.onto(path), target) };
        let (answer, body) = self.client.whole(&call).await?;
        let expected = &self.collection.expected;
        // A subresource may answer with a kind of its own.
        let is_own_kind = target.subresource.is_empty() || target.subresource == "status";
        check_object(answer.code, &answer.headers, &body, |kind| expected.takes(kind) || !is_own_kind)?;
        let object = if is_own_kind {
            expected.decode::<T>(&body, None)?
        } else {
            let any = crate::watch::Expected { kind: String::new(), ..expected.clone() };
            any.decode::<T>(&body, None)?
        };
        if T::is_metadata_only() && object.name().is_empty() && object.uid().is_empty() {
            return Err(DecodeError::new("the answer has no metadata of an object").into());
        }
        Ok(object)
    }

    fn named<'a>(&'a self, verb: &'static str, method: Method, url: String, target: Target<'a>) -> Call<'a> {
        let call = self.call(verb, method, url);
        Call { about: About { name: target.name, ..call.about }, namespace: target.namespace, ..call }
    }

    /// The object of that key. A key without a namespace is in this collection's; another than this collection's is an
    /// error.
    fn object<'a>(&'a self, key: &'a ObjectKey, subresource: &'a str) -> Result<Target<'a>, ApiError> {
        self.place(key.namespace(), key.name(), subresource)
    }

    fn place<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        subresource: &'a str,
    ) -> Result<Target<'a>, ApiError> {
        let own = self.collection.namespace.as_str();
        let resource = &self.collection.resource;
        let namespace = match (own, namespace) {
            ("", namespace) => namespace,
            (own, "") => own,
            (own, namespace) if own == namespace => own,
            (own, namespace) => {
                return Err(invalid(format!("{name:?} is in namespace {namespace:?}, not in {own:?}")));
            }
        };
        Ok(Target { resource, namespace, name, subresource })
    }

    /// The bytes of an object, with kind and apiVersion if it has none of its own (REST-RQ-15).
    fn body_of(&self, object: &T) -> Result<Vec<u8>, ApiError>
    where
        T: Serialize,
    {
        let unserializable = |error| invalid(format!("the object does not serialize: {error}"));
        let bytes = serde_json::to_vec(object).map_err(unserializable)?;
        if kind_in_front(&bytes).is_some_and(|kind| !kind.is_empty()) {
            return Ok(bytes);
        }
        let mut object: Map<String, Value> = serde_json::from_slice(&bytes).map_err(unserializable)?;
        self.add_type(&mut object);
        serde_json::to_vec(&object).map_err(unserializable)
    }

    /// What an apply sends: a whole object without managed fields (REST-DY-07), never null (REST-AP-02).
    fn apply_body(&self, wanted: &Value) -> Result<Vec<u8>, ApiError> {
        let Value::Object(wanted) = wanted else {
            return Err(invalid("an apply patch must be an object".to_owned()));
        };
        let managed = wanted.get("metadata").and_then(|metadata| metadata.get("managedFields"));
        if managed
            .is_some_and(|fields| !fields.is_null() && fields.as_array().is_none_or(|all| !all.is_empty()))
        {
            return Err(invalid("an apply patch may not set metadata.managedFields".to_owned()));
        }
        let mut wanted = wanted.clone();
        self.add_type(&mut wanted);
        serde_json::to_vec(&wanted).map_err(|error| invalid(error.to_string()))
    }

    fn add_type(&self, object: &mut Map<String, Value>) {
        let expected = &self.collection.expected;
        for (key, value) in [("apiVersion", &expected.api_version), ("kind", &expected.kind)] {
            let is_there = object.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
            if !is_there && !value.is_empty() {
                object.insert(key.to_owned(), value.as_str().into());
            }
        }
    }
}

impl<T: Object + Decode + Serialize> Api<T> {
    /// Creates an object: see [`Objects::create`]. It needs a name or a `generateName`, and a namespace: its own, or this
    /// collection's.
    pub async fn create(&self, object: &T, options: &CreateOptions) -> Result<T, ApiError> {
        let target = self.place(object.namespace(), object.name(), "")?;
        let body = self.body_of(object)?;
        self.object_call("create", Method::POST, target, options::create(options), Some((JSON, body))).await
    }

    /// Replaces an object: see [`Objects::update`].
    pub async fn update(&self, object: &T, options: &UpdateOptions) -> Result<T, ApiError> {
        let target = self.place(object.namespace(), object.name(), "")?;
        let body = self.body_of(object)?;
        self.object_call("update", Method::PUT, target, options::create(options), Some((JSON, body))).await
    }

    /// Replaces the status of an object: see [`Objects::update_status`].
    pub async fn update_status(&self, object: &T, options: &UpdateOptions) -> Result<T, ApiError> {
        let target = self.place(object.namespace(), object.name(), "status")?;
        let body = self.body_of(object)?;
        self.object_call("update", Method::PUT, target, options::create(options), Some((JSON, body))).await
    }
}

impl<T: Object + Decode + Serialize + Sync> Objects<T> for Api<T> {
    async fn get(&self, key: &ObjectKey, options: &GetOptions) -> Result<T, ApiError> {
        Api::get(self, key, options).await
    }

    async fn create(&self, object: &T, options: &CreateOptions) -> Result<T, ApiError> {
        Api::create(self, object, options).await
    }

    async fn update(&self, object: &T, options: &UpdateOptions) -> Result<T, ApiError> {
        Api::update(self, object, options).await
    }

    async fn update_status(&self, object: &T, options: &UpdateOptions) -> Result<T, ApiError> {
        Api::update_status(self, object, options).await
    }

    async fn patch(
        &self,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Patch,
        options: &PatchOptions,
    ) -> Result<T, ApiError> {
        Api::patch(self, key, subresource, patch, options).await
    }

    async fn delete(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), ApiError> {
        Api::delete(self, key, options).await
    }
}
