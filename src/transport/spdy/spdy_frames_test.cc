#include "transport/spdy/spdy_frames.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace kube::internal {
namespace {

TEST(SpdyFramesTest, DictionaryIsTheOneOfTheProtocol) {
  const std::string_view dictionary = SpdyDictionary();
  ASSERT_EQ(dictionary.size(), 1423U);
  // The checksum that compressed blocks of other implementations name.
  EXPECT_EQ(adler32(1, reinterpret_cast<const Bytef*>(dictionary.data()), static_cast<uInt>(dictionary.size())), 0xe3c6a7c2U);
}

TEST(SpdyFramesTest, FramesComeBack) {
  SpdyDeflater deflater;
  const std::vector<SpdyFrame> frames = {
      {.type = SpdyType::kSynStream, .stream = 1, .headers = {{"streamtype", "error"}, {"port", "80"}}},
      {.type = SpdyType::kSynStream, .stream = 3, .fin = true, .headers = {{"streamtype", "data"}, {"x", "1"}, {"x", "2"}}},
      {.type = SpdyType::kSynReply, .stream = 1, .headers = {}},
      {.type = SpdyType::kHeaders, .stream = 1, .headers = {{"a", ""}}},
      {.type = SpdyType::kData, .stream = 1, .data = "hello"},
      {.type = SpdyType::kData, .stream = 1, .fin = true},
      {.type = SpdyType::kReset, .stream = 3, .status = 5},
      {.type = SpdyType::kPing, .stream = 0xfffffff1U},
      {.type = SpdyType::kGoAway, .stream = 3, .status = 0},
      {.type = SpdyType::kSettings},
      {.type = SpdyType::kWindowUpdate, .stream = 1, .status = 1000},
  };
  std::string bytes;
  for (const SpdyFrame& frame : frames) bytes += EncodeSpdyFrame(frame, deflater);
  SpdyParser parser;
  std::vector<SpdyFrame> got;
  for (const char c : bytes) {
    parser.Feed({&c, 1});
    Result<std::optional<SpdyFrame>> next = parser.Next();
    ASSERT_TRUE(next.ok()) << next.error().ToString();
    if (*next) got.push_back(**std::move(next));
  }
  ASSERT_EQ(got.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(got[i].type, frames[i].type) << i;
    EXPECT_EQ(got[i].stream, frames[i].stream) << i;
    EXPECT_EQ(got[i].fin, frames[i].fin) << i;
    EXPECT_EQ(got[i].status, frames[i].status) << i;
    EXPECT_EQ(got[i].data, frames[i].data) << i;
  }
  EXPECT_EQ(got[0].headers.Get("streamtype"), "error");
  EXPECT_EQ(got[0].headers.Get("port"), "80");
  EXPECT_EQ(got[1].headers.Get("streamtype"), "data");
  EXPECT_EQ(got[1].headers.All("x"), (std::vector<std::string>{"1", "2"}));
}

TEST(SpdyFramesTest, UnknownFramesAreIgnored) {
  SpdyDeflater deflater;
  SpdyParser parser;
  parser.Feed(std::string("\x80\x03\x00\x77\x00\x00\x00\x02zz", 10) + EncodeSpdyData(1, "x", false));
  const Result<std::optional<SpdyFrame>> next = parser.Next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->data, "x");
}

TEST(SpdyFramesTest, BadFramesAreRefused) {
  const std::vector<std::string> cases = {
      std::string("\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", 12),      // another version
      std::string("\x80\x03\x00\x06\x00\x00\x00\x02\x00\x01", 10),              // a short ping
      std::string("\x80\x03\x00\x01\x00\xff\xff\xff", 8),                       // a long control frame
      std::string("\x00\x00\x00\x00\x00\x00\x00\x00", 8),                       // data of no stream
      std::string("\x80\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x01zzzz", 16),  // not compressed
      std::string("\x80\x03\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01", 12),      // no headers at all
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SpdyParser parser;
    parser.Feed(cases[i]);
    const Result<std::optional<SpdyFrame>> next = parser.Next();
    ASSERT_FALSE(next.ok()) << i;
    EXPECT_EQ(next.error().kind(), ErrorKind::kDecode);
  }
}

TEST(SpdyFramesTest, HeadersThatBlowUpAreRefused) {
  SpdyDeflater deflater;
  SpdyParser parser;
  parser.Feed(
      EncodeSpdyFrame({.type = SpdyType::kSynStream, .stream = 1, .headers = {{"a", std::string(std::size_t{2} << 20, 'x')}}}, deflater));
  EXPECT_FALSE(parser.Next().ok());
}

}  // namespace
}  // namespace kube::internal
