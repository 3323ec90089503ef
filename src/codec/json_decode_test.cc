// Decoding into objects that were in use before. A leak is found by the sanitizer.
#include <gtest/gtest.h>

#include <string>

#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "value/test_types.h"

namespace kube {
namespace {

using testing::FullNode;
using testing::kLongText;
using testing::kOtherLongText;
using testing::Node;

std::string TextOf(const Node& node) {
  std::string text;
  EXPECT_TRUE(EncodeJson(Node::kType, &node, text));
  return text;
}

TEST(JsonDecodeTest, IntoAUsedObjectReplacesWhatItHeld) {
  Interner interner;
  for (Interner* const table : {static_cast<Interner*>(nullptr), &interner}) {
    Node other = FullNode();
    other.box.Mutable().name = kOtherLongText;
    other.leaves = {{.name = kOtherLongText}};
    other.labels = {{"only", kOtherLongText}};
    other.child.Mutable().text = kOtherLongText;
    const std::string text = TextOf(other);
    Node node = FullNode();
    const Node shares = node;
    for (int i = 0; i < 3; ++i) {
      const Result<void> decoded = DecodeJson(Node::kType, &node, text, {.interner = table});
      ASSERT_TRUE(decoded) << decoded.error().ToString();
      EXPECT_EQ(node, other);
    }
    EXPECT_EQ(shares, FullNode());
  }
}

TEST(JsonDecodeTest, IntoAUsedObjectKeepsWhatTheTextLacks) {
  Node node = FullNode();
  ASSERT_TRUE(DecodeJson(Node::kType, &node, R"({"text":"new","leaves":[],"labels":{},"box":{},"texts":null})"));
  EXPECT_EQ(node.text, "new");
  EXPECT_TRUE(node.leaves.empty());
  EXPECT_TRUE(node.labels.empty());
  ASSERT_TRUE(node.box);
  EXPECT_EQ(node.box->name, "");
  EXPECT_EQ(node.texts, FullNode().texts);
  EXPECT_EQ(node.leaf_by_name, FullNode().leaf_by_name);
}

TEST(JsonDecodeTest, AnErrorLeavesAUsedObjectValid) {
  for (const char* bad :
       {R"({"leaves":[{"name":7}]})", R"({"leaves":7})", R"({"box":{"name":[]}})", R"({"labels":{"a":"b","c":[]}})",
        R"({"leaf_by_name":{"a":{"name":"b"},"c":{"name":7}}})", R"({"texts":["a text that is long enough for the heap",7]})"}) {
    Node node = FullNode();
    EXPECT_FALSE(DecodeJson(Node::kType, &node, bad)) << bad;
    const Node copy = node;
    EXPECT_EQ(copy, node) << bad;
  }
}

}  // namespace
}  // namespace kube
