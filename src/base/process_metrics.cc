#include "base/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kube::internal {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The moment of the machine's start, in seconds since 1970; 0 if it is not known.
double BootTime() {
  std::istringstream lines(ReadFile("/proc/stat"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("btime ", 0) == 0) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

}  // namespace

void CollectProcessMetrics(MetricsSink& sink) {
  const std::string stat = ReadFile("/proc/self/stat");
  // The program's name is in parentheses and may hold blanks; what counts stands behind the last one. Field 3 of proc(5) is the first.
  const std::size_t behind = stat.rfind(')');
  if (behind != std::string::npos) {
    std::istringstream rest(stat.substr(behind + 1));
    std::vector<double> fields;
    std::string word;
    while (rest >> word) fields.push_back(std::strtod(word.c_str(), nullptr));
    const auto field = [&fields](std::size_t number) { return number - 3 < fields.size() ? fields[number - 3] : 0.0; };
    const double tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    sink.Add("process_cpu_seconds_total", {}, (field(14) + field(15)) / tick);
    sink.Set("process_threads", {}, field(20));
    if (const double boot = BootTime(); boot > 0) sink.Set("process_start_time_seconds", {}, boot + field(22) / tick);
    sink.Set("process_virtual_memory_bytes", {}, field(23));
    sink.Set("process_resident_memory_bytes", {}, field(24) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  if (DIR* directory = ::opendir("/proc/self/fd"); directory != nullptr) {
    int open = -3;  // ".", ".." and the directory itself
    while (::readdir(directory) != nullptr) ++open;
    ::closedir(directory);
    sink.Set("process_open_fds", {}, open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) sink.Set("process_max_fds", {}, static_cast<double>(limit.rlim_cur));
}

}  // namespace kube::internal
