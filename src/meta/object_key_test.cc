#include "kube/meta/object_key.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <unordered_set>

namespace kube {
namespace {

TEST(ObjectKeyTest, ParsesNamespaceAndName) {
  EXPECT_EQ(*ObjectKey::Parse("shop/cart"), (ObjectKey{"shop", "cart"}));
  EXPECT_EQ(*ObjectKey::Parse("node-1"), (ObjectKey{"", "node-1"}));
}

TEST(ObjectKeyTest, AcceptsEmptyPartsAsClientGoDoes) {
  EXPECT_EQ(*ObjectKey::Parse(""), (ObjectKey{"", ""}));
  EXPECT_EQ(*ObjectKey::Parse("/cart"), (ObjectKey{"", "cart"}));
  EXPECT_EQ(*ObjectKey::Parse("shop/"), (ObjectKey{"shop", ""}));
}

TEST(ObjectKeyTest, RefusesMoreThanOneSlash) {
  Result<ObjectKey> key = ObjectKey::Parse("a/b/c");
  ASSERT_FALSE(key.ok());
  EXPECT_EQ(key.error().kind(), ErrorKind::kInvalid);
  EXPECT_NE(key.error().message().find("\"a/b/c\""), std::string::npos) << key.error().message();
  EXPECT_FALSE(ObjectKey::Parse("//").ok());
}

TEST(ObjectKeyTest, EscapesOddBytesInItsErrorsAndCutsLongOnes) {
  Result<ObjectKey> key = ObjectKey::Parse("a/\x01\"\\\xff/" + std::string(500, 'x'));
  ASSERT_FALSE(key.ok());
  EXPECT_NE(key.error().message().find(R"(a/\x01\"\\\xff/xxx)"), std::string::npos) << key.error().message();
  EXPECT_LT(key.error().message().size(), 250U);
}

TEST(ObjectKeyTest, PrintsWhatItParses) {
  for (const char* text : {"shop/cart", "node-1", "a-namespace-of-some-length/a-name-of-some-length"}) {
    EXPECT_EQ(ObjectKey::Parse(text)->ToString(), text);
  }
  std::ostringstream stream;
  stream << ObjectKey{"shop", "cart"};
  EXPECT_EQ(stream.str(), "shop/cart");
}

TEST(ObjectKeyTest, OrdersByNamespaceThenName) {
  std::set<ObjectKey> keys = {{"b", "a"}, {"a", "z"}, {"", "zz"}, {"a", "b"}};
  std::string order;
  for (const ObjectKey& key : keys) order += key.ToString() + " ";
  EXPECT_EQ(order, "zz a/b a/z b/a ");
}

TEST(ObjectKeyTest, HashesBothParts) {
  std::unordered_set<ObjectKey> keys = {{"a", "b"}, {"b", "a"}, {"", "a/b"}, {"a", "b"}};
  EXPECT_EQ(keys.size(), 3U);
  EXPECT_TRUE(keys.contains({"b", "a"}));
  EXPECT_NE(std::hash<ObjectKey>()({"a", "b"}), std::hash<ObjectKey>()({"b", "a"}));
}

}  // namespace
}  // namespace kube
