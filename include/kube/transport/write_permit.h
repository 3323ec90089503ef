// WritePermit: whether what is done with a context may still change anything, asked at the last moment.
//
//   const Context ctx = lead.WithValue(std::shared_ptr<WritePermit>(permit));
//   client.Create(ctx, pod);                    // not sent, and the permit's error, once it says no
//
// A leader whose process stood still for longer than its lease (a frozen container, a paused virtual machine) does not know that yet when
// it goes on: its contexts stop a moment later. The permit that leader election puts into them (kube/control/leader_election.h) looks at
// the clock before each write leaves, and closes that gap.
#pragma once

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube {

// Thread safety: asked on the threads that write, from several at once. Must be quick.
class KUBE_EXPORT WritePermit {
 public:
  virtual ~WritePermit();
  // Before each attempt to send something else than a GET or HEAD.
  virtual Result<void> Check() = 0;
};

}  // namespace kube
