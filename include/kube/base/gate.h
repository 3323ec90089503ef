// Gate: stop letting work in, and wait until the work that is inside has left.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"

namespace kube {

// Counts the operations that use an object, so that its owner can shut down without pulling the floor away from under them.
//
// Example:
//   Result<int> Server::Handle() {
//     auto inside = gate_.Enter();
//     if (!inside) return Error(ErrorKind::kClosed, "server is shut down");
//     ...                                       // Close() waits for the end of this scope
//   }
//   Server::~Server() { gate_.Close(); }
//
// Thread safety: all methods may be called from any thread. Closing from inside the gate waits for itself forever.
class KUBE_EXPORT Gate {
 public:
  // Proof of being inside; leaves when destroyed. Move-only. Must not outlive the gate, whose destructor waits for it.
  class [[nodiscard]] Holder {
   public:
    Holder(Holder&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Holder& operator=(Holder&& other) noexcept {
      if (this != &other) {
        Leave();
        gate_ = std::exchange(other.gate_, nullptr);
      }
      return *this;
    }
    ~Holder() { Leave(); }

   private:
    friend class Gate;
    explicit Holder(Gate* gate) : gate_(gate) {}
    void Leave() {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->Leave();
    }
    Gate* gate_;
  };

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { Close(); }

  // Nothing once Close() was called.
  std::optional<Holder> Enter();

  // Refuses new work and blocks until the old has left. May be called again, and then waits as well.
  void Close();

  // The same, but gives up waiting when `ctx` stops, with its error; the gate stays closed.
  Result<void> Close(const Context& ctx);

  bool closed() const;
  std::size_t count() const;

 private:
  void Leave();

  mutable Mutex mu_;
  CondVar empty_;
  std::size_t count_ KUBE_GUARDED_BY(mu_) = 0;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube
