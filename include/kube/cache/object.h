// The objects that caches store and return.
//
//   Ptr<T>        an object in a cache: shared and read-only, so readers need no copy
//   Deleted<T>    what is known about a deleted object
//
//   Ptr<Pod> pod = lister.Get({"default", "web"});
//   Pod mine = *pod;                                  // cheap: increments reference counts; changing it never touches the cache
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/resource_client.h"
#include "kube/client/undecodable.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/object_key.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/resource.h"

namespace kube {

// A shared, read-only object.
template <typename T>
using Ptr = std::shared_ptr<const T>;

// A deletion, as delivered to a handler.
template <ObjectType T>
struct Deleted {
  ObjectKey key{};
  // The last state. If final_state_unknown, the last state that was seen, which may be outdated, or null.
  Ptr<T> object{};
  // The watch missed the deletion: a later list no longer had the object.
  bool final_state_unknown = false;
};

namespace internal {

using ObjectRef = std::shared_ptr<const void>;  // a T, identified by an ObjectForm
using NewObject = std::shared_ptr<void>;        // not shared yet

// One page of a list. Its objects do not keep each other alive.
struct ListPage {
  std::vector<NewObject> objects{};
  std::string resource_version{};
  std::string continue_token{};
  std::vector<UndecodableObject> undecodable{};  // in addition to `objects`
};

// What a cache needs to know about a type of objects. One per T, never destroyed.
// Thread safety: immutable.
class KUBE_EXPORT ObjectForm {
 public:
  template <ObjectType T>
  static const ObjectForm& Of() {
    static const ObjectForm form(
        ObjectTraits<T>::kType, [] { return NewObject(std::make_shared<T>()); }, &ListAs<T>);
    return form;
  }

  const TypeInfo* type() const { return type_; }  // null for DynamicObject
  NewObject Make() const { return make_(); }
  // See ListObjects.
  Result<ListPage> List(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& options) const {
    return list_(core, ctx, target, options);
  }

  // ---- Properties of an object ---- (references are valid as long as the object)
  const String& Namespace(const void* object) const;
  const String& Name(const void* object) const;
  const String& ResourceVersion(const void* object) const;
  const String& Uid(const void* object) const;
  bool IsDeleting(const void* object) const;  // it has a deletionTimestamp
  ObjectKey Key(const void* object) const { return {Namespace(object), Name(object)}; }
  Map<String> Labels(const void* object) const;
  // Returns nullopt if there is no such annotation.
  std::optional<String> Annotation(const void* object, std::string_view key) const;

 private:
  using ListFunction = Result<ListPage> (*)(const ClientCore&, const Context&, const ResourceTarget&, const ListOptions&);
  ObjectForm(const TypeInfo* type, NewObject (*make)(), ListFunction list);

  template <ObjectType T>
  static Result<ListPage> ListAs(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& options) {
    ObjectList<T> list;
    if (Result<void> r = ListObjects(core, ctx, target, options, &list); !r) return r.error();
    ListPage page{.resource_version = list.metadata.resource_version.str(), .continue_token = list.metadata.continue_.str()};
    page.objects.reserve(list.items.size());
    for (T& item : list.items) page.objects.push_back(std::make_shared<T>(std::move(item)));
    return page;
  }
  const meta::v1::ObjectMeta& Metadata(const void* object) const;

  const TypeInfo* type_;
  NewObject (*make_)();
  ListFunction list_;
  std::size_t metadata_offset_ = 0;
};

}  // namespace internal
}  // namespace kube
