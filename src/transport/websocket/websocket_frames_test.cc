#include "transport/websocket/websocket_frames.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace kube::internal {
namespace {

constexpr std::uint32_t kMask = 0x12345678;

std::vector<WebSocketParser::Item> All(WebSocketParser& parser) {
  std::vector<WebSocketParser::Item> items;
  while (true) {
    Result<std::optional<WebSocketParser::Item>> next = parser.Next();
    EXPECT_TRUE(next.ok()) << next.error().ToString();
    if (!next.ok() || !*next) return items;
    items.push_back(**std::move(next));
  }
}

TEST(WebSocketFramesTest, AcceptKeyIsTheOneOfTheStandard) {
  EXPECT_EQ(WebSocketAcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFramesTest, FramesComeBackWhateverTheirSize) {
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 125, 126, 127, 65535, 65536, 300000}) {
    for (const bool masked : {false, true}) {
      const std::string payload(size, 'p');
      WebSocketParser parser(std::size_t{1} << 20, masked);
      parser.Feed(WebSocketFrame(WebSocketOpcode::kBinary, payload, masked ? std::optional(kMask) : std::nullopt));
      const auto items = All(parser);
      ASSERT_EQ(items.size(), 1U) << size;
      EXPECT_EQ(items[0].opcode, WebSocketOpcode::kBinary);
      EXPECT_EQ(items[0].payload, payload);
    }
  }
}

TEST(WebSocketFramesTest, PiecesMakeOneMessageWithControlsInBetween) {
  std::string bytes = WebSocketFrame(WebSocketOpcode::kText, "one ", kMask);
  bytes[0] = 0x01;  // not the last piece
  std::string second = WebSocketFrame(WebSocketOpcode::kContinuation, "two ", kMask);
  second[0] = 0x00;
  bytes += second + WebSocketFrame(WebSocketOpcode::kPing, "hi", kMask) + WebSocketFrame(WebSocketOpcode::kContinuation, "three", kMask);
  WebSocketParser parser(100, true);
  std::vector<WebSocketParser::Item> items;
  for (const char c : bytes) {
    parser.Feed({&c, 1});
    for (auto& item : All(parser)) items.push_back(std::move(item));
  }
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].opcode, WebSocketOpcode::kPing);
  EXPECT_EQ(items[0].payload, "hi");
  EXPECT_EQ(items[1].opcode, WebSocketOpcode::kText);
  EXPECT_EQ(items[1].payload, "one two three");
}

TEST(WebSocketFramesTest, BadFramesAreRefused) {
  std::string unfinished_ping = WebSocketFrame(WebSocketOpcode::kPing, "", kMask);
  unfinished_ping[0] = 0x09;
  std::string reserved = WebSocketFrame(WebSocketOpcode::kBinary, "", kMask);
  reserved[0] = static_cast<char>(0xc2);
  std::string first_piece = WebSocketFrame(WebSocketOpcode::kBinary, "a", kMask);
  first_piece[0] = 0x02;
  struct Case {
    std::string bytes;
    std::uint16_t code;
  };
  const std::vector<Case> cases = {
      {WebSocketFrame(WebSocketOpcode::kBinary, "not masked"), 1002},
      {WebSocketFrame(WebSocketOpcode::kContinuation, "of nothing", kMask), 1002},
      {WebSocketFrame(static_cast<WebSocketOpcode>(3), "", kMask), 1002},
      {WebSocketFrame(WebSocketOpcode::kPing, std::string(126, 'x'), kMask), 1002},
      {WebSocketFrame(WebSocketOpcode::kClose, "x", kMask), 1002},
      {WebSocketFrame(WebSocketOpcode::kBinary, std::string(1001, 'x'), kMask), 1009},
      {std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10), 1009},
      {unfinished_ping, 1002},
      {reserved, 1002},
      {first_piece + first_piece, 1002},
      {first_piece + WebSocketFrame(WebSocketOpcode::kContinuation, std::string(1000, 'x'), kMask), 1009},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    WebSocketParser parser(1000, true);
    parser.Feed(cases[i].bytes);
    const Result<std::optional<WebSocketParser::Item>> next = parser.Next();
    ASSERT_FALSE(next.ok()) << i;
    EXPECT_EQ(next.error().kind(), ErrorKind::kDecode);
    EXPECT_EQ(parser.close_code(), cases[i].code) << i;
  }
}

}  // namespace
}  // namespace kube::internal
