//! `Object`: what the cache half knows of a kept form.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{Meta, ObjectKey};

/// A kept form: anything that can say where its metadata is. The cache half knows nothing else of it.
///
/// Every k8s-openapi type with metadata has it. For your own struct, [`object!`](crate::object) writes it.
pub trait Object: Send + Sync + 'static {
    /// The metadata: an [`ObjectMeta`], a slim [`Head`](crate::Head), or what else can answer for it.
    fn meta(&self) -> &dyn Meta;

    /// Whether this form keeps nothing but metadata, so that the server should be asked for that alone.
    fn is_metadata_only() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// The key in its collection: `namespace/name`, or `name`.
    fn key(&self) -> ObjectKey {
        self.meta().key()
    }
    /// The name.
    fn name(&self) -> &str {
        self.meta().name()
    }
    /// The namespace; `""` for a cluster-scoped object.
    fn namespace(&self) -> &str {
        self.meta().namespace()
    }
    /// The uid; `""` if the kept form does not keep it.
    fn uid(&self) -> &str {
        self.meta().uid()
    }
    /// The resource version; `""` if there is none.
    fn resource_version(&self) -> &str {
        self.meta().resource_version()
    }
}

impl<T> Object for T
where
    T: k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
{
    fn meta(&self) -> &dyn Meta {
        self.metadata()
    }
}

/// Makes a plain serde struct with a `metadata` field an [`Object`], and, given its resource, a [`Kind`](crate::Kind).
///
/// The field's type is [`ObjectMeta`] or [`Head`](crate::Head). Types made by kube's derive have such a field, too.
///
/// ```
/// # use steersman_apimachinery as apimachinery;
/// use apimachinery::{Head, Kind, Object};
///
/// #[derive(serde::Deserialize)]
/// struct Website {
///     metadata: Head,
/// }
/// apimachinery::object!(Website, "example.com/v1", "Website", "websites", Namespaced);
/// assert_eq!(Website::resource().path(Some("shop")), "/apis/example.com/v1/namespaces/shop/websites");
/// ```
#[macro_export]
macro_rules! object {
    ($type:ty, $api_version:literal, $kind:literal, $plural:literal, $scope:ident) => {
        $crate::object!($type);
        impl $crate::Kind for $type {
            fn resource() -> $crate::ApiResource {
                $crate::ApiResource::new($api_version, $kind, $plural, $crate::Scope::$scope)
            }
        }
    };
    ($type:ty) => {
        impl $crate::Object for $type {
            fn meta(&self) -> &dyn $crate::Meta {
                &self.metadata
            }
        }
    };
}
