// Runs the contract suite on the servers that KUBEXX_CONTRACT_SERVERS names, and says how many cases each passed.
//
// Exit code 77 (skipped, for ctest) where none of them can be had on this machine, unless KUBEXX_CONTRACT_REQUIRED is set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "contract.h"

namespace kube::contract {
namespace {

constexpr int kSkipped = 77;

// To standard output, and to the file that `make test` shows at the end.
void Report(const std::string& text) {
  std::cout << '\n' << text;
  std::cout.flush();
  if (const char* path = getenv("KUBEXX_CONTRACT_SUMMARY")) std::ofstream(path, std::ios::app) << text;
}

class Summary : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const std::string name = test.name();
    Count& count = counts_[name.substr(name.rfind('/') + 1)];
    if (test.result()->Skipped()) {
      const std::string where = std::string(test.test_suite_name()) + "." + name;
      const char* why = test.result()->total_part_count() > 0 ? test.result()->GetTestPartResult(0).message() : "";
      count.skipped.push_back(where.substr(where.find('/') + 1) + ": " + why);
    } else if (test.result()->Failed()) {
      ++count.failed;
    } else {
      ++count.passed;
    }
  }
  void OnTestProgramEnd(const ::testing::UnitTest& /*unit*/) override {
    std::ostringstream out;
    for (const auto& [server, count] : counts_) {
      out << "Contract cases on " << server << ": " << count.passed << " passed, " << count.failed << " failed, " << count.skipped.size()
          << " skipped\n";
      for (const std::string& skipped : count.skipped) out << "  skipped " << skipped << '\n';
    }
    Report(out.str());
  }

 private:
  struct Count {
    int passed = 0;
    int failed = 0;
    std::vector<std::string> skipped;
  };
  std::map<std::string, Count> counts_;
};

int Run() {
  bool any = false;
  for (ServerKind kind : ServersToTest()) {
    const Result<ContractServer>& server = ServerOf(kind);
    if (server) {
      any = true;
      continue;
    }
    Report("Contract cases on " + TestNameOf(kind) + ": none, the server cannot be had: " + server.error().ToString() + "\n");
    // Programs that are not on the machine are a reason to skip; a server that does not come up is a failure.
    if (server.error().kind() != ErrorKind::kConfig || getenv("KUBEXX_CONTRACT_REQUIRED") != nullptr) return 1;
  }
  if (!any) return kSkipped;
  const int code = RUN_ALL_TESTS();
  if (code == 0) return code;
  for (ServerKind kind : ServersToTest()) {
    if (const Result<ContractServer>& server = ServerOf(kind); server && server->logs) std::cout << server->logs();
  }
  return code;
}

}  // namespace
}  // namespace kube::contract

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  ::testing::UnitTest::GetInstance()->listeners().Append(new kube::contract::Summary());
  const int code = kube::contract::Run();
  kube::contract::StopServers();
  return code;
}
