// Gate: refuses new work and waits for running work to finish.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"

namespace kube {

// Counts the operations in progress on an object, so that the object can shut down safely.
//
// Example:
//   Result<int> Server::Handle() {
//     auto inside = gate_.Enter();
//     if (!inside) return Error(ErrorKind::kClosed, "server is shut down");
//     ...                                       // Close() waits for the end of this scope
//   }
//   Server::~Server() { gate_.Close(); }
//
// Thread safety: all methods may be called from any thread. Closing the gate from inside deadlocks.
class KUBE_EXPORT Gate {
 public:
  // Keeps the gate entered until it is destroyed. Move-only. Must not outlive the gate, whose destructor waits for it.
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

  // Enters the gate. Returns nothing after Close().
  std::optional<Holder> Enter();

  // Refuses new entries and blocks until all holders have left. May be called again; each call waits.
  void Close();

  // The same, but stops waiting when `ctx` stops and returns its error; the gate stays closed.
  Result<void> Close(const Context& ctx);

  // Whether Close() was called.
  bool closed() const;
  // The number of holders.
  std::size_t count() const;

 private:
  void Leave();

  mutable Mutex mu_;
  CondVar empty_;
  std::size_t count_ KUBE_GUARDED_BY(mu_) = 0;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube
