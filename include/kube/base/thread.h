// Thread: a named thread that is joined by its owner's destructor.
#pragma once

#include <string>
#include <thread>

#include "kube/base/export.h"
#include "kube/base/std_function.h"

namespace kube {

// A thread with a name that debuggers and `top -H` show (the first 15 bytes of it). It does not outlive this object: the destructor joins.
// Signals meant for the process are blocked in it, so they reach the main thread. `body` must not throw.
//
// Blocking: the destructor, Join() and move assignment wait until `body` returns; whoever owns the thread tells it to stop first.
class KUBE_EXPORT Thread {
 public:
  Thread() = default;
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();

  bool joinable() const { return thread_.joinable(); }
  std::thread::id id() const { return thread_.get_id(); }
  void Join();
  // For the rare body that nobody can stop, as a lookup in DNS: it goes on alone, and holds all that it uses.
  void Detach();

 private:
  std::thread thread_;
};

}  // namespace kube
