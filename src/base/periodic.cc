#include "kube/base/periodic.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "kube/base/log.h"

namespace kube {
namespace {

using std::chrono::nanoseconds;

const Logger& Log() {
  static const Logger log("base.periodic");
  return log;
}

Result<void> Call(const PeriodicFunction& function, const Context& ctx) {
  try {
    return function(ctx);
  } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
    return e.error();
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUserCode, std::string("it threw: ") + e.what());
  } catch (...) {
    return Error(ErrorKind::kUserCode, "it threw something that is not a std::exception");
  }
}

nanoseconds NextPeriod(const PeriodicOptions& options) {
  const nanoseconds period = std::max(options.period, nanoseconds::zero());
  return options.jitter > 0 ? Jitter(period, options.jitter, options.random) : period;
}

}  // namespace

void RunPeriodically(const Context& ctx, const PeriodicOptions& options, const PeriodicFunction& function) {
  if (!options.immediate && !ctx.SleepFor(NextPeriod(options))) return;
  while (!ctx.stopped()) {
    const nanoseconds period = NextPeriod(options);
    const Clock::TimePoint started = ctx.clock()->Now();
    if (const Result<void> done = Call(function, ctx); !done && !ctx.stopped()) {
      Log().Error(done.error(), "A periodic function failed; its next call comes as usual", {{"name", options.name}});
    }
    const nanoseconds passed = options.sliding ? nanoseconds::zero() : ctx.clock()->Now() - started;
    if (passed < period && !ctx.SleepFor(period - passed)) return;
  }
}

PeriodicFunction Periodically(PeriodicOptions options, PeriodicFunction function) {
  return [options = std::move(options), function = std::move(function)](const Context& ctx) -> Result<void> {
    RunPeriodically(ctx, options, function);
    return {};
  };
}

}  // namespace kube
