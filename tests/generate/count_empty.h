// How many [] and {} survive when an object is read into a struct and written again (docs/object-model.md#what-is-absent).
#pragma once

#include <cstddef>
#include <ostream>

#include "kube/value/value.h"

namespace kube::generate {

struct EmptyCount {
  std::size_t all = 0, kept = 0;

  // Those below `given`, and whether `written` has them in the same place. It is null if it has nothing.
  void Add(const Value& given, const Value& written) {
    if (given.is_list()) {
      AddOne(given.list().empty(), written.is_list());
      for (std::size_t i = 0; i < given.list().size(); ++i)
        Add(given.list()[i], written.is_list() && i < written.list().size() ? written.list()[i] : Value());
    } else if (given.is_object()) {
      AddOne(given.object().empty(), written.is_object());
      for (const auto& [key, member] : given.object()) Add(member, written[key]);
    }
  }

 private:
  void AddOne(bool empty, bool found) {
    all += empty ? 1U : 0U;
    kept += empty && found ? 1U : 0U;
  }
};

inline std::ostream& operator<<(std::ostream& out, const EmptyCount& count) {
  return out << count.kept << " of " << count.all << " [] and {} survive";
}

}  // namespace kube::generate
