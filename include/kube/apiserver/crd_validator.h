// CrdValidator: what a server would say about a custom resource, without a server.
//
//   Result<CrdValidator> validator = CrdValidator::Make(crd);
//   CrdVerdict verdict = validator->Check(object);
//   if (verdict.error) ...                       // IsInvalid with causes, or IsBadRequest, in the server's words
//
// Runs the code of the embedded server: structural schema, defaults, pruning, metadata, list types. CEL rules are not evaluated; the
// verdict counts them. `kubexx crd validate` is the same as a command.
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

struct CrdVerdict {
  std::optional<Error> error{};         // why the server would refuse it
  std::vector<std::string> warnings{};  // what it would say in Warning headers: unknown fields, which are dropped, deprecation
  Value object{};                       // as it would be stored: pruned, with defaults. Null if there is an error
  std::size_t unevaluated_rules = 0;    // CEL rules in the schema of the object's version
};

// Thread safety: immutable; copies are cheap.
class KUBE_EXPORT CrdValidator {
 public:
  // Errors: IsInvalid or IsBadRequest, if the server would refuse the definition itself.
  static Result<CrdValidator> Make(const Value& crd);

  const std::string& group() const;
  const std::string& kind() const;

  // A create, or with `old` (the object before) an update. `ns`: the namespace of the request, if the object names none.
  CrdVerdict Check(const Value& object, const Value* old = nullptr, const std::string& ns = "default") const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kube::apiserver
