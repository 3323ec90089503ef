#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "command.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"

namespace kube::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Ran {
  ExitCode code;
  std::string out;
  std::string err;
};

Ran Convert(std::vector<std::string> args, const std::string& input = {}, bool terminal = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Streams io{in, out, err, terminal};
  args.insert(args.begin(), "convert");
  ExitCode code = RunProgram(args, io);
  return {code, out.str(), err.str()};
}

// A file with the given content; deleted with the object.
class TempFile {
 public:
  explicit TempFile(const std::string& content = {})
      : path_(::testing::TempDir() + "convert_test_" + std::to_string(getpid()) + "_" + std::to_string(++count_)) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string Content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

constexpr const char* kService =
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  ports:\n  - port: 80\n    targetPort: http\n  "
    "newField: {a: [1]}\n";
constexpr const char* kCart = "apiVersion: shop.example.com/v1\nkind: Cart\nmetadata:\n  name: first\nspec:\n  big: 12345678901234567\n";

TEST(ConvertTest, TurnsYamlIntoJson) {
  Ran ran = Convert({"-o", "json", "-c", "-"}, kService);
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  Result<Value> value = ParseJson(ran.out);
  ASSERT_TRUE(value) << ran.out;
  EXPECT_EQ(std::as_const(*value)["spec"]["ports"].list()[0]["targetPort"].string_value(), "http");
  EXPECT_EQ(ToJson(std::as_const(*value)["spec"]["newField"]), R"({"a":[1]})");
  EXPECT_EQ(std::as_const(*value)["kind"].string_value(), "Service");
}

TEST(ConvertTest, KeepsTheObjectThroughAllEncodings) {
  Ran yaml = Convert({"-"}, kCart);
  EXPECT_EQ(yaml.out, kCart);
  constexpr const char* kPlain = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n";
  Ran protobuf = Convert({"-o", "protobuf", "-"}, kPlain);
  ASSERT_EQ(protobuf.code, ExitCode::kOk) << protobuf.err;
  EXPECT_THAT(protobuf.out, StartsWith(std::string("k8s\0", 4)));
  EXPECT_EQ(Convert({"-"}, protobuf.out + "\n").out, Convert({"-"}, kPlain).out);  // as etcdctl prints it
  Ran json = Convert({"-o", "json", "-"}, protobuf.out);
  ASSERT_EQ(json.code, ExitCode::kOk) << json.err;
  Ran back = Convert({"-"}, json.out);
  Ran direct = Convert({"-"}, kPlain);
  EXPECT_EQ(back.out, direct.out);
  EXPECT_EQ(Convert({"-o", "protobuf", "-"}, back.out).out, protobuf.out);
}

TEST(ConvertTest, PbIsProtobuf) {
  constexpr const char* kText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  Ran protobuf = Convert({"-o", "pb", "-"}, kText);
  ASSERT_EQ(protobuf.code, ExitCode::kOk) << protobuf.err;
  EXPECT_EQ(protobuf.out, Convert({"-o", "protobuf", "-"}, kText).out);
  // All that holds for protobuf holds for pb.
  EXPECT_THAT(Convert({"-o", "pb", "-"}, kText, true).err, HasSubstr("protobuf is not printed to a terminal"));
  EXPECT_THAT(Convert({"-o", "pb", "-"}, std::string(kText) + "---\n" + kText).err,
              HasSubstr("protobuf holds one object, the input has 2"));
  EXPECT_THAT(Convert({"-o", "pb", "-"}, kCart).err, HasSubstr("it has no protobuf form"));
  EXPECT_EQ(Convert({"-o", "pb", "-c", "-"}, kText).code, ExitCode::kUsage);
}

TEST(ConvertTest, ReadsAndWritesSeveralObjects) {
  std::string both = std::string(kCart) + "---\n# nothing\n---\n" + kCart;
  Ran yaml = Convert({"-"}, both);
  EXPECT_EQ(yaml.out, std::string("---\n") + kCart + "---\n" + kCart);
  Ran json = Convert({"-o", "json", "--compact", "-"}, both);
  std::string line = R"({"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"first"},"spec":{"big":12345678901234567}})";
  EXPECT_EQ(json.out, line + "\n" + line + "\n");
  // One after the other, on one line or several, is read again.
  EXPECT_EQ(Convert({"-"}, json.out).out, yaml.out);
  EXPECT_EQ(Convert({"-"}, line + line).out, yaml.out);
  Ran protobuf = Convert({"-o", "protobuf", "-"}, both);
  EXPECT_EQ(protobuf.code, ExitCode::kFailure);
  EXPECT_THAT(protobuf.err, HasSubstr("protobuf holds one object, the input has 2"));
}

TEST(ConvertTest, ReadsYamlThatStartsWithABrace) {
  EXPECT_EQ(Convert({"-"}, "{apiVersion: x.io/v1, kind: Thing}").out, "apiVersion: x.io/v1\nkind: Thing\n");
  EXPECT_EQ(Convert({"-o", "json", "-c", "-"}, "{\"apiVersion\": \"x.io/v1\", \"kind\": \"Y\"}\n---\nkind: Z\napiVersion: x.io/v1\n").out,
            "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Y\"}\n{\"apiVersion\":\"x.io/v1\",\"kind\":\"Z\"}\n");
}

