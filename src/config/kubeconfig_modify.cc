// ModifyKubeconfig: lock, read, change, write what changed.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/secret_file.h"
#include "config/files.h"
#include "config/kubeconfig_values.h"
#include "config/text.h"
#include "kube/config/kubeconfig.h"

namespace kube {
namespace {

using internal::CleanText;

// Locks are held for a moment. One that stays this long was left behind.
constexpr std::chrono::seconds kLockPatience(10);
constexpr std::chrono::milliseconds kLockPoll(20);

Error Failed(const std::string& path, std::string_view what, int error_number) {
  return Error(ErrorKind::kConfig, CleanText(path) + ": " + std::string(what) + ": " + std::generic_category().message(error_number));
}

// `<file>.lock`, as in kubectl: the process that creates it may write the file.
class LockFile {
 public:
  static Result<std::unique_ptr<LockFile>> Take(const Context& ctx, const std::string& file) {
    const std::string path = file + ".lock";
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, failed)) {
      std::filesystem::create_directories(folder, failed);
      if (failed) return Error(ErrorKind::kConfig, CleanText(folder.string()) + ": cannot create this folder: " + failed.message());
      std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
    }
    if (Result<void> going = ctx.Check(); !going) return going.error();
    const Context patience = ctx.WithTimeout(kLockPatience);
    for (;;) {
      const int fd = open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
      if (fd >= 0) {
        close(fd);
        return std::unique_ptr<LockFile>(new LockFile(path));
      }
      if (errno == EINTR) continue;
      if (errno != EEXIST) return Failed(path, "cannot create the lock file", errno);
      // The program that holds it may be any, on another machine even: there is nothing to wait for but time.
      if (Result<void> slept = patience.SleepFor(kLockPoll); slept) continue;
      if (std::optional<Error> stopped = ctx.Err()) return stopped->WithContext("wait for " + CleanText(path));
      return Error(ErrorKind::kConfig, CleanText(path) + ": another program has held this lock for more than " +
                                           std::to_string(kLockPatience.count()) + " s; if none is running, remove the file");
    }
  }
  ~LockFile() { unlink(path_.c_str()); }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct File {
  std::string path;
  bool exists = false;
  bool changed = false;
  Kubeconfig content;
};

// The files of one call.
class Files {
 public:
  Result<void> Read(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      File file{.path = path, .content = {}};
      internal::FileText text = internal::ReadFile(path);
      file.exists = !text.missing();
      if (file.exists) {
        if (!text.ok()) return Error(ErrorKind::kConfig, CleanText(path) + ": cannot read the kubeconfig: " + text.problem());
        Result<Kubeconfig> content = Kubeconfig::Parse(text.text, path);
        if (!content) return content.error();
        file.content = *std::move(content);
      }
      files_.push_back(std::move(file));
    }
    return {};
  }

  Kubeconfig Merged() const {
    Kubeconfig merged;
    for (const File& file : files_) merged.MergeFrom(file.content);
    return merged;
  }

  void Apply(const Kubeconfig& before, const Kubeconfig& after) {
    ApplyEntries(before, after, &Kubeconfig::clusters, &internal::ClusterToValue);
    ApplyEntries(before, after, &Kubeconfig::users, &internal::UserToValue);
    ApplyEntries(before, after, &Kubeconfig::contexts, &internal::ContextToValue);
    ApplyMembers(before, after, &Kubeconfig::preferences);
    ApplyMembers(before, after, &Kubeconfig::unknown);
    ApplyExtensions(before, after);
    if (before.current_context == after.current_context) return;
    // A new one goes where it wins; to have none, the one that wins has to go.
    const auto setter = std::find_if(files_.begin(), files_.end(), [](const File& file) { return !file.content.current_context.empty(); });
    File& file = after.current_context.empty() && setter != files_.end() ? *setter : Default();
    file.content.current_context = after.current_context;
    file.changed = true;
  }

  Result<void> Write() const {
    for (const File& file : files_) {
      if (!file.changed) continue;
      Result<std::string> text = file.content.ToYaml();
      if (!text) return text.error();
      if (Result<void> written = WriteFile(file.path, *text); !written) return written;
    }
    return {};
  }

