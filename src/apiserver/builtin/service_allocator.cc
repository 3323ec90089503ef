#include "apiserver/builtin/service_allocator.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace kube::apiserver {
namespace {

std::optional<std::uint32_t> ParseIpv4(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string PrintIpv4(std::uint32_t address) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (!out.empty()) out += '.';
    out += std::to_string((address >> shift) & 0xff);
  }
  return out;
}

// Network address and prefix length of "10.0.0.0/16".
std::optional<std::pair<std::uint32_t, int>> ParseNetwork(const std::string& text) {
  std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::optional<std::uint32_t> address = ParseIpv4(text.substr(0, slash));
  int bits = -1;
  auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
  if (!address.has_value() || error != std::errc() || end != text.data() + text.size() || bits < 1 || bits > 30) return std::nullopt;
  return std::pair(*address & (~std::uint32_t{0} << (32 - bits)), bits);
}

// The part of a range that is reserved for requests of a certain address or port: a sixteenth, at least 16, at most 256 (ports: 128).
std::uint32_t ReservedPart(std::uint32_t size, std::uint32_t divisor, std::uint32_t most) {
  std::uint32_t part = std::clamp<std::uint32_t>(size / divisor, 16, most);
  return part < size ? part : 0;
}

}  // namespace

ServiceAllocator::ServiceAllocator(Options options) : options_(std::move(options)) {
  auto network = ParseNetwork(options_.network);
  if (!network.has_value()) {
    options_.network = Options{}.network;
    network = ParseNetwork(options_.network);
  }
  base_ = network->first;
  size_ = (std::uint32_t{1} << (32 - network->second)) - 2;  // neither the network's own address nor the broadcast address
  next_address_ = ReservedPart(size_, 16, 256);
  int ports = options_.last_port - options_.first_port + 1;
  next_port_ = options_.first_port + static_cast<int>(ReservedPart(static_cast<std::uint32_t>(std::max(ports, 0)), 32, 128));
}

std::optional<std::uint32_t> ServiceAllocator::OffsetOf(const std::string& address) const {
  std::optional<std::uint32_t> parsed = ParseIpv4(address);
  if (!parsed.has_value() || *parsed <= base_ || *parsed - base_ > size_) return std::nullopt;
  return *parsed - base_;
}

bool ServiceAllocator::Contains(const std::string& address) const { return OffsetOf(address).has_value(); }

std::string ServiceAllocator::TakeAddress() {
  MutexLock lock(mutex_);
  for (std::uint32_t tried = 0; tried < size_; ++tried) {
    next_address_ = next_address_ % size_ + 1;
    if (addresses_.insert(next_address_).second) return PrintIpv4(base_ + next_address_);
  }
  return {};
}

int ServiceAllocator::TakePort() {
  MutexLock lock(mutex_);
  for (int tried = options_.first_port; tried <= options_.last_port; ++tried) {
    next_port_ = next_port_ >= options_.last_port ? options_.first_port : next_port_ + 1;
    if (ports_.insert(next_port_).second) return next_port_;
  }
  return 0;
}

Result<void> ServiceAllocator::ClaimAddress(const std::string& address) {
  std::optional<std::uint32_t> offset = OffsetOf(address);
  if (!offset.has_value()) return Error::Invalid("the provided network does not match the current range");
  MutexLock lock(mutex_);
  if (!addresses_.insert(*offset).second) return Error::Invalid("provided IP is already allocated");
  return {};
}

Result<void> ServiceAllocator::ClaimPort(int port) {
  if (port < options_.first_port || port > options_.last_port) {
    return Error::Invalid("provided port is not in the valid range. The range of valid ports is " + std::to_string(options_.first_port) +
                          "-" + std::to_string(options_.last_port));
  }
  MutexLock lock(mutex_);
  if (!ports_.insert(port).second) return Error::Invalid("provided port is already allocated");
  return {};
}

void ServiceAllocator::ReleaseAddress(const std::string& address) {
  std::optional<std::uint32_t> offset = OffsetOf(address);
  MutexLock lock(mutex_);
  if (offset.has_value()) addresses_.erase(*offset);
}

void ServiceAllocator::ReleasePort(int port) {
  MutexLock lock(mutex_);
  ports_.erase(port);
}

ServiceAllocation::~ServiceAllocation() {
  for (const std::string& a : taken_addresses_) allocator_->ReleaseAddress(a);
  for (int p : taken_ports_) allocator_->ReleasePort(p);
}

std::string ServiceAllocation::TakeAddress() {
  std::string address = allocator_->TakeAddress();
  if (!address.empty()) taken_addresses_.push_back(address);
  return address;
}

int ServiceAllocation::TakePort() {
  int port = allocator_->TakePort();
  if (port != 0) taken_ports_.push_back(port);
  return port;
}

Result<void> ServiceAllocation::ClaimAddress(const std::string& address) {
  auto claimed = allocator_->ClaimAddress(address);
  if (claimed) taken_addresses_.push_back(address);
  return claimed;
}

Result<void> ServiceAllocation::ClaimPort(int port) {
  auto claimed = allocator_->ClaimPort(port);
  if (claimed) taken_ports_.push_back(port);
  return claimed;
}

void ServiceAllocation::Commit() {
  taken_addresses_.clear();
  taken_ports_.clear();
  for (const std::string& a : dropped_addresses_) allocator_->ReleaseAddress(a);
  for (int p : dropped_ports_) allocator_->ReleasePort(p);
  dropped_addresses_.clear();
  dropped_ports_.clear();
}

}  // namespace kube::apiserver
