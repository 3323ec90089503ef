#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <utility>

namespace kube::internal {
namespace {

using Secret = KeyedHash::Secret;

TEST(KeyedHashTest, DividesTheFirstTextFromTheSecond) {
  EXPECT_EQ(KeyedHash::Of("a", "bc"), KeyedHash::Of("a", "bc"));
  EXPECT_NE(KeyedHash::Of("a", "bc"), KeyedHash::Of("ab", "c"));
  EXPECT_NE(KeyedHash::Of("", "abc"), KeyedHash::Of("abc", ""));
  EXPECT_NE(KeyedHash::Of("", std::string_view("\0", 1)), KeyedHash::Of("", ""));
  EXPECT_NE(KeyedHash::Of("12345678", ""), KeyedHash::Of("", "12345678"));
  EXPECT_EQ(KeyedHash()("abc"), KeyedHash::Of({}, "abc"));
}

TEST(KeyedHashTest, SpreadsNamesThatHardlyDiffer) {
  std::set<std::uint32_t> low_bits;
  for (int i = 0; i < 4096; ++i) low_bits.insert(static_cast<std::uint32_t>(KeyedHash::Of("default", "web-" + std::to_string(i))) & 4095);
  EXPECT_GT(low_bits.size(), 2000U);  // of random ones 63 %, 2589
}

// A secret learned from one process is of no use in another.
TEST(KeyedHashTest, DependsOnTheSecret) {
  const Secret one = KeyedHash::Draw();
  const Secret two = KeyedHash::Draw();
  for (std::size_t n : std::initializer_list<std::size_t>{0, 1, 3, 4, 7, 8, 16, 17, 200, 990, 1100, 5000}) {
    const std::string text(n, 'x');
    EXPECT_NE(KeyedHash::Of(one, "ns", text), KeyedHash::Of(two, "ns", text)) << n;
    EXPECT_NE(KeyedHash::Of128(one, text, 1, 2), KeyedHash::Of128(two, text, 1, 2)) << n;
    EXPECT_EQ(KeyedHash::Of128(one, text, 1, 2), KeyedHash::Of128(one, std::string(text), 1, 2)) << n;
  }
}

// Each byte, each bit of it, the size and both salts count, at all sizes around the borders.
TEST(KeyedHashTest, EverythingCounts) {
  const Secret& secret = KeyedHash::ProcessSecret();
  for (std::size_t n : std::initializer_list<std::size_t>{1,  2,  3,   4,   5,   7,    8,    9,    15,   16,   17,   31,
                                                          32, 33, 991, 992, 993, 1023, 1024, 1025, 2047, 2048, 2049, 3000}) {
    std::string text(n, '\0');
    std::set<std::uint64_t> seen;
    std::set<std::uint64_t> low, high;
    const auto put = [&](std::uint64_t salt, std::uint64_t more) {
      const KeyedHash::Pair pair = KeyedHash::Of128(secret, text, salt, more);
      low.insert(pair.low);
      high.insert(pair.high);
    };
    put(0, 0);
    put(1, 0);
    put(0, 1);
    seen.insert(KeyedHash::Of(secret, {}, text));
    const std::size_t step = n > 64 ? 13 : 1;
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; i += step) {
      for (int bit = 0; bit < 8; ++bit, ++count) {
        text[i] = static_cast<char>(1 << bit);
        put(0, 0);
        seen.insert(KeyedHash::Of(secret, {}, text));
      }
      text[i] = '\0';
    }
    text += '\0';
    put(0, 0);
    seen.insert(KeyedHash::Of(secret, {}, text));
    EXPECT_EQ(low.size(), count + 4) << n;
    EXPECT_EQ(high.size(), count + 4) << n;
    EXPECT_EQ(seen.size(), count + 2) << n;
  }
}

// Two words that differ by one bit, up in one and down in the other, are the pairs that cancel in XXH3's sums more often than chance.
TEST(KeyedHashTest, DifferencesDoNotCancel) {
  const Secret& secret = KeyedHash::ProcessSecret();
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::string text(512, 'a');
  std::size_t count = 0;
  for (std::size_t first = 0; first < 192; first += 8) {
    for (std::size_t second = first + 8; second < 512; second += 8) {
      for (int bit = 0; bit < 2; ++bit, ++count) {
        std::string changed = text;
        changed[first + 7] = static_cast<char>(changed[first + 7] + (1 << bit));
        changed[second + 7] = static_cast<char>(changed[second + 7] - (1 << bit));
        const KeyedHash::Pair pair = KeyedHash::Of128(secret, changed, 0, 0);
        seen.insert({pair.low, pair.high});
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

// Order of blocks and of bytes, which sums alone would lose.
TEST(KeyedHashTest, OrderCounts) {
  const Secret& secret = KeyedHash::ProcessSecret();
  const std::string a(KeyedHash::kBlock, 'a');
  const std::string b(KeyedHash::kBlock, 'b');
  std::set<std::uint64_t> seen;
  for (const std::string& text : {a, b, a + a, a + b, b + a, b + b, a + a + b, a + b + a, b + a + a, a + "b", b + "a"}) {
    seen.insert(KeyedHash::Of128(secret, text, 0, 0).low);
    seen.insert(KeyedHash::Of(secret, text, "x"));
  }
  EXPECT_EQ(seen.size(), 22U);
}

}  // namespace
}  // namespace kube::internal