 private:
  File& Default() {
    const auto found = std::find_if(files_.begin(), files_.end(), [](const File& file) { return file.exists; });
    return found != files_.end() ? *found : files_.front();
  }
  File& At(const std::string& location) {
    const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.path == location; });
    return found != files_.end() ? *found : Default();
  }

  template <typename Entry>
  void ApplyEntries(const Kubeconfig& before, const Kubeconfig& after, std::map<std::string, Entry> Kubeconfig::*member,
                    Value (*to_value)(const Entry&)) {
    const std::map<std::string, Entry>& old = before.*member;
    for (const auto& [name, entry] : after.*member) {
      const auto was = old.find(name);
      if (was != old.end() && to_value(was->second) == to_value(entry) && was->second.entry_unknown == entry.entry_unknown) continue;
      File& file = At(was != old.end() ? was->second.location : entry.location);
      Entry& written = (file.content.*member)[name];
      written = entry;
      written.location = file.path;
      file.changed = true;
    }
    for (const auto& [name, entry] : old) {
      if ((after.*member).count(name) != 0) continue;
      File& file = At(entry.location);
      (file.content.*member).erase(name);
      file.changed = true;
    }
  }

  void ApplyMembers(const Kubeconfig& before, const Kubeconfig& after, Value Kubeconfig::*member) {
    const auto first_with = [&](std::string_view key) {
      return std::find_if(files_.begin(), files_.end(), [&](const File& file) { return (file.content.*member).Find(key) != nullptr; });
    };
    for (const auto& entry : (after.*member).object()) {
      const Value* was = (before.*member).Find(entry.key);
      if (was != nullptr && *was == entry.value) continue;
      const auto found = first_with(entry.key);
      File& file = found != files_.end() ? *found : Default();
      (file.content.*member)[entry.key.view()] = entry.value;
      file.changed = true;
    }
    for (const auto& entry : (before.*member).object()) {
      const auto found = first_with(entry.key);
      if ((after.*member).Find(entry.key) != nullptr || found == files_.end()) continue;
      (found->content.*member).MutableObject().Erase(entry.key);
      if (std::as_const(found->content.*member).object().empty()) found->content.*member = Value();
      found->changed = true;
    }
  }

  void ApplyExtensions(const Kubeconfig& before, const Kubeconfig& after) {
    const auto first_with = [&](const std::string& key) {
      return std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.content.extensions.count(key) != 0; });
    };
    for (const auto& [name, extension] : after.extensions) {
      const auto was = before.extensions.find(name);
      if (was != before.extensions.end() && was->second == extension) continue;
      const auto found = first_with(name);
      File& file = found != files_.end() ? *found : Default();
      file.content.extensions[name] = extension;
      file.changed = true;
    }
    for (const auto& [name, extension] : before.extensions) {
      const auto found = first_with(name);
      if (after.extensions.count(name) != 0 || found == files_.end()) continue;
      found->content.extensions.erase(name);
      found->changed = true;
    }
  }

  static Result<void> WriteFile(const std::string& path, std::string_view text) {
    // A link of this user stays one: what it points at is replaced.
    const Result<std::string> target = internal::FollowOwnLinks(path);
    if (!target) return target.error();
    struct stat old {};
    const bool ours = lstat(target->c_str(), &old) == 0 && S_ISREG(old.st_mode) && old.st_uid == geteuid();
    const mode_t mode = ours ? old.st_mode & 0777 : 0600;
    return internal::WriteSecretFile(*target, text, mode);
  }

  std::vector<File> files_;  // never empty after Read
};

}  // namespace

Result<void> ModifyKubeconfig(const Context& ctx, const std::vector<std::string>& paths, const std::function<void(Kubeconfig&)>& change) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (path.find('\0') != std::string::npos) return Failed(path, "cannot read the kubeconfig", EINVAL);
    if (!path.empty() && std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
  }
  if (files.empty()) return Error(ErrorKind::kConfig, "no kubeconfig file to write: name one");

  // All processes take them in the same order, so they cannot deadlock.
  std::vector<std::string> in_order = files;
  std::sort(in_order.begin(), in_order.end());
  std::vector<std::unique_ptr<LockFile>> locks;
  for (const std::string& path : in_order) {
    Result<std::unique_ptr<LockFile>> lock = LockFile::Take(ctx, path);
    if (!lock) return lock.error();
    locks.push_back(*std::move(lock));
  }

  Files all;
  if (Result<void> read = all.Read(files); !read) return read;
  const Kubeconfig before = all.Merged();
  Kubeconfig after = before;
  try {
    change(after);
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUserCode, std::string("the change of the kubeconfig threw: ") + e.what());
  }
  all.Apply(before, after);
  return all.Write();
}

}  // namespace kube
