// Decoding a new version of an object with the earlier one at hand: unchanged parts are shared, changed parts are decoded, and the result
// shows no difference.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "kube/api/core/v1.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/interner.h"
#include "kube/codec/predecessors.h"
#include "kube/codec/protobuf.h"

namespace kube {
namespace {

using core::v1::Container;
using core::v1::Pod;

// Has one earlier version, whatever is asked for.
class OneEarlier final : public Predecessors {
 public:
  OneEarlier() : Predecessors(Pod::kType) {}
  const void* Begin(const void* object, PartHashes& parts) override {
    ++begun;
    name = static_cast<const Pod*>(object)->metadata.name.str();
    parts = earlier_parts;
    return earlier.get();
  }
  void End(const void*, const PartHashes& parts) override {
    ++ended;
    last = parts;
  }

  std::shared_ptr<const Pod> earlier;
  PartHashes earlier_parts{};
  int begun = 0, ended = 0;
  std::string name;
  PartHashes last{};
};

Pod Web() {
  Pod pod;
  pod.metadata = {.name = "web-1", .namespace_ = "default", .uid = "7f0c1d4e", .resource_version = "1"};
  Container container;
  container.name = "main";
  container.image = "registry.example.com/web:1";
  pod.spec.containers = {container};
  pod.spec.node_name = "a-node-with-a-long-name";
  pod.status.phase = "Running";
  pod.status.pod_ip = "10.244.117.203";
  pod.status.message = "as long as it has to be to live on the heap";
  return pod;
}

std::string Bare(const Pod& pod) { return ToProtobuf(pod, {.envelope = false}).value(); }

class PredecessorsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Pod> Decode(std::string_view bytes, DecodeOptions options = {}) {
    options.interner = &interner_;
    options.predecessors = &predecessors_;
    auto pod = std::make_shared<Pod>();
    const Result<void> read = DecodeProtobuf(Pod::kType, pod.get(), bytes, options);
    EXPECT_TRUE(read.ok()) << read.error().ToString();
    return pod;
  }
  std::shared_ptr<Pod> Decode(const Pod& pod) {
    std::shared_ptr<Pod> decoded = Decode(ToProtobuf(pod).value());
    EXPECT_TRUE(*decoded == pod);
    return decoded;
  }
  // What was decoded last is the earlier version from now on.
  void Remember(std::shared_ptr<const Pod> pod) {
    predecessors_.earlier = std::move(pod);
    predecessors_.earlier_parts = predecessors_.last;
  }
  std::uint64_t Hits() const { return interner_.stats().hit_bytes; }

