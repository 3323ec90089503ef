#include "scaffold/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube::scaffold {
namespace {

using ::testing::HasSubstr;

std::string Made(std::string_view text, const Variables& variables) { return ExpandText("t", text, variables).value(); }
std::string Wrong(std::string_view text) {
  const Result<std::string> made = ExpandText("t", text, {{"a", "x"}});
  return made ? "" : made.error().message();
}

TEST(TemplateTest, ReplacesVariables) {
  const Variables variables = {{"a", "x"}, {"long_name", "y\nz"}, {"empty", ""}};
  EXPECT_EQ(Made("", variables), "");
  EXPECT_EQ(Made("@a@", variables), "x");
  EXPECT_EQ(Made("1 @a@@a@ @long_name@@empty@.\n", variables), "1 xx y\nz.\n");
  EXPECT_EQ(Made("\t@echo $@ a@b.c @@ @A@ [?(@.type)] @\n", variables), "\t@echo $@ a@b.c @@ @A@ [?(@.type)] @\n") << "no variables";
}

TEST(TemplateTest, KeepsLinesByConditions) {
  const Variables variables = {{"yes", "1"}, {"no", ""}};
  EXPECT_EQ(Made("a\n@if yes@\nb\n@end@\nc\n", variables), "a\nb\nc\n");
  EXPECT_EQ(Made("a\n@if no@\nb @unknown@\n@end@\nc\n", variables), "a\nc\n");
  EXPECT_EQ(Made("@if !no@\nb\n@end@\n@if !yes@\nc\n@end@", variables), "b\n");
}

TEST(TemplateTest, NamesTheLineOfAMistake) {
  EXPECT_THAT(Wrong("\n@b@"), HasSubstr("template t:2: there is no variable b"));
  EXPECT_THAT(Wrong("@if b@\n@end@"), HasSubstr("t:1: there is no variable b"));
  EXPECT_THAT(Wrong("@if a@\n"), HasSubstr("@end@ is missing"));
  EXPECT_THAT(Wrong("@end@\n"), HasSubstr("@end@ without @if@"));
  EXPECT_THAT(Wrong("@if a@\n@if a@\n@end@\n@end@"), HasSubstr("inside of another"));
  EXPECT_FALSE(Expand("nonesuch", {}));
}

}  // namespace
}  // namespace kube::scaffold
