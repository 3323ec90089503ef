// Cluster addresses and node ports for services.
//
//   ServiceAllocator    the allocated addresses and ports
//   ServiceAllocation   the allocations of one request, released unless the request succeeds
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/result.h"

namespace kube::apiserver {

// Addresses of one IPv4 network and ports of one range. Fresh ones are allocated in turn, starting above the lowest part of the range,
// which is reserved for requests of a specific one.
//
// Thread safety: all functions may be called from any thread.
class ServiceAllocator {
 public:
  struct Options {
    std::string network = "10.0.0.0/16";  // an IPv4 network with a prefix of at most 30 bits
    int first_port = 30000;
    int last_port = 32767;
  };
  ServiceAllocator() : ServiceAllocator(Options{}) {}
  // An invalid network is replaced by the default one.
  explicit ServiceAllocator(Options options);

  const std::string& network() const { return options_.network; }
  // Whether this is an address of the network.
  bool Contains(const std::string& address) const;

  // Returns empty, or 0, if all are allocated.
  std::string TakeAddress();
  int TakePort();
  // Errors: a text such as "provided IP is already allocated".
  Result<void> ClaimAddress(const std::string& address);
  Result<void> ClaimPort(int port);
  void ReleaseAddress(const std::string& address);
  void ReleasePort(int port);
  // Releases everything.
  void Clear() {
    MutexLock lock(mutex_);
    addresses_.clear();
    ports_.clear();
  }

 private:
  Options options_;
  std::uint32_t base_ = 0;  // the network's address
  std::uint32_t size_ = 0;  // number of allocatable addresses: 1 .. size_
  Mutex mutex_;
  std::set<std::uint32_t> addresses_ KUBE_GUARDED_BY(mutex_);  // offsets into the network
  std::set<int> ports_ KUBE_GUARDED_BY(mutex_);
  std::uint32_t next_address_ KUBE_GUARDED_BY(mutex_) = 0;
  int next_port_ KUBE_GUARDED_BY(mutex_) = 0;

  std::optional<std::uint32_t> OffsetOf(const std::string& address) const;
};

// The allocations and releases of one request. Without Commit, the destructor undoes them.
//
// Thread safety: one thread at a time.
class ServiceAllocation {
 public:
  explicit ServiceAllocation(ServiceAllocator& allocator) : allocator_(&allocator) {}
  ServiceAllocation(const ServiceAllocation&) = delete;
  ServiceAllocation& operator=(const ServiceAllocation&) = delete;
  ~ServiceAllocation();

  ServiceAllocator& allocator() { return *allocator_; }
  std::string TakeAddress();
  int TakePort();
  Result<void> ClaimAddress(const std::string& address);
  Result<void> ClaimPort(int port);
  // Released by Commit.
  void DropAddress(const std::string& address) { dropped_addresses_.push_back(address); }
  void DropPort(int port) { dropped_ports_.push_back(port); }
  // The object is stored: keeps the allocations.
  void Commit();

 private:
  ServiceAllocator* allocator_;
  std::vector<std::string> taken_addresses_, dropped_addresses_;
  std::vector<int> taken_ports_, dropped_ports_;
};

}  // namespace kube::apiserver
