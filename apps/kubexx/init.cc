// kubexx init: creates an empty project.
#include <filesystem>
#include <ostream>

#include "command.h"
#include "kube/version.h"
#include "scaffold/names.h"
#include "scaffold_command.h"

namespace kube::app {
namespace {

constexpr std::string_view kWho = "kubexx init";
constexpr std::string_view kDescription =
    "Creates a controller project: a CMake project with a program, manifests to deploy it, a Makefile, an image and a CI\n"
    "workflow. `kubexx create api` adds kinds, `kubexx create webhook` webhooks.\n"
    "\n"
    "DOMAIN is what the API groups of the project end in: with my.domain, the group webapp is webapp.my.domain. The project\n"
    "is named after its folder.\n"
    "\n"
    "The files are yours: this command writes them once. An existing file is an error, unless --force is given.";

class InitCommand final : public Command {
 public:
  CommandInfo info() const override {
    return {.name = "init",
            .arguments = "[DOMAIN]",
            .summary = "Creates a controller project in the current folder",
            .description = kDescription,
            .examples = "  kubexx init my.domain\n  kubexx init --domain my.domain --project-name guestbook --dry-run"};
  }

  void AddFlags(FlagSet& flags) override {
    flags.Add("domain", &options_.domain, "domain of the project's groups, such as my.domain").Value("NAME");
    flags.Add("project-name", &options_.name, "name of the program and of what belongs to it in a cluster")
        .Value("NAME")
        .Default("that of the folder");
    flags.Add("namespaced", &options_.namespaced, "the program works in its own namespace only, and needs no roles elsewhere");
    target_.AddFlags(flags);
    flags.Group("kubebuilder");
    foreign_.Ignore(flags, "repo", "PATH", "the project is not a Go module");
    foreign_.Ignore(flags, "plugins", "NAMES", "there is one layout");
    foreign_.Ignore(flags, "project-version", "NAME", "PROJECT has a layout of its own");
    foreign_.Ignore(flags, "multigroup", "", "kinds of several groups are in folders of their own anyway");
    foreign_.Ignore(flags, "license", "NAME", "the files are yours, and say nothing about a license");
    foreign_.Ignore(flags, "owner", "NAME", "the files are yours, and name no owner");
    foreign_.Ignore(flags, "fetch-deps", "", "nothing is fetched");
    foreign_.Ignore(flags, "skip-go-version-check", "", "no Go is needed");
  }

  ExitCode Run(const std::vector<std::string>& args, Streams& io) override {
    if (!foreign_.Check(kWho, io)) return ExitCode::kUsage;
    if (!args.empty() && !options_.domain.empty() && args[0] != options_.domain)
      return ScaffoldUsage(io, kWho, "two domains: " + args[0] + " and " + options_.domain);
    if (!args.empty()) options_.domain = args[0];
    if (options_.domain.empty() && !Ask(io, "Domain of the project's API groups", "my.domain", scaffold::CheckDomain, options_.domain))
      return ScaffoldUsage(io, kWho, "the domain is missing: pass one, such as my.domain; the project's API groups end in it");
    if (options_.name.empty()) {
      const std::filesystem::path folder = std::filesystem::absolute(target_.folder).lexically_normal();
      options_.name = scaffold::ProjectNameOf((folder.has_filename() ? folder : folder.parent_path()).filename().string());
      if (!scaffold::CheckProjectName(options_.name))
        return ScaffoldUsage(io, kWho, "the folder's name is not a valid project name: pass --project-name, such as guestbook");
    }
    options_.kubexx_version = std::to_string(KUBE_VERSION_MAJOR) + "." + std::to_string(KUBE_VERSION_MINOR);
    const Result<scaffold::Scaffold> made = scaffold::Init(options_);
    if (!made) return ScaffoldUsage(io, kWho, made.error().message());
    const scaffold::ProjectLock lock(target_.folder);
    const ExitCode code = WriteScaffold(target_, *made, kWho, io);
    if (code == ExitCode::kOk) io.out << "Next: kubexx create api --group webapp --version v1 --kind Guestbook\n";
    return code;
  }

 private:
  scaffold::InitOptions options_;
  ScaffoldTarget target_;
  ForeignFlags foreign_;
};

}  // namespace

std::unique_ptr<Command> MakeInitCommand() { return std::make_unique<InitCommand>(); }

}  // namespace kube::app
