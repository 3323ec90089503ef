// All headers of room meta: what all Kubernetes objects have in common.
//
//   object_key.h       ObjectKey: namespace/name
//   gvk.h              Gvk, Gvr, GroupVersion: names of kinds and resources
//   selector.h         Selector: by labels;  field_selector.h   FieldSelector: by fields
//   conditions.h       SetStatusCondition and related functions
//   owner_reference.h  SetControllerReference and related functions
//   resource.h         GvkOf<T>, MetadataOf, KeyOf
//   dynamic_object.h   DynamicObject: objects of kinds without a struct
//   registry.h         TypeRegistry: finds the table of a kind by name
//   validation.h       rules for names and labels
//   v1.h               ObjectMeta, ListMeta, Condition, Status ... (generated)
#pragma once

#include "kube/meta/conditions.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/field_selector.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/owner_reference.h"
#include "kube/meta/registry.h"
#include "kube/meta/resource.h"
#include "kube/meta/selector.h"
#include "kube/meta/v1.h"
#include "kube/meta/validation.h"

namespace kube {

// The structs of meta/v1 that nearly every program uses.
using meta::v1::Condition;
using meta::v1::LabelSelector;
using meta::v1::LabelSelectorRequirement;
using meta::v1::ListMeta;
using meta::v1::ObjectMeta;
using meta::v1::OwnerReference;
using meta::v1::PartialObjectMetadata;
using meta::v1::PartialObjectMetadataList;
using meta::v1::Status;

}  // namespace kube
