// Thread: a named thread that its owner's destructor joins.
#pragma once

#include <string>
#include <thread>

#include "kube/base/export.h"
#include "kube/base/std_function.h"

namespace kube {

// A thread with a name that debuggers and `top -H` show (the first 15 bytes). It does not outlive this object: the destructor joins it.
// Process signals are blocked in it, so the main thread receives them. `body` must not throw.
//
// Blocking: the destructor, Join() and move assignment wait until `body` returns; the owner must signal it to stop first.
class KUBE_EXPORT Thread {
 public:
  Thread() = default;
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();

  // Whether it has a thread that was neither joined nor detached.
  bool joinable() const { return thread_.joinable(); }
  std::thread::id id() const { return thread_.get_id(); }
  // Waits until `body` has returned.
  void Join();
  // For the rare body that cannot be stopped, such as a DNS lookup: the thread continues alone and owns everything that it uses.
  void Detach();

 private:
  std::thread thread_;
};

}  // namespace kube
