#include "crd_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <iterator>

#include "kube/client/client.h"

namespace kube::app {
namespace {

constexpr std::string_view kCluster = "cluster:";

Result<std::vector<CrdSource>> FromCluster(const std::string& name, const LoadOptions& cluster) {
  const Result<ClientConfig> config = LoadConfig(cluster);
  if (!config) return config.error();
  const Result<Client> client = Client::FromConfig(*config);
  if (!client) return client.error();
  Result<DynamicObject> crd =
      client->Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Get(SignalContext(), {"", String(name)});
  if (!crd) return crd.error();
  return std::vector<CrdSource>{{*std::move(crd), std::string(kCluster) + name}};
}

}  // namespace

Result<std::string> ReadInput(const std::string& file, Streams& io) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(io.in), {});
  const auto fail = [&] { return Error::Invalid(file + ": " + (errno != 0 ? std::strerror(errno) : "cannot be read")); };
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail();
  in.peek();  // opening a directory succeeds, reading it fails
  if (in.bad()) return fail();
  in.clear();
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<std::vector<CrdSource>> LoadCrds(const std::string& from, const LoadOptions& cluster, Streams& io) {
  if (from.starts_with(kCluster)) return FromCluster(from.substr(kCluster.size()), cluster);
  if (from != "-") return ReadCrds({from});
  const Result<std::string> text = ReadInput(from, io);
  if (!text) return text.error();
  return ParseCrds(*text, "standard input");
}

}  // namespace kube::app
