// A made-up kind with a field for each feature of patches, diff and hash. For the tests of this room.
#pragma once

#include <optional>

#include "kube/value/box.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/quantity.h"
#include "kube/value/raw.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/type_info.h"

namespace kube::patch_test {

struct Port {  // merge key `port`, unique by port and protocol
  std::int32_t port{};
  String protocol{};
  String name{};
  std::optional<std::int32_t> node_port{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Container {  // merge key `name`
  String name{};
  String image{};
  List<String> args{};  // replaced
  List<Port> ports{};   // merged
  Map<Quantity> limits{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Source {
  String path{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Volume {  // merge key `name`, retains keys; `file` and `memory` are inlined
  String name{};
  Box<Source> file{};
  Box<Source> memory{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Strategy {
  String type{};
  std::optional<IntOrString> surge{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Spec {
  std::optional<std::int32_t> replicas{};
  List<Container> containers{};
  List<Volume> volumes{};
  Box<Strategy> strategy{};      // retains keys
  Box<Strategy> policy{};        // replaced
  List<String> tags{};           // a merging list of plain values
  List<std::int32_t> numbers{};  // a merging list of plain numbers
  Map<String> selector{};
  Map<Container> by_name{};
  List<Strategy> keyless{};  // declared as merging, but has no key
  RawJson raw{};
  Quantity amount{};
  double weight{};
  Time since{};
  Duration grace{};
  bool paused{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Meta {
  String name{};
  Map<String> labels{};
  Map<String> annotations{};
  List<String> finalizers{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Thing {  // test.example.com/v1 Thing
  Meta metadata{};
  Spec spec{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct Secret {  // as core/v1 has it
  Meta metadata{};
  Map<Bytes> data{};
  Map<String> string_data{};
  String type{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

struct SecretList {
  List<Secret> items{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

}  // namespace kube::patch_test
