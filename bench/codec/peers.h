// The peers that the codecs are measured against, each behind a function so that its headers stay in its own source.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace kube::bench {

// protobuf's own C++ library, generated from upstream's core/v1: parses a PodList message. Null on failure.
// The result holds the parsed message alive.
std::shared_ptr<void> ProtobufParsePodList(std::string_view message, std::size_t* items);

// A bare simdjson On-Demand walk that touches every value: reads every key, string, number and literal. Compiled for this machine's
// instruction set, which kubexx itself is not. Returns a checksum; `text` needs simdjson's padding behind it.
std::uint64_t SimdjsonWalk(std::string_view text);

// The same with simdjson's DOM: parse to a tape, then walk the tape.
std::uint64_t SimdjsonDomWalk(std::string_view text);

inline constexpr std::size_t kSimdjsonPadding = 64;

}  // namespace kube::bench
