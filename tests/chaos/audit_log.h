// The writers of each moment, from the API server's audit log; and whether one wrote without the lease.
//
// Two writers: what is checked for each write of a child, by the time at which the replica SENT it (its Audit-ID has that):
//   1. the last lease write that had succeeded by then made that very replica the holder;
//   2. the replica's own last successful lease write had reached the server no longer ago than the lease lasts.
// By the time of sending, not of arrival: a request that is on its way when the lease ends can be taken by the server after the next leader
// began. No algorithm with leases and without fencing can rule that out; such writes are counted. The new leader sees the change and
// repairs it.
//
// A frozen process (SIGSTOP) is the other exception: it cannot notice that its time is over before it runs again, and a thread that was
// just about to send does so then. So each thread of it may send one request in the moment after it is resumed, and no more than that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kube::chaos {

using Micros = std::int64_t;  // since 1970

struct LeaseWrite {  // that succeeded
  std::string holder{};
  Micros received = 0, completed = 0;
};

struct ChildWrite {
  std::string replica{};
  std::string what{};  // "patch of-d17"
  Micros sent = 0, received = 0;
  std::optional<Micros> completed{};  // none if the server died first
  int code = 0;
};

struct AuditLog {
  std::vector<LeaseWrite> leases{};  // by completion
  std::vector<ChildWrite> writes{};  // by sending
  int broken_lines = 0;              // cut off if the server was killed
};

// Policy for a server that logs what is needed here, and nothing else.
std::string AuditPolicy(std::string_view ns);
// Parses the text of a log.
AuditLog ParseAuditLog(std::string_view text);

// A replica that was stopped and went on.
struct Freeze {
  std::string replica{};
  Micros stopped = 0, resumed = 0;
};

struct WriterReport {
  std::vector<std::string> problems{};
  int writes = 0;
  int holders = 0;    // changes of the lease's holder
  int in_flight = 0;  // sent in time, and received after another replica had the lease
  int thawed = 0;     // sent by a replica that had just been frozen
  std::string ToString() const;
};
// `threads`: how many of a replica may be about to send.
WriterReport CheckWriters(const AuditLog& log, const std::vector<Freeze>& freezes, Micros lease_duration, int threads);

}  // namespace kube::chaos
