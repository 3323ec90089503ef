// CrdValidator: validates custom resources like an API server, without a server.
//
//   Result<CrdValidator> validator = CrdValidator::Make(crd);
//   CrdVerdict verdict = validator->Check(object);
//   if (verdict.error) ...                       // IsInvalid with causes, or IsBadRequest, in the server's words
//
// It runs the code of the embedded API server: structural schema, defaults, pruning, metadata, list types. CEL rules are not evaluated; the
// verdict counts them. `kubexx crd validate` does the same from the command line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// The outcome of CrdValidator::Check.
struct CrdVerdict {
  std::optional<Error> error{};  // why the server would reject the object
  // The server's Warning headers: unknown fields, which are dropped, and deprecations.
  std::vector<std::string> warnings{};
  // The object as it would be stored: pruned, with defaults. Null if there is an error.
  Value object{};
  std::size_t unevaluated_rules = 0;  // CEL rules in the schema of the object's version
};

// Validates the objects of one definition.
//
// Thread safety: immutable; copies are cheap.
class KUBE_EXPORT CrdValidator {
 public:
  // Errors: IsInvalid or IsBadRequest, if a server would reject the definition itself.
  static Result<CrdValidator> Make(const Value& crd);

  const std::string& group() const;
  const std::string& kind() const;

  // Validates a create or, with `old`, an update of that object. `ns` is the request's namespace, for an object without one.
  CrdVerdict Check(const Value& object, const Value* old = nullptr, const std::string& ns = "default") const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kube::apiserver
