#include "codec/json_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codec/utf8.h"

namespace kube::internal {
namespace {

// One byte at a time, as RFC 8259 says it.
std::string Expected(std::string_view text) {
  std::string out = "\"";
  for (const char c : ValidUtf8(text) ? std::string(text) : std::string(MendUtf8(text))) {
    constexpr std::string_view kShort = "\"\"\\\\\nn\rr\tt\bb\ff";
    const std::size_t at = kShort.find(c);
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') {
      out += c;
    } else if (at != std::string_view::npos && at % 2 == 0) {
      out += {'\\', kShort[at + 1]};
    } else {
      out += std::string("\\u00") + "0123456789abcdef"[c >> 4] + "0123456789abcdef"[c & 15];
    }
  }
  return out + '"';
}

std::string Written(std::string_view text) {
  std::string out;
  JsonWriter writer(out, 0);
  writer.String(text);
  return out;
}

// The writer reads eight bytes at a time, so each byte is tried at each place of texts that are shorter, as long, and longer than that.
TEST(JsonWriterTest, EscapesEachByteAtEachPlace) {
  for (std::size_t length = 1; length <= 18; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'x');
        text[place] = static_cast<char>(byte);
        ASSERT_EQ(Written(text), Expected(text)) << "byte " << byte << " at " << place << " of " << length;
      }
    }
  }
}

TEST(JsonWriterTest, EscapesNeighboursOfBytesThatNeedIt) {
  constexpr char kBytes[] = {'"', '\\', '\n', '\x01', '\x1f', ' ', '!', '#', '[', ']', '\x7f', '\xc3', '\xa9'};
  for (const char a : kBytes) {
    for (const char b : kBytes) {
      for (const char c : kBytes) {
        const std::string text = std::string("abc") + a + b + c + "defghijk" + c + a + b;
        ASSERT_EQ(Written(text), Expected(text));
      }
    }
  }
}

TEST(JsonWriterTest, WritesTextThatIsNotAsciiAsItIs) {
  const std::string text = "caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87, long enough for more than one word";
  EXPECT_EQ(Written(text), "\"" + text + "\"");
  EXPECT_EQ(Written(text + "\xff"), "\"" + text + "\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace kube::internal
