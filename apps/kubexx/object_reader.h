// Reads Kubernetes objects of any kind from bytes in any encoding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/registry.h"
#include "kube/value/any_object.h"
#include "kube/value/value.h"

namespace kube::app {

struct ReadObject {
  std::string where;  // "web.yaml: document 2 (apps/v1 Deployment default/web)": for messages
  Gvk gvk;
  ObjectKey key;
  AnyObject typed;                // empty for a kind without a table
  Value dynamic;                  // the object without a table
  std::vector<ReadObject> items;  // for a v1 List: what `typed` holds as JSON
  bool is_mixed_list = false;     // a v1 List

  // "apps/v1 Deployment default/web"
  std::string Name() const;
};

struct ReadResult {
  std::vector<ReadObject> objects;
  std::vector<std::string> problems;  // each with its place; if there are any, there is no output
  std::vector<std::string> notes;     // information for the user
};

// `file` is the name for messages. With `strict`, every unknown and every duplicate field is a problem.
ReadResult ReadObjects(std::string_view file, std::string_view bytes, bool strict, const TypeRegistry& registry);

// The object as JSON.
Result<Value> ToValue(const ReadObject& object);

}  // namespace kube::app
