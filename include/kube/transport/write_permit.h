// WritePermit: decides just before a write is sent whether a context may still write.
//
//   const Context ctx = AddWritePermit(lead, permit);
//   client.Create(ctx, pod);                    // once the permit refuses, returns its error and sends nothing
//
// A leader that was suspended for longer than its lease (a frozen container, a paused virtual machine) does not notice this at once when it
// resumes: its contexts stop a moment later. Leader election puts a permit into them (kube/control/leader_election.h) that checks the clock
// before each write, which closes that gap.
//
// All requests except GET and HEAD are writes, and so is every upgraded session: exec, attach and port-forward are GETs, but can change
// anything. The permit is checked before such a session is opened and before each message that is sent on it.
#pragma once

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"

namespace kube {

// Permits or refuses writes.
//
// Thread safety: Check is called on the writing threads, possibly on several at once. Must be non-blocking.
class KUBE_EXPORT WritePermit {
 public:
  virtual ~WritePermit();
  // Called before each attempt to send a write. An error refuses it.
  virtual Result<void> Check() = 0;
};

// Returns a child of `ctx` whose writes need `permit` in addition to the permit of `ctx`, if any. (WithValue would replace the latter.)
// Null adds nothing.
[[nodiscard]] KUBE_EXPORT Context AddWritePermit(const Context& ctx, std::shared_ptr<WritePermit> permit);

}  // namespace kube
