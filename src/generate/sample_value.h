// A value that a schema accepts, as a person would choose it.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.h"

namespace kube::generate {

class SampleValues {
 public:
  // An object of the kind with this schema, without apiVersion, kind, metadata and status.
  Value Root(const Value& schema);

  // CEL rules that apply to what was made, as "path: message"; those that are known to hold are left out.
  const std::vector<std::string>& rules() const { return rules_; }

 private:
  // `variant` 0 is the value to show first; other ones differ from it, for lists whose items have to.
  Value Make(const Value& schema, const std::string& path, std::size_t variant);
  Value MakeObject(const Value& schema, const std::string& path, std::size_t variant);
  Value MakeList(const Value& schema, const std::string& path, std::size_t variant);
  static Value MakeScalar(const Value& schema, std::size_t variant);
  void NoteRules(const Value& schema, const std::string& path);

  std::vector<std::string> rules_;
};

}  // namespace kube::generate
