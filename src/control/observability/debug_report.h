// What /debug/controllers says, as JSON: controllers, their objects, and the caches.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/result.h"
#include "kube/cache/informer_status.h"
#include "kube/control/controller.h"
#include "kube/value/value.h"

namespace kube::internal {

// The part after '?'. Texts are looked for without regard to the case of ASCII letters.
struct DebugQuery {
  static constexpr std::size_t kMostObjects = 1000;

  std::string controller{};  // only this one; empty: all
  std::string key{};         // only objects whose "namespace/name" has this in it
  std::string filter{};      // the same for controller, key, state, last result and causes
  std::size_t limit = 100;   // objects of each controller

  // Errors: kInvalid, naming the parameter.
  static Result<DebugQuery> Parse(std::string_view query);

  bool filters() const { return !key.empty() || !filter.empty(); }
  // How many keys of a queue have to be looked at: ControllerStatus of so many.
  std::size_t most() const { return filters() ? 10000 : kMostObjects; }
};

// Size: at most `query.limit` objects for each controller, and 2 KB of each error. What was left out is counted. `webhooks` is
// what ManagerWebhooks reports.
std::string DebugReport(const std::vector<ControllerStatus>& controllers, const std::vector<InformerStatus>& informers, bool leader,
                        Clock::WallTime now, const DebugQuery& query = {}, Value webhooks = {});

}  // namespace kube::internal
