// ObjectSource: where a reflector gets its objects from. The client in programs, a script in tests.
#pragma once

#include <memory>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/cache/object.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/watch.h"

namespace kube::internal {

// Thread safety: called by one reflector's thread.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  // One page. Objects that cannot be decoded do not fail it.
  virtual Result<ListPage> List(const Context& ctx, const ListOptions& options) = 0;
  // Whether the server has reached `options.resource_version`: a list of at most one object. Errors: "Too large resource version" if not.
  virtual Result<void> CheckVersion(const Context& ctx, const ListOptions& options) = 0;
  // Events of objects that cannot be decoded do not end it.
  virtual Result<std::unique_ptr<WatchStream>> Watch(const Context& ctx, const WatchOptions& options) = 0;
};

// From a server. Namespace, selectors, decode options are the reflector's to fill in.
std::unique_ptr<ObjectSource> MakeClientSource(std::shared_ptr<const ClientCore> core, ResourceTarget target, const ObjectForm& form);

}  // namespace kube::internal
