// A kind in three versions, which differ in all ways that conversion has to deal with: v2 is the hub.
#pragma once

#include "kube/meta/v1.h"
#include "kube/value/table.h"
#include "kube/webhook/conversion.h"

namespace kube::nets::v1 {

struct Rule {
  String name{};
  std::int32_t port = 0;
  String comment{};  // v1 only
  KUBE_TABLE(Rule);
};
struct Step {
  String run{};
  String note{};  // v1 only
  KUBE_TABLE(Step);
};
struct Backup {
  String host{};
  Time at{};  // v1 only
  KUBE_TABLE(Backup);
};
struct Shared {
  String a{};
  std::optional<bool> b{};
  KUBE_TABLE(Shared);
};
struct NetworkSpec {
  String cidr{};  // the first of v2's cidrs
  String gateway{};
  std::optional<std::int32_t> mtu{};
  List<Rule> rules{};
  List<Step> steps{};
  List<String> tags{};
  Map<Quantity> limits{};
  Map<Shared> zones{};
  Box<Backup> backup{};
  RawJson extra{};
  Shared shared{};
  Box<Shared> only_v1{};
  String mode{};  // "fast" or "slow"; v2 has a number
  KUBE_TABLE(NetworkSpec);
};
struct NetworkStatus {
  String phase{};
  List<meta::v1::Condition> conditions{};
  KUBE_TABLE(NetworkStatus);
};
struct Network {
  meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};
  KUBE_TABLE(Network);
};

}  // namespace kube::nets::v1

namespace kube::nets::v2 {

struct Rule {
  String name{};
  std::int32_t port = 0;
  std::optional<std::int64_t> priority{};  // v2 only
  KUBE_TABLE(Rule);
};
struct Step {
  String run{};
  std::int32_t retries = 0;  // v2 only
  KUBE_TABLE(Step);
};
struct Backup {
  String host{};
  std::int32_t retries = 0;  // v2 only
  KUBE_TABLE(Backup);
};
struct Zone {
  String a{};
  double weight = 0;  // v2 only
  KUBE_TABLE(Zone);
};
struct NetworkSpec {
  List<String> cidrs{};
  String gateway{};
  std::optional<std::int32_t> mtu{};
  List<Rule> rules{};
  List<Step> steps{};
  List<String> tags{};
  Map<Quantity> limits{};
  Map<Zone> zones{};
  Box<Backup> backup{};
  RawJson extra{};
  v1::Shared shared{};
  Map<List<String>> matrix{};  // v2 only
  std::int32_t mode = 0;
  KUBE_TABLE(NetworkSpec);
};
struct NetworkStatus {
  String phase{};
  List<meta::v1::Condition> conditions{};
  std::int64_t ready = 0;  // v2 only
  KUBE_TABLE(NetworkStatus);
};
struct Network {
  meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};
  KUBE_TABLE(Network);
};

}  // namespace kube::nets::v2

namespace kube::nets::v3 {

// Has next to nothing in common with the hub.
struct Network {
  meta::v1::ObjectMeta metadata{};
  String phase{};
  List<String> addresses{};
  KUBE_TABLE(Network);
};

}  // namespace kube::nets::v3

namespace kube::nets {

ConversionBuilder<v2::Network> NetworkConversion();
// With v3, too.
ConversionBuilder<v2::Network> ThreeVersions();

}  // namespace kube::nets