TEST(ConvertTest, NamesDocumentAndPathOfAnError) {
  Ran ran = Convert({"-"},
                    std::string(kService) + "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec:\n  ports:\n  - port: http\n");
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("standard input: document 2 at line 11 (v1 Service bad): spec.ports[0].port: expected"));
}

TEST(ConvertTest, SaysWhyBytesAreNoObjects) {
  EXPECT_THAT(Convert({"-"}, "").err, HasSubstr("standard input: contains no object"));
  EXPECT_THAT(Convert({"-"}, "a: [").err, HasSubstr("standard input: line 2, column 1: did not find expected node content"));
  EXPECT_THAT(Convert({"-"}, "a: 1").err, HasSubstr("the object has no kind"));
  EXPECT_THAT(Convert({"-"}, "kind: Pod").err, HasSubstr("the object has no apiVersion"));
  EXPECT_THAT(Convert({"-"}, "- a").err, HasSubstr("expected a Kubernetes object, got a list"));
  EXPECT_THAT(Convert({"-"}, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"").err, HasSubstr("standard input: "));
  EXPECT_THAT(Convert({"-"}, "apiVersion: a/b/c\nkind: X\n").err, HasSubstr("standard input: "));
  EXPECT_THAT(Convert({"-"}, std::string("k8s\0garbage", 11)).err, HasSubstr("standard input: "));
  EXPECT_THAT(Convert({"/nonexistent/file.yaml"}).err, HasSubstr("/nonexistent/file.yaml: No such file or directory"));
  EXPECT_THAT(Convert({"/"}).err, HasSubstr("/: Is a directory"));
}

TEST(ConvertTest, StrictListsEveryUnknownAndDuplicateField) {
  Ran lax = Convert({"-o", "json", "-"}, kService);
  EXPECT_EQ(lax.code, ExitCode::kOk);
  Ran yaml = Convert({"--strict", "-"}, std::string(kService) + "  other: 1\n  type: ClusterIP\n  type: NodePort\n");
  EXPECT_EQ(yaml.code, ExitCode::kFailure);
  EXPECT_THAT(yaml.err,
              AllOf(HasSubstr("(v1 Service shop/web): unknown field \"spec.newField\"\n"), HasSubstr(": unknown field \"spec.other\"\n"),
                    HasSubstr(": duplicate field \"spec.type\" (line 13, column 3)\n")));
  Ran json = Convert({"--strict", "-"}, R"({"apiVersion":"v1","kind":"Service","spec":{"type":"a","type":"b","x":1}})");
  EXPECT_THAT(json.err, AllOf(HasSubstr("duplicate field \"spec.type\"\n"), HasSubstr("unknown field \"spec.x\"\n")));
  Ran dynamic = Convert({"--strict", "-"}, kCart);
  EXPECT_EQ(dynamic.code, ExitCode::kOk);
  EXPECT_THAT(dynamic.err, HasSubstr("note: standard input (shop.example.com/v1 Cart first): not a built-in kind"));
}

TEST(ConvertTest, OtherKindsHaveNoProtobufForm) {
  Ran ran = Convert({"-o", "protobuf", "-"}, kCart);
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("(shop.example.com/v1 Cart first): not a built-in kind: it has no protobuf form"));
}

// ---- Lists ----

constexpr const char* kList =
    "apiVersion: v1\nkind: List\nitems:\n"
    "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {k: v}\n"
    "- apiVersion: shop.example.com/v1\n  kind: Cart\n  metadata: {name: first}\n";

TEST(ConvertTest, ConvertsTheItemsOfAList) {
  Ran yaml = Convert({"-"}, kList);
  ASSERT_EQ(yaml.code, ExitCode::kOk) << yaml.err;
  EXPECT_THAT(yaml.out, HasSubstr("- apiVersion: v1\n  data:\n    k: v\n  kind: ConfigMap\n"));
  EXPECT_THAT(yaml.out, HasSubstr("- apiVersion: shop.example.com/v1\n  kind: Cart\n"));
  Ran protobuf = Convert({"-o", "protobuf", "-"}, kList);
  ASSERT_EQ(protobuf.code, ExitCode::kOk) << protobuf.err;
  EXPECT_EQ(Convert({"-"}, protobuf.out).out, yaml.out);
}

TEST(ConvertTest, ChecksTheItemsOfAList) {
  Ran wrong = Convert({"-"}, "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data: [1]\n- kind: Pod\n");
  EXPECT_EQ(wrong.code, ExitCode::kFailure);
  EXPECT_THAT(wrong.err, HasSubstr("standard input (v1 List): items[0] (v1 ConfigMap): data: expected"));
  EXPECT_THAT(wrong.err, HasSubstr("items[1]: the object has no apiVersion"));
  Ran strict = Convert({"--strict", "-"}, "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  dada: {}\n");
  EXPECT_THAT(strict.err, HasSubstr("items[0] (v1 ConfigMap): unknown field \"dada\""));
}

