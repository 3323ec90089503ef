// WritePermit: whether what is done with a context may still change anything, asked just before a write is sent.
//
//   const Context ctx = AddWritePermit(lead, permit);
//   client.Create(ctx, pod);                    // fails with the permit's error once the permit refuses, and sends nothing
//
// A leader whose process stood still for longer than its lease (a frozen container, a paused virtual machine) does not know that yet when
// it resumes: its contexts stop a moment later. The permit that leader election puts into them (kube/control/leader_election.h) checks the
// clock before each write is sent, and closes that gap.
//
// Writes are all requests other than GET and HEAD, and every session that leaves HTTP: exec, attach and port-forward are GETs, but what
// they open can change anything. The permit is asked before such a session is opened, and again before each piece that is sent on it.
#pragma once

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"

namespace kube {

// Thread safety: Check is called on the threads that write, from several at once. Must be quick.
class KUBE_EXPORT WritePermit {
 public:
  virtual ~WritePermit();
  // Called before each attempt to send a write.
  virtual Result<void> Check() = 0;
};

// A child of `ctx` whose writes need `permit`, and also the permit that `ctx` has, if any. (WithValue would replace the latter.) Null
// adds nothing.
[[nodiscard]] KUBE_EXPORT Context AddWritePermit(const Context& ctx, std::shared_ptr<WritePermit> permit);

}  // namespace kube
