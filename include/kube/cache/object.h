// What caches hold and hand out.
//
//   Ptr<T>        an object out of a cache: shared and read-only, so nobody needs a copy of his own
//   Deleted<T>    what is known of an object that is gone
//
//   Ptr<Pod> pod = lister.Get({"default", "web"});
//   Pod mine = *pod;                                  // a copy costs a few increments; changing it never touches the cache
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

template <typename T>
using Ptr = std::shared_ptr<const T>;

template <ObjectType T>
struct Deleted {
  ObjectKey key{};
  // Its last state. Where `final_state_unknown`, the last one that was seen, which may be old, or null.
  Ptr<T> object{};
  // The deletion itself was missed: a later list did not have the object any more.
  bool final_state_unknown = false;
};

namespace internal {

using ObjectRef = std::shared_ptr<const void>;  // a T, as an ObjectForm says
using NewObject = std::shared_ptr<void>;        // one that nobody else has yet

// One answer of a list, taken apart: no object keeps another one alive.
struct ListPage {
  std::vector<NewObject> objects{};
  std::string resource_version{};
  std::string continue_token{};
  std::vector<UndecodableObject> undecodable{};  // which it had as well
};

// What a cache has to know of a type of objects. One for each T, for ever.
// Thread safety: immutable.
class KUBE_EXPORT ObjectForm {
 public:
  template <ObjectType T>
  static const ObjectForm& Of() {
    static const ObjectForm form(
        ObjectTraits<T>::kType, [] { return NewObject(std::make_shared<T>()); }, &ListAs<T>);
    return form;
  }

  const TypeInfo* type() const { return type_; }  // null: DynamicObject
  NewObject Make() const { return make_(); }
  // As ListObjects.
  Result<ListPage> List(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& options) const {
    return list_(core, ctx, target, options);
  }

  // ---- Of an object ---- (references live as long as the object)
  const String& Namespace(const void* object) const;
  const String& Name(const void* object) const;
  const String& ResourceVersion(const void* object) const;
  const String& Uid(const void* object) const;
  bool IsDeleting(const void* object) const;  // it has a deletionTimestamp
  ObjectKey Key(const void* object) const { return {Namespace(object), Name(object)}; }
  Map<String> Labels(const void* object) const;
  // The value of an annotation, or nothing.
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