  Interner interner_;
  OneEarlier predecessors_;
};

TEST_F(PredecessorsTest, TakesWhatDidNotChange) {
  Pod pod = Web();
  Remember(Decode(pod));
  EXPECT_EQ(predecessors_.name, "web-1") << "the metadata is there when the earlier version is asked for";
  EXPECT_NE(predecessors_.last[0], 0U);
  EXPECT_NE(predecessors_.last[1], 0U);
  EXPECT_NE(predecessors_.last[0], predecessors_.last[1]);

  pod.metadata.resource_version = "2";
  pod.metadata.annotations = {{"touched", "yes"}};
  const std::uint64_t hits = Hits();
  const std::shared_ptr<Pod> second = Decode(pod);
  EXPECT_EQ(second->spec.containers.data(), predecessors_.earlier->spec.containers.data()) << "the very same memory";
  EXPECT_EQ(second->status.message.view().data(), predecessors_.earlier->status.message.view().data());
  EXPECT_EQ(predecessors_.last, predecessors_.earlier_parts) << "equal bytes, equal hashes";
  EXPECT_GT(Hits(), hits) << "shared instead of decoded";
  EXPECT_EQ(predecessors_.begun, 2);
  EXPECT_EQ(predecessors_.ended, 2);
}

// The interner alone would share as much of so few objects. This shows which of the two did.
TEST_F(PredecessorsTest, TakesThemFromTheEarlierVersionAndNowhereElse) {
  const Pod pod = Web();
  Remember(Decode(pod));
  Pod marked = *predecessors_.earlier;
  marked.spec.hostname = "a-mark-that-no-bytes-have";
  marked.status.reason = "another-mark-that-no-bytes-have";
  predecessors_.earlier = std::make_shared<Pod>(marked);
  std::shared_ptr<Pod> second = Decode(ToProtobuf(pod).value());
  EXPECT_EQ(second->spec.hostname, "a-mark-that-no-bytes-have");
  EXPECT_EQ(second->status.reason, "another-mark-that-no-bytes-have");
  Pod changed = pod;
  changed.status.phase = "Failed";
  second = Decode(ToProtobuf(changed).value());
  EXPECT_EQ(second->spec.hostname, "a-mark-that-no-bytes-have");
  EXPECT_EQ(second->status.reason, "");
}

TEST_F(PredecessorsTest, DecodesWhatChanged) {
  Pod pod = Web();
  Remember(Decode(pod));
  pod.status.phase = "Failed";
  const std::shared_ptr<Pod> second = Decode(pod);
  EXPECT_EQ(second->status.phase, "Failed");
  EXPECT_EQ(second->spec.containers.data(), predecessors_.earlier->spec.containers.data());
  EXPECT_EQ(predecessors_.last[0], predecessors_.earlier_parts[0]);
  EXPECT_NE(predecessors_.last[1], predecessors_.earlier_parts[1]);

  Remember(second);
  pod.spec.node_name = "another-node-with-a-long-name";
  EXPECT_EQ(Decode(pod)->spec.node_name, "another-node-with-a-long-name");
  pod.spec = {};
  pod.status = {};
  EXPECT_TRUE(Decode(pod)->spec.containers.empty()) << "what is there no more is not there";
  EXPECT_EQ(predecessors_.last, PartHashes{});
}

// The new version may be changed as any copy: the earlier one, which others read, stays as it is.
TEST_F(PredecessorsTest, TheEarlierVersionStaysAsItIs) {
  const Pod pod = Web();
  Remember(Decode(pod));
  const std::shared_ptr<Pod> second = Decode(pod);
  second->spec.containers[0].image = "other";
  second->status.phase = "Failed";
  EXPECT_TRUE(*predecessors_.earlier == pod);
  predecessors_.earlier.reset();
  EXPECT_EQ(second->spec.node_name, "a-node-with-a-long-name") << "and is not needed any more";
}

TEST_F(PredecessorsTest, PartsThatAreNotKnownAreDecoded) {
  const Pod pod = Web();
  Pod other = Web();
  other.spec.containers = {};
  other.spec.node_name = "not-this-one-but-another-one";
  predecessors_.earlier = std::make_shared<Pod>(other);
  EXPECT_TRUE(*Decode(pod) == pod) << "nothing is known of the parts";
  predecessors_.earlier_parts = {predecessors_.last[1], predecessors_.last[0]};
  EXPECT_TRUE(*Decode(pod) == pod) << "the hash of one part is none of another";
  predecessors_.earlier = nullptr;
  predecessors_.earlier_parts = predecessors_.last;
  EXPECT_TRUE(*Decode(pod) == pod) << "there is no earlier version";
}

// Protobuf merges a message that comes twice. What comes of that has no bytes of its own.
TEST_F(PredecessorsTest, APartThatComesTwiceIsMerged) {
  Pod first = Web();
  Pod rest;
  rest.spec.service_account_name = "a-service-account-with-a-name";
  const std::string once = Bare(first);
  const std::string twice = once + Bare(rest);
  Remember(Decode(once));
  const std::shared_ptr<Pod> merged = Decode(twice);
  EXPECT_EQ(merged->spec.service_account_name, "a-service-account-with-a-name");
  EXPECT_EQ(merged->spec.node_name, "a-node-with-a-long-name");
  EXPECT_EQ(merged->spec.containers.size(), 1U);
  EXPECT_EQ(predecessors_.last[0], 0U) << "never equal to anything";
  EXPECT_TRUE(*predecessors_.earlier == first);
}

TEST_F(PredecessorsTest, SmallPartsAreNotWorthIt) {
  Pod pod;
  pod.metadata.name = "small";
  pod.spec.node_name = "n";
  pod.status.phase = "Running";
  Decode(pod);
  EXPECT_EQ(predecessors_.ended, 1);
  EXPECT_EQ(predecessors_.last[1], 0U);
}

TEST_F(PredecessorsTest, NothingIsAskedWithoutAnInterner) {
  const std::string bytes = ToProtobuf(Web()).value();
  Pod alone, strict;
  ASSERT_TRUE(DecodeProtobuf(Pod::kType, &alone, bytes, {.predecessors = &predecessors_}).ok());
  ASSERT_TRUE(DecodeProtobuf(Pod::kType, &strict, bytes, {.strict = true, .interner = &interner_, .predecessors = &predecessors_}).ok());
  EXPECT_EQ(predecessors_.begun, 0);
  EXPECT_EQ(predecessors_.ended, 0);
  EXPECT_TRUE(alone == strict);
}

// Its metadata is none of an object.
TEST_F(PredecessorsTest, NothingIsAskedForAList) {
  core::v1::PodList list;
  list.metadata.resource_version = "7";
  list.items = {Web(), Web()};
  core::v1::PodList decoded;
  ASSERT_TRUE(
      DecodeProtobuf(core::v1::PodList::kType, &decoded, ToProtobuf(list).value(), {.interner = &interner_, .predecessors = &predecessors_})
          .ok());
  EXPECT_TRUE(decoded == list);
  EXPECT_EQ(predecessors_.begun, 0);
  EXPECT_EQ(predecessors_.ended, 0);
}

TEST_F(PredecessorsTest, AnErrorEndsNothing) {
  const std::string bytes = Bare(Web());
  auto pod = std::make_shared<Pod>();
  EXPECT_FALSE(DecodeProtobuf(Pod::kType, pod.get(), std::string_view(bytes).substr(0, bytes.size() - 3),
                              {.interner = &interner_, .predecessors = &predecessors_})
                   .ok());
  EXPECT_EQ(predecessors_.begun, 1);
  EXPECT_EQ(predecessors_.ended, 0);
}

TEST_F(PredecessorsTest, SelectedFieldsAlone) {
  const Result<FieldSelection> fields = FieldSelection::Without({"spec.containers"});
  ASSERT_TRUE(fields.ok());
  const std::string bytes = ToProtobuf(Web()).value();
  Remember(Decode(bytes, {.fields = &*fields}));
  const std::shared_ptr<Pod> second = Decode(bytes, {.fields = &*fields});
  EXPECT_TRUE(second->spec.containers.empty());
  EXPECT_EQ(second->spec.node_name.view().data(), predecessors_.earlier->spec.node_name.view().data());
  EXPECT_TRUE(*second == *predecessors_.earlier);
}

}  // namespace
}  // namespace kube
