// Lists objects as JSON, whatever their shape, including those that cannot be decoded.
#pragma once

#include <cstddef>
#include <string>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/meta/gvk.h"
#include "kube/value/list.h"
#include "kube/value/string.h"
#include "kube/value/value.h"

namespace auto_expose {

struct JsonListOptions {
  kube::String name{};         // the only object to list; empty for all
  bool metadata_only = false;  // without spec and status
  std::size_t max_bytes = 0;   // limit on the size of the answer; 0 means none
};
// The objects of a namespace. Errors: those of the request; kDecode if the response cannot be parsed; kTransport (ResponseTooLarge) if it
// exceeds max_bytes.
kube::Result<kube::List<kube::Value>> ListJson(const kube::Context& ctx, const kube::Client& client, const kube::Gvr& gvr,
                                               const kube::String& ns, const JsonListOptions& options = {});

}  // namespace auto_expose
