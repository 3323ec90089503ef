// What the protobuf codec promises, on real kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"

namespace kube::contract {
namespace {

using core::v1::ConfigMap;
using core::v1::Pod;
using ::testing::HasSubstr;

// Wire-format pieces.
std::string Varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string Field(std::uint32_t number, std::string_view bytes) {
  return Varint(std::uint64_t{number} << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}
std::string Number(std::uint32_t number, std::uint64_t v) { return Varint(std::uint64_t{number} << 3) + Varint(v); }

template <typename T>
std::string ErrorOf(std::string_view bytes) {
  auto r = FromProtobuf<T>(bytes);
  return r ? "no error" : r.error().ToString();
}

TEST(ProtobufTest, EnvelopeSaysWhatIsInside) {
  Pod pod;
  pod.metadata.name = "web";
  std::string bytes = ToProtobuf(pod).value();
  ASSERT_TRUE(HasProtobufEnvelope(bytes));
  auto envelope = ParseProtobufEnvelope(bytes);
  ASSERT_TRUE(envelope.ok()) << envelope.error().ToString();
  EXPECT_EQ(envelope->api_version, "v1");
  EXPECT_EQ(envelope->kind, "Pod");
  EXPECT_EQ(envelope->raw, ToProtobuf(pod, {.envelope = false}).value());
  EXPECT_EQ(FromProtobuf<Pod>(bytes)->metadata.name, "web");
  EXPECT_EQ(FromProtobuf<Pod>(envelope->raw)->metadata.name, "web");
  EXPECT_THAT(ErrorOf<ConfigMap>(bytes), HasSubstr(R"(kind: expected "ConfigMap", got "Pod")"));
}

TEST(ProtobufTest, InlinedStructsAreMessagesOfTheirOwn) {
  core::v1::Volume volume{.name = "v"};
  volume.empty_dir.Mutable().medium = "Memory";
  std::string bytes = ToProtobuf(volume, {.envelope = false}).value();
  EXPECT_EQ(bytes, Field(1, "v") + Field(2, Field(2, Field(1, "Memory"))));
  auto again = FromProtobuf<core::v1::Volume>(bytes);
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_TRUE(*again == volume);
}

TEST(ProtobufTest, ErrorsNamePathAndOffset) {
  // metadata (1) . name (1) with a length beyond the end
  EXPECT_EQ(ErrorOf<Pod>(Field(1,
                               "\x0a\x7f"
                               "ab")),
            "metadata.name: offset 2: a length beyond the end of the message");
  // spec (2) . containers (2) [0] . ports (6) [0] . containerPort (3) as bytes
  EXPECT_THAT(ErrorOf<Pod>(Field(2, Field(2, Field(6, Field(3, "x"))))), HasSubstr("spec.containers[0].ports[0].containerPort: offset "));
}

TEST(ProtobufTest, MalformedBytesAreAnError) {
  const std::string huge = Varint(0xffffffffffffffffULL);
  for (const std::string& bytes :
       {std::string("\x0a"), std::string("\x0a\x05"), Varint(1 << 3 | 2) + huge, Varint(1 << 3 | 2) + Varint(1ULL << 62),
        std::string("\x00\x01", 2), std::string("\x07"), std::string("\x0c"), std::string("\x0b"), std::string(11, '\xff'),
        std::string("\x0b\x0b\x0b"), Varint(2000 << 3 | 3), Varint(2000 << 3 | 1) + "1234567", Varint(2000 << 3 | 5) + "123",
        std::string("k8s\0\x0a\x7f", 6), std::string("k8s\0\x12\x05", 6)}) {
    EXPECT_FALSE(FromProtobuf<Pod>(bytes).ok()) << ::testing::PrintToString(bytes);
  }
  std::string groups;
  for (int i = 0; i < 100000; ++i) groups += Varint(2000 << 3 | 3);
  EXPECT_FALSE(FromProtobuf<Pod>(groups).ok());
}

TEST(ProtobufTest, RecursionHasALimit) {
  std::string items = Field(5, "x");
  for (int i = 0; i < 2000; ++i) items = Field(24, Field(1, items));  // items.schema.items.schema...
  EXPECT_THAT(ErrorOf<apiextensions::v1::JSONSchemaProps>(items), HasSubstr("nested too deep"));
}

TEST(ProtobufTest, ListsMayComeInSeveralRunsAndMessagesInParts) {
  std::string bytes = Field(1, Field(1, "a")) + Field(2, Field(2, Field(1, "x"))) + Field(1, Field(3, "ns")) + Field(2, Field(10, "node")) +
                      Field(2, Field(2, Field(1, "y")) + Field(2, Field(1, "z")));
  // With an interner the first run is a shared part by the third time, which the second run must not grow.
  Interner interner;
  for (Interner* with : {static_cast<Interner*>(nullptr), &interner, &interner, &interner}) {
    auto pod = FromProtobuf<Pod>(bytes, {.interner = with});
    ASSERT_TRUE(pod.ok()) << pod.error().ToString();
    EXPECT_EQ(pod->metadata.name, "a");
    EXPECT_EQ(pod->metadata.namespace_, "ns");
    ASSERT_EQ(pod->spec.containers.size(), 3U);
    EXPECT_EQ(pod->spec.containers[0].name, "x");
    EXPECT_EQ(pod->spec.containers[2].name, "z");
  }
}

TEST(ProtobufTest, RepeatedNumbersMayBePacked) {
  core::v1::PodSecurityContext wanted;
  wanted.supplemental_groups = {1, 300, 70000};
  std::string unpacked = ToProtobuf(wanted, {.envelope = false}).value();
  std::string packed = Field(4, Varint(1) + Varint(300) + Varint(70000));
  EXPECT_TRUE(*FromProtobuf<core::v1::PodSecurityContext>(unpacked) == wanted);
  auto got = FromProtobuf<core::v1::PodSecurityContext>(packed);
  ASSERT_TRUE(got.ok()) << got.error().ToString();
  EXPECT_TRUE(*got == wanted);
}

TEST(ProtobufTest, UnsetTimesAndTheEpochDiffer) {
  Pod pod;
  EXPECT_TRUE(FromProtobuf<Pod>(ToProtobuf(pod).value())->metadata.creation_timestamp.IsZero());
  pod.metadata.creation_timestamp = Time::FromUnix(0);
  EXPECT_EQ(FromProtobuf<Pod>(ToProtobuf(pod).value())->metadata.creation_timestamp, Time::FromUnix(0));
  // metadata . creationTimestamp (8) as an empty message is Go's zero time
  EXPECT_TRUE(FromProtobuf<Pod>(Field(1, Field(8, "")))->metadata.creation_timestamp.IsZero());
}

TEST(ProtobufTest, UnknownJsonFieldsAreNotLostInSilence) {
  auto pod = FromJson<Pod>(R"({"spec":{"containers":[{"name":"a","brandNew":true}]}})");
  ASSERT_TRUE(pod.ok());
  auto r = ToProtobuf(*pod);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().ToString(), HasSubstr("spec.containers[0]: "));
  EXPECT_THAT(r.error().ToString(), HasSubstr("brandNew"));
}

TEST(ProtobufTest, StrictModeNamesUnknownFields) {
  auto r = FromProtobuf<Pod>(Field(1, Field(1, "a") + Number(777, 1)), {.strict = true});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().ToString(), R"(strict decoding error: unknown field "metadata" number 777)");
}

TEST(ProtobufTest, EveryPrefixIsHandled) {
  Pod pod;
  pod.metadata.name = "web";
  pod.metadata.labels = {{"a", "b"}};
  pod.spec.containers = {core::v1::Container{.name = "c"}};
  std::string bytes = ToProtobuf(pod).value();
  for (std::size_t n = 0; n < bytes.size(); ++n) (void)FromProtobuf<Pod>(bytes.substr(0, n)).ok();  // no crash, under the sanitizers
}

}  // namespace
}  // namespace kube::contract
