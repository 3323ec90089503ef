"""Everything where upstream's sources disagree with each other and we know why. A disagreement that is not here fails the generation,
and so does an entry that nothing needs any more."""

_META = "k8s.io/apimachinery/pkg/apis/meta/v1"

# Go structs without a C++ struct, and why.
LEFT_OUT = {
    (_META, "TypeMeta"): "apiVersion and kind are not members: the table of a kind knows them",
    (_META, "Timestamp"): "the protobuf form of Time and MicroTime, which the codec knows",
    (_META, "InternalEvent"): "never serialised",
    ("k8s.io/api/core/v1", "List"): "the same as meta.v1.List, field by field",
}

# The meta types register by code that is no plain list, and in two groups: name -> group.
KINDS_OF_META = {
    "Status": "",
    "APIVersions": "",
    "APIGroupList": "",
    "APIGroup": "",
    "APIResourceList": "",
    "List": "",
    "ListOptions": "",
    "GetOptions": "",
    "DeleteOptions": "",
    "CreateOptions": "",
    "UpdateOptions": "",
    "PatchOptions": "",
    "Table": "meta.k8s.io",
    "TableOptions": "meta.k8s.io",
    "PartialObjectMetadata": "meta.k8s.io",
    "PartialObjectMetadataList": "meta.k8s.io",
}

# Structs with a TypeMeta that are no kind of their own, and why.
NO_KINDS = {
    "meta.v1.ApplyOptions": "a helper of Go clients that becomes PatchOptions on the way",
}

# ---- OpenAPI. It is that of an older release than the Go sources; what only the Go sources have is no disagreement. ----

# Schemas that only OpenAPI has. `x.*` stands for all types of package x.
OPENAPI_TYPES = {
    "io.k8s.api.scheduling.v1alpha2.*": "removed in 1.37 in favour of v1alpha3",
    "io.k8s.api.resource.v1.NodeAllocatableResourceMapping": "removed in 1.37",
    "io.k8s.api.resource.v1beta1.NodeAllocatableResourceMapping": "removed in 1.37",
    "io.k8s.api.resource.v1beta2.NodeAllocatableResourceMapping": "removed in 1.37",
    "io.k8s.apimachinery.pkg.api.resource.*": "field types of room `value`",
    "io.k8s.apimachinery.pkg.runtime.*": "field types of room `value`",
    "io.k8s.apimachinery.pkg.util.intstr.*": "field types of room `value`",
    "io.k8s.apimachinery.pkg.version.*": "the answer of /version, no API object",
}

# Fields, and structs as a whole.
OPENAPI_FIELDS = {
    "core.v1.NodeAllocatableResourceClaimStatus.resources": "reshaped in 1.37 while alpha",
    "core.v1.PodStatus.nodeAllocatableResourceClaimStatuses": "became a list of type map in 1.37 while alpha",
    "resource.v1.Device.nodeAllocatableResourceMappings": "removed in 1.37 while alpha",
    "resource.v1beta1.BasicDevice.nodeAllocatableResourceMappings": "removed in 1.37 while alpha",
    "resource.v1beta2.Device.nodeAllocatableResourceMappings": "removed in 1.37 while alpha",
    "apiregistration.v1.APIServiceSpec.caBundle": "a list type on bytes, which are no list",
}

# (group, version, kind)
OPENAPI_RESOURCES = {
    ("scheduling.k8s.io", "v1alpha2", "PodGroup"): "removed in 1.37 in favour of v1alpha3",
    ("scheduling.k8s.io", "v1alpha2", "Workload"): "removed in 1.37 in favour of v1alpha3",
}
