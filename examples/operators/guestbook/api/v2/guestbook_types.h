// The types of Guestbook. `make manifests` writes the CRD from them: comments become descriptions, +markers are kubebuilder's.
// +groupName=webapp.my.domain
// +versionName=v2
#pragma once

#include <kube/kind.h>

namespace webapp::v2 {

// What the user of a Guestbook asks for.
struct GuestbookSpec {
  // What is written on the cover.
  // +required
  // +kubebuilder:validation:MinLength=1
  // +kubebuilder:validation:MaxLength=64
  kube::String title{};
  // Keepers of the book; the first one is the keeper of v1. The defaulting webhook fills in one.
  // +listType=atomic
  // +kubebuilder:validation:MaxItems=8
  // +kubebuilder:validation:items:MinLength=1
  // +kubebuilder:validation:items:MaxLength=63
  kube::List<kube::String> keepers{};
  // How many entries the book has room for; unlimited if absent.
  // +kubebuilder:validation:Minimum=1
  std::optional<std::int32_t> capacity{};

  KUBE_TABLE(GuestbookSpec);
};

// What the controller has found out.
struct GuestbookStatus {
  // How many guests have signed.
  std::optional<std::int32_t> entries{};
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(GuestbookStatus);
};

// A book that guests sign. An entry is a ConfigMap in the book's namespace with the label webapp.my.domain/guestbook, whose value is the
// book's name.
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Title,type=string,JSONPath=.spec.title
// +kubebuilder:printcolumn:name=Keepers,type=string,JSONPath=.spec.keepers
// +kubebuilder:printcolumn:name=Entries,type=integer,JSONPath=.status.entries
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
struct Guestbook {
  kube::meta::v1::ObjectMeta metadata{};
  GuestbookSpec spec{};
  GuestbookStatus status{};

  KUBE_TABLE(Guestbook);
};

}  // namespace webapp::v2
