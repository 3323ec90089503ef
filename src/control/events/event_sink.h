// EventSink: where events are written.
#pragma once

#include <atomic>

#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"

namespace kube::internal {

// Thread safety: one thread at a time.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual Result<void> Create(const Context& ctx, const events::v1::Event& event) = 0;
  // Writes the series of an existing event.
  virtual Result<void> Patch(const Context& ctx, const events::v1::Event& event) = 0;
};

// The same event for servers that have only core/v1.
core::v1::Event ToCoreEvent(const events::v1::Event& event);

class ClientEventSink final : public EventSink {
 public:
  explicit ClientEventSink(Client client) : client_(std::move(client)) {}
  Result<void> Create(const Context& ctx, const events::v1::Event& event) override;
  Result<void> Patch(const Context& ctx, const events::v1::Event& event) override;
  bool uses_core() const { return api_ == Api::kCore; }

 private:
  enum class Api { kUnknown, kEvents, kCore };
  // After a 404: whether it means that the server has no such API.
  bool LacksApi(const Context& ctx);

  const Client client_;
  std::atomic<Api> api_{Api::kUnknown};
};

}  // namespace kube::internal