TEST(ConvertTest, ReadsProtobufInsideAProtobufList) {
  Ran item = Convert({"-o", "protobuf", "-"}, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  meta::v1::List list;
  list.items.push_back(RawJson(String(item.out)));
  Result<std::string> bytes = ToProtobuf(list);
  ASSERT_TRUE(bytes) << bytes.error().ToString();
  Ran ran = Convert({"-o", "json", "-c", "-"}, *bytes);
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(R"("kind":"ConfigMap")"));
}

TEST(ConvertTest, TypedListsAreObjectsOfTheirOwn) {
  Ran ran = Convert({"-o", "protobuf", "-"}, "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n");
  ASSERT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(Convert({"-"}, ran.out).out, AllOf(HasSubstr("kind: ConfigMapList\n"), HasSubstr("name: b\n")));
}

// ---- Where the output goes ----

TEST(ConvertTest, WritesToAFile) {
  TempFile file("old");
  EXPECT_EQ(Convert({"--out", file.path(), "-"}, kCart).code, ExitCode::kOk);
  EXPECT_EQ(file.Content(), kCart);
  // Not before all is well.
  EXPECT_EQ(Convert({"--out", file.path(), "-"}, "a: [").code, ExitCode::kFailure);
  EXPECT_EQ(file.Content(), kCart);
  EXPECT_THAT(Convert({"--out", "/nonexistent/x", "-"}, kCart).err, HasSubstr("/nonexistent/x: No such file or directory"));
}

TEST(ConvertTest, FilesWithSecretsArePrivate) {
  constexpr const char* kSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {key: c2VjcmV0}\n";
  constexpr const char* kSecrets = "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n";
  constexpr const char* kMixed = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n";
  const mode_t umask_before = umask(022);
  for (const char* text : {kSecret, kSecrets, kMixed}) {
    SCOPED_TRACE(text);
    TempFile file("old");
    ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
    const Ran ran = Convert({"--out", file.path(), "-"}, text);
    EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
    EXPECT_THAT(file.Content(), HasSubstr("kind: Secret"));
    struct stat found {};
    ASSERT_EQ(stat(file.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);

    TempFile target("old");
    const std::string link = target.path() + ".link";
    ASSERT_EQ(symlink(target.path().c_str(), link.c_str()), 0);
    const Ran refused = Convert({"--out", link, "-"}, text);
    EXPECT_EQ(refused.code, ExitCode::kFailure);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(link), HasSubstr("symbolic link")));
    EXPECT_EQ(target.Content(), "old");
    unlink(link.c_str());
  }
  umask(umask_before);
}

TEST(ConvertTest, KeepsProtobufOffTheTerminal) {
  constexpr const char* kText = "apiVersion: v1\nkind: ConfigMap\n";
  Ran refused = Convert({"-o", "protobuf", "-"}, kText, true);
  EXPECT_EQ(refused.code, ExitCode::kFailure);
  EXPECT_THAT(refused.err, HasSubstr("protobuf is not printed to a terminal"));
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_EQ(Convert({"-o", "protobuf", "--force", "-"}, kText, true).code, ExitCode::kOk);
  EXPECT_EQ(Convert({"-o", "json", "-"}, kText, true).code, ExitCode::kOk);
}

TEST(ConvertTest, RefusesFlagsThatContradict) {
  EXPECT_EQ(Convert({"--compact", "-"}, kCart).code, ExitCode::kUsage);
  EXPECT_EQ(Convert({"--diff", "x", "-o", "json", "-"}, kCart).code, ExitCode::kUsage);
  EXPECT_EQ(Convert({"--diff", "-", "-"}, kCart).code, ExitCode::kUsage);
}

// ---- Comparing ----

TEST(ConvertTest, DiffOfEqualFilesIsEmpty) {
  TempFile json(Convert({"-o", "json", "-"}, kService).out);
  Ran ran = Convert({"--diff", json.path(), "-"}, kService);
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST(ConvertTest, DiffMatchesObjectsByName) {
  constexpr const char* kOld =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v, gone: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: "
      "b}\n"
      "---\napiVersion: shop.example.com/v1\nkind: Cart\nmetadata: {name: first}\nspec: {count: 1}\n";
  TempFile changed(
      "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
      "- {apiVersion: shop.example.com/v1, kind: Cart, metadata: {name: first}, spec: {count: 2}}\n"
      "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}\n");
  Ran ran = Convert({"--diff", changed.path(), "-"}, kOld);
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(ran.out, HasSubstr("v1 ConfigMap a:\n"));
  EXPECT_THAT(ran.out, HasSubstr("\"v\" -> \"w\""));
  EXPECT_THAT(ran.out, HasSubstr("  - data[gone]: \"x\"\n"));
  EXPECT_THAT(ran.out, HasSubstr("only in -: v1 ConfigMap b\n"));
  EXPECT_THAT(ran.out, HasSubstr("only in " + changed.path() + ": v1 ConfigMap c\n"));
  EXPECT_THAT(ran.out, HasSubstr("  ~ spec.count: 1 -> 2\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("List")));
}

}  // namespace
}  // namespace kube::app
