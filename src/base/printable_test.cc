#include "kube/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

TEST(PrintableTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(Printable("\x1b[2Jtwo\nlines\r\t\x7f"), "\\x1b[2Jtwo\\nlines\\r\\t\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m \xe2\x80\xae \xe2\x80\xa8"),
            "\\u009b31m \\u202e \\u2028");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\xff\xc3("), "\\xff\\xc3(");
}

TEST(PrintableTest, KeepsEverythingElse) {
  EXPECT_EQ(Printable("C:\\path \"quoted\" gr\xc3\xbc\xc3\x9f"), "C:\\path \"quoted\" gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(Printable(""), "");
}

TEST(PrintableTest, LinesMayStay) { EXPECT_EQ(PrintableLines("a\n  b\x1b[1m\r\n"), "a\n  b\\x1b[1m\\r\n"); }

}  // namespace
}  // namespace kube
