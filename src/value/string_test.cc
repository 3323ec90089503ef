#include "kube/value/string.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "value/test_types.h"

namespace kube {
namespace {

using testing::InThreads;
using testing::kLongText;
using testing::kOtherLongText;

static_assert(sizeof(String) == 16);
static_assert(alignof(String) == 8);
static_assert(std::is_nothrow_move_constructible_v<String> && std::is_nothrow_copy_constructible_v<String>);

TEST(StringTest, IsEmptyByDefaultAndAllZeroBytes) {
  String s;
  unsigned char zero[sizeof s] = {};
  EXPECT_EQ(std::memcmp(&s, zero, sizeof s), 0);
  EXPECT_TRUE(s.empty());
  EXPECT_EQ(s.size(), 0u);
  EXPECT_EQ(s, "");
  EXPECT_EQ(std::memcmp(&s, zero, sizeof s), 0);
  String from_empty(std::string_view{});
  EXPECT_EQ(std::memcmp(&from_empty, zero, sizeof s), 0);
}

TEST(StringTest, KeepsTextOfEveryLengthAroundTheInlineLimit) {
  for (std::size_t n = 0; n <= 40; ++n) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += static_cast<char>('a' + i % 26);
    String s(text);
    EXPECT_EQ(s.view(), text);
    EXPECT_EQ(s.size(), n);
    EXPECT_EQ(s.empty(), n == 0);
    EXPECT_EQ(s.str(), text);
    EXPECT_EQ(std::string(s.begin(), s.end()), text);
    EXPECT_EQ(s.heap_bytes() == 0, n <= String::kInlineCapacity);
  }
}

TEST(StringTest, KeepsEmbeddedNulAndEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(String(all).view(), all);
  std::string_view nul("a\0b", 3);
  EXPECT_EQ(String(nul).size(), 3u);
  EXPECT_EQ(String(nul), nul);
  EXPECT_NE(String(nul), String("a"));
  // Fifteen bytes of 0xff must not look like the mark of shared text.
  std::string ff(15, '\xff');
  EXPECT_EQ(String(ff).view(), ff);
}

TEST(StringTest, CopiesShareLongText) {
  String a(kLongText);
  String b = a;
  EXPECT_TRUE(a.SharesTextWith(b));
  EXPECT_EQ(a.data(), b.data());
  EXPECT_EQ(a, b);
  String c(kLongText);
  EXPECT_FALSE(a.SharesTextWith(c));
  EXPECT_EQ(a, c);
}

TEST(StringTest, AssigningToACopyLeavesTheOriginal) {
  for (std::string_view text : {std::string_view("short"), kLongText}) {
    String a(text);
    String b = a;
    b = kOtherLongText;
    EXPECT_EQ(a, text);
    EXPECT_EQ(b, kOtherLongText);
    b = "x";
    EXPECT_EQ(b, "x");
    b.clear();
    EXPECT_TRUE(b.empty());
    EXPECT_EQ(a, text);
  }
}

TEST(StringTest, SurvivesSelfAssignmentAndSelfMove) {
  for (std::string_view text : {std::string_view("short"), kLongText}) {
    String s(text);
    const String& alias = s;
    s = alias;
    EXPECT_EQ(s, text);
    String& other = s;
    s = std::move(other);
    EXPECT_EQ(s, text);
    s.swap(other);
    EXPECT_EQ(s, text);
  }
}

TEST(StringTest, MayBeAssignedAPartOfItself) {
  String s(kLongText);
  s = s.view().substr(2);
  EXPECT_EQ(s, kLongText.substr(2));
  s = s.view().substr(0, 4);
  EXPECT_EQ(s, "text");
}

TEST(StringTest, MovedFromIsEmpty) {
  String a(kLongText);
  String b = std::move(a);
  EXPECT_EQ(b, kLongText);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the contract
  a = "again";
  EXPECT_EQ(a, "again");
}

TEST(StringTest, ComparesLikeText) {
  EXPECT_EQ(String("abc"), "abc");
  EXPECT_EQ(String("abc"), std::string("abc"));
  EXPECT_NE(String("abc"), "abd");
  EXPECT_NE(String("abc"), String("ab"));
  EXPECT_LT(String("abc"), String("abd"));
  EXPECT_LT(String("ab"), String("abc"));
  EXPECT_LT(String("zz"), std::string_view("zzz"));
  EXPECT_GT(String(kOtherLongText), String(kLongText));
  EXPECT_LT(String("a"), String("\xc3\xa4"));  // bytes compare unsigned
  EXPECT_NE(String(kLongText), String(kLongText.substr(1)));
  EXPECT_NE(String(kLongText), String(kLongText.substr(0, 15)));
}

TEST(StringTest, HashFollowsEquality) {
  std::unordered_set<String> set{"a", kLongText};
  EXPECT_TRUE(set.contains(String("a")));
  EXPECT_TRUE(set.contains(String(kLongText)));
  EXPECT_FALSE(set.contains(String("b")));
}

TEST(StringTest, ConvertsToStringView) {
  String s("abc");
  std::string_view view = s;
  EXPECT_EQ(view, "abc");
  EXPECT_EQ(s[1], 'b');
  std::string joined = "<" + s.str() + ">";
  EXPECT_EQ(joined, "<abc>");
}

TEST(StringTest, PrintsItsText) { EXPECT_EQ(::testing::PrintToString(String("abc")), "abc"); }

TEST(StringTest, MayBeRelocatedByItsBytes) {
  alignas(String) unsigned char raw[sizeof(String)];
  {
    String s(kLongText);
    std::memcpy(raw, &s, sizeof s);
    std::memset(static_cast<void*>(&s), 0, sizeof s);
  }
  auto* moved = reinterpret_cast<String*>(raw);
  EXPECT_EQ(*moved, kLongText);
  moved->~String();
}

TEST(StringTest, CopiesMayBeUsedAndDroppedFromManyThreads) {
  const String shared(kLongText);
  InThreads([&](int i) {
    for (int round = 0; round < 2000; ++round) {
      String mine = shared;
      String again = mine;
      ASSERT_EQ(mine, kLongText);
      mine = i % 2 == 0 ? String(kOtherLongText) : String();
      ASSERT_EQ(again, kLongText);
      again = mine;
    }
  });
  EXPECT_EQ(shared, kLongText);
}

TEST(StringTest, LastOwnerOnAnotherThreadFreesTheText) {
  for (int round = 0; round < 200; ++round) {
    String original(kLongText);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([copy = original] { ASSERT_EQ(copy, kLongText); });
    original.clear();
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace kube
