// Structs with hand-written tables, for tests of the containers and the table-driven code.
#pragma once

#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include "kube/value/box.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/quantity.h"
#include "kube/value/raw.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/type_info.h"

namespace kube::testing {

// Longer than the inline capacity of String.
inline constexpr std::string_view kLongText = "a text that does not fit inside of a String";
inline constexpr std::string_view kOtherLongText = "another text that does not fit inside either";

struct Leaf {
  String name;
  std::optional<std::int32_t> port;
  UnknownFields unknown_fields;

  static const TypeInfo kType;
  friend bool operator==(const Leaf& a, const Leaf& b) { return EqualObjects(kType, &a, &b); }
};

// One field of every kind, in every shape.
struct Node {
  String text;
  Bytes bytes;
  bool flag = false;
  std::int32_t number = 0;
  std::int64_t large_number = 0;
  double ratio = 0;
  Quantity quantity;
  Time time;
  MicroTime micro_time;
  Duration duration;
  IntOrString int_or_string;
  RawJson raw;
  Leaf leaf;
  std::optional<String> optional_text;
  std::optional<Quantity> optional_quantity;
  std::optional<bool> optional_flag;
  Time optional_time;
  Box<Leaf> box;
  List<String> texts;
  List<std::int32_t> numbers;
  List<Leaf> leaves;
  Map<String> labels;
  Map<Quantity> limits;
  Map<Leaf> leaf_by_name;
  Box<Node> child;
  UnknownFields unknown_fields;

  static const TypeInfo kType;
  friend bool operator==(const Node& a, const Node& b) { return EqualObjects(kType, &a, &b); }
};

namespace tables {

inline const FieldInfo kLeaf[] = {
    {.json_name = "name", .offset = offsetof(Leaf, name), .number = 1, .kind = FieldKind::kString},
    {.json_name = "port", .offset = offsetof(Leaf, port), .number = 2, .kind = FieldKind::kInt32, .shape = FieldShape::kOptional},
};

#define KUBE_TEST_FIELD(member, field_kind, field_shape, field_type)                                                        \
  {                                                                                                                         \
    .json_name = #member, .type = field_type, .offset = offsetof(Node, member), .number = 1, .kind = FieldKind::field_kind, \
    .shape = FieldShape::field_shape                                                                                        \
  }
inline const FieldInfo kNode[] = {
    KUBE_TEST_FIELD(text, kString, kPlain, nullptr),
    KUBE_TEST_FIELD(bytes, kBytes, kPlain, nullptr),
    KUBE_TEST_FIELD(flag, kBool, kPlain, nullptr),
    KUBE_TEST_FIELD(number, kInt32, kPlain, nullptr),
    KUBE_TEST_FIELD(large_number, kInt64, kPlain, nullptr),
    KUBE_TEST_FIELD(ratio, kDouble, kPlain, nullptr),
    KUBE_TEST_FIELD(quantity, kQuantity, kPlain, nullptr),
    KUBE_TEST_FIELD(time, kTime, kPlain, nullptr),
    KUBE_TEST_FIELD(micro_time, kMicroTime, kPlain, nullptr),
    KUBE_TEST_FIELD(duration, kDuration, kPlain, nullptr),
    KUBE_TEST_FIELD(int_or_string, kIntOrString, kPlain, nullptr),
    KUBE_TEST_FIELD(raw, kRawJson, kPlain, nullptr),
    KUBE_TEST_FIELD(leaf, kMessage, kPlain, &Leaf::kType),
    KUBE_TEST_FIELD(optional_text, kString, kOptional, nullptr),
    KUBE_TEST_FIELD(optional_quantity, kQuantity, kOptional, nullptr),
    KUBE_TEST_FIELD(optional_flag, kBool, kOptional, nullptr),
    KUBE_TEST_FIELD(optional_time, kTime, kOptional, nullptr),
    KUBE_TEST_FIELD(box, kMessage, kOptional, &Leaf::kType),
    KUBE_TEST_FIELD(texts, kString, kList, nullptr),
    KUBE_TEST_FIELD(numbers, kInt32, kList, nullptr),
    KUBE_TEST_FIELD(leaves, kMessage, kList, &Leaf::kType),
    KUBE_TEST_FIELD(labels, kString, kMap, nullptr),
    KUBE_TEST_FIELD(limits, kQuantity, kMap, nullptr),
    KUBE_TEST_FIELD(leaf_by_name, kMessage, kMap, &Leaf::kType),
    KUBE_TEST_FIELD(child, kMessage, kOptional, &Node::kType),
};
#undef KUBE_TEST_FIELD

}  // namespace tables

inline const TypeInfo Leaf::kType = {.name = "test.Leaf",
                                     .fields = tables::kLeaf,
                                     .field_count = std::size(tables::kLeaf),
                                     .size = sizeof(Leaf),
                                     .unknown_offset = offsetof(Leaf, unknown_fields)};
inline const TypeInfo Node::kType = {.name = "test.Node",
                                     .fields = tables::kNode,
                                     .field_count = std::size(tables::kNode),
                                     .size = sizeof(Node),
                                     .unknown_offset = offsetof(Node, unknown_fields)};

// A Node with every field set.
inline Node FullNode() {
  Node n;
  n.text = kLongText;
  n.bytes = Bytes(std::string_view("\0\xff", 2));
  n.flag = true;
  n.number = -7;
  n.large_number = std::int64_t{1} << 60;
  n.ratio = 0.5;
  n.quantity = Quantity::FromMilli(1500);
  n.time = Time::FromUnix(1'700'000'000);
  n.micro_time = MicroTime::FromUnixMicros(1'700'000'000'123'456);
  n.duration = std::chrono::minutes(90);
  n.int_or_string = IntOrString(kOtherLongText);
  n.raw = R"({"apiVersion":"v1","kind":"Something"})";
  n.leaf.name = kLongText;
  n.leaf.port = 80;
  n.optional_text = String(kLongText);
  n.optional_quantity = Quantity::FromInt64(0);
  n.optional_flag = false;
  n.optional_time = Time::FromUnix(0);
  n.box.Mutable().name = kLongText;
  n.texts = {"short", kLongText};
  n.numbers = {1, 2, 3};
  n.leaves = {Leaf{.name = kLongText, .port = 1}, Leaf{.name = "b"}};
  n.labels = {{"app", "web"}, {kLongText, kLongText}};
  n.limits = {{"cpu", Quantity::FromMilli(500)}, {"memory", Quantity::FromInt64(1 << 30, Quantity::Format::kBinarySI)}};
  n.leaf_by_name["x"].name = kLongText;
  n.child.Mutable().text = kLongText;
  n.unknown_fields.set_json(R"("future":{"field":true})");
  internal::Settle(n);  // as a decoder would have made it
  return n;
}

// Runs `work(i)` in four threads concurrently.
template <typename Work>
void InThreads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace kube::testing
