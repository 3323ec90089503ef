#include "kube/base/metrics_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/thread.h"

namespace kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Labels = std::map<std::string, std::string>;

// The text, read back by the rules of the format. Fails the test if it breaks one.
class Parsed {
 public:
  explicit Parsed(const std::string& text) {
    EXPECT_TRUE(text.empty() || text.back() == '\n');
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) Line(line);
  }
  std::optional<double> Value(const std::string& name, const Labels& labels = {}) const {
    const auto found = samples_.find({name, labels});
    return found == samples_.end() ? std::nullopt : std::optional<double>(found->second);
  }
  std::string Type(const std::string& name) const { return types_.contains(name) ? types_.at(name) : ""; }
  std::string Help(const std::string& name) const { return helps_.contains(name) ? helps_.at(name) : ""; }
  std::vector<std::string> families() const { return families_; }

 private:
  void Line(const std::string& line) {
    if (line.rfind("# HELP ", 0) == 0) {
      const std::size_t space = line.find(' ', 7);
      const std::string name = line.substr(7, space - 7);
      EXPECT_FALSE(helps_.contains(name)) << "two HELP lines: " << name;
      helps_[name] = Unescape(line.substr(space + 1));
      return;
    }
    if (line.rfind("# TYPE ", 0) == 0) {
      const std::size_t space = line.find(' ', 7);
      const std::string name = line.substr(7, space - 7);
      EXPECT_FALSE(types_.contains(name)) << "two TYPE lines: " << name;
      types_[name] = line.substr(space + 1);
      families_.push_back(name);
      return;
    }
    EXPECT_NE(line.substr(0, 1), "#") << line;
    std::size_t at = line.find_first_of("{ ");
    ASSERT_NE(at, std::string::npos) << line;
    const std::string name = line.substr(0, at);
    // Samples come in one group, right behind their TYPE.
    ASSERT_FALSE(families_.empty()) << line;
    EXPECT_EQ(name.rfind(families_.back(), 0), 0U) << line;
    Labels labels;
    if (line[at] == '{') {
      ++at;
      while (line.at(at) != '}') {
        const std::size_t equals = line.find('=', at);
        const std::string label = line.substr(at, equals - at);
        ASSERT_EQ(line.at(equals + 1), '"') << line;
        at = equals + 2;
        std::string value;
        while (line.at(at) != '"') {
          if (line.at(at) == '\\') value += line.at(at++);
          value += line.at(at++);
        }
        labels[label] = Unescape(value);
        if (line.at(++at) == ',') ++at;
      }
      ++at;
    }
    ASSERT_EQ(line.at(at), ' ') << line;
    const std::string number = line.substr(at + 1);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    EXPECT_EQ(*end, '\0') << line;
    EXPECT_TRUE(samples_.emplace(std::pair(name, labels), value).second) << "twice: " << line;
  }
  static std::string Unescape(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        plain += text[i];
      } else {
        ++i;
        plain += text.at(i) == 'n' ? '\n' : text.at(i);
      }
    }
    return plain;
  }
  std::map<std::pair<std::string, Labels>, double> samples_;
  std::map<std::string, std::string> types_, helps_;
  std::vector<std::string> families_;
};

MetricsRegistryOptions Plain() { return {.process_metrics = false}; }

TEST(MetricsRegistryTest, AnEmptyOneSaysNothing) { EXPECT_EQ(MetricsRegistry(Plain()).Render(), ""); }

TEST(MetricsRegistryTest, SaysCountersAndGauges) {
  MetricsRegistry metrics(Plain());
  metrics.Describe("carts_total", "Carts.");
  metrics.Add("carts_total", {{"shop", "a"}});
  metrics.Add("carts_total", {{"shop", "a"}}, 2.5);
  metrics.Add("carts_total", {{"shop", "b"}}, 0);
  metrics.Set("open", {}, 3);
  metrics.Set("open", {}, -1.5);
  EXPECT_EQ(metrics.Render(),
            "# HELP carts_total Carts.\n"
            "# TYPE carts_total counter\n"
            "carts_total{shop=\"a\"} 3.5\n"
            "carts_total{shop=\"b\"} 0\n"
            "# TYPE open gauge\n"
            "open -1.5\n");
}

TEST(MetricsRegistryTest, SaysHistograms) {
  MetricsRegistry metrics(Plain());
  metrics.Describe("wait_seconds", "Waiting.", {0.1, 1});
  for (const double v : {0.05, 0.1, 0.5, 1.0, 7.0}) metrics.Observe("wait_seconds", {{"q", "x"}}, v);
  EXPECT_EQ(metrics.Render(),
            "# HELP wait_seconds Waiting.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{q=\"x\",le=\"0.1\"} 2\n"
            "wait_seconds_bucket{q=\"x\",le=\"1\"} 4\n"
            "wait_seconds_bucket{q=\"x\",le=\"+Inf\"} 5\n"
            "wait_seconds_sum{q=\"x\"} 8.65\n"
            "wait_seconds_count{q=\"x\"} 5\n");
}

TEST(MetricsRegistryTest, HistogramsWithoutLabels) {
  MetricsRegistry metrics(Plain());
  metrics.Describe("w", "", {1});
  metrics.Observe("w", {}, 2);
  EXPECT_EQ(metrics.Render(), "# TYPE w histogram\nw_bucket{le=\"1\"} 0\nw_bucket{le=\"+Inf\"} 1\nw_sum 2\nw_count 1\n");
}

TEST(MetricsRegistryTest, EscapesLabelsAndHelp) {
  MetricsRegistry metrics(Plain());
  const std::string nasty = "a\"b\\c\nd{},=";
  metrics.Describe("m", "two\nlines, a \\ and a \"");
  metrics.Set("m", {{"label", nasty}}, 1);
  const std::string text = metrics.Render();
  EXPECT_THAT(text, HasSubstr("# HELP m two\\nlines, a \\\\ and a \"\n"));
  EXPECT_THAT(text, HasSubstr("m{label=\"a\\\"b\\\\c\\nd{},=\"} 1\n"));
  const Parsed parsed(text);
  EXPECT_EQ(parsed.Value("m", {{"label", nasty}}), 1);
  EXPECT_EQ(parsed.Help("m"), "two\nlines, a \\ and a \"");
}

TEST(MetricsRegistryTest, SaysSpecialNumbers) {
  MetricsRegistry metrics(Plain());
  metrics.Set("a", {}, HUGE_VAL);
  metrics.Set("b", {}, -HUGE_VAL);
  metrics.Set("c", {}, std::nan(""));
  metrics.Set("d", {}, 1e21);
  metrics.Set("e", {}, 0.1);
  metrics.Set("f", {}, 1048576);
  metrics.Set("g", {}, 100000);
  metrics.Set("h", {}, 0.00001);
  metrics.Set("i", {}, 0.0001);
  EXPECT_THAT(metrics.Render(),
              AllOf(HasSubstr("a +Inf\n"), HasSubstr("b -Inf\n"), HasSubstr("c NaN\n"), HasSubstr("d 1e+21\n"), HasSubstr("e 0.1\n")));
  EXPECT_THAT(metrics.Render(),
              AllOf(HasSubstr("f 1.048576e+06\n"), HasSubstr("g 100000\n"), HasSubstr("h 1e-05\n"), HasSubstr("i 0.0001\n")));
}

TEST(MetricsRegistryTest, LabelsThatOnlyLookAlikeAreKeptApart) {
  MetricsRegistry metrics(Plain());
  metrics.Add("m", {{"a", "xb"}, {"c", ""}});
  metrics.Add("m", {{"a", "x"}, {"c", "b"}}, 2);
  metrics.Add("m", {{"a", std::string_view("x\0b", 3)}, {"c", ""}}, 4);
  metrics.Add("m", {}, 8);
  const Parsed parsed(metrics.Render());
  EXPECT_EQ(parsed.Value("m", {{"a", "xb"}, {"c", ""}}), 1);
  EXPECT_EQ(parsed.Value("m", {{"a", "x"}, {"c", "b"}}), 2);
  EXPECT_EQ(parsed.Value("m", {{"a", std::string("x\0b", 3)}, {"c", ""}}), 4);
  EXPECT_EQ(parsed.Value("m"), 8);
}

TEST(MetricsRegistryTest, KnownNamesHaveTheirBucketsAndHelp) {
  MetricsRegistry metrics(Plain());
  metrics.Observe("rest_client_request_duration_seconds", {{"verb", "GET"}, {"host", "h"}}, 3);
  metrics.Observe("workqueue_queue_duration_seconds", {{"name", "q"}}, 1e-9);
  metrics.Observe("controller_runtime_reconcile_time_seconds", {{"controller", "c"}}, 0.42);
  const std::string text = metrics.Render();
  const Parsed parsed(text);
  EXPECT_EQ(parsed.Value("rest_client_request_duration_seconds_bucket", {{"verb", "GET"}, {"host", "h"}, {"le", "2"}}), 0);
  EXPECT_EQ(parsed.Value("rest_client_request_duration_seconds_bucket", {{"verb", "GET"}, {"host", "h"}, {"le", "4"}}), 1);
  EXPECT_EQ(parsed.Value("workqueue_queue_duration_seconds_bucket", {{"name", "q"}, {"le", "1e-08"}}), 1);
  EXPECT_EQ(parsed.Value("workqueue_queue_duration_seconds_bucket", {{"name", "q"}, {"le", "0.0001"}}), 1);
  EXPECT_EQ(parsed.Value("workqueue_queue_duration_seconds_bucket", {{"name", "q"}, {"le", "1000"}}), 1);
  EXPECT_EQ(parsed.Value("controller_runtime_reconcile_time_seconds_bucket", {{"controller", "c"}, {"le", "0.4"}}), 0);
  EXPECT_EQ(parsed.Value("controller_runtime_reconcile_time_seconds_bucket", {{"controller", "c"}, {"le", "0.45"}}), 1);
  EXPECT_THAT(parsed.Help("workqueue_queue_duration_seconds"), Not(IsEmpty()));
}

TEST(MetricsRegistryTest, WorkqueueBucketsGoFromTenNanosecondsToAThousandSeconds) {
  const std::vector<double> buckets = internal::KnownBuckets("workqueue_work_duration_seconds");
  ASSERT_EQ(buckets.size(), 12U);
  EXPECT_DOUBLE_EQ(buckets.front(), 1e-8);
  EXPECT_DOUBLE_EQ(buckets.back(), 1000);
}

TEST(MetricsRegistryTest, OtherHistogramsHaveTheDefaultBuckets) {
  MetricsRegistry metrics({.default_buckets = {3, 1, 2, 2}, .process_metrics = false});
  metrics.Observe("mine", {}, 1.5);
  EXPECT_EQ(metrics.Render(),
            "# TYPE mine histogram\nmine_bucket{le=\"1\"} 0\nmine_bucket{le=\"2\"} 1\nmine_bucket{le=\"3\"} 1\nmine_bucket{le=\"+Inf\"} "
            "1\nmine_sum 1.5\nmine_count 1\n");
}

TEST(MetricsRegistryTest, TheFirstUseOfANameDecidesItsType) {
  MetricsRegistry metrics(Plain());
  metrics.Add("m", {});
  metrics.Set("m", {}, 100);
  metrics.Observe("m", {}, 100);
  const Parsed parsed(metrics.Render());
  EXPECT_EQ(parsed.Type("m"), "counter");
  EXPECT_EQ(parsed.Value("m"), 1);
  EXPECT_EQ(parsed.Value("kubexx_metrics_dropped_total", {{"reason", "type_conflict"}}), 2);
}

TEST(MetricsRegistryTest, WhatPrometheusDoesNotAllowIsDropped) {
  MetricsRegistry metrics(Plain());
  metrics.Add("no name", {});
  metrics.Add("", {});
  metrics.Add("1st", {});
  metrics.Add("m", {{"a b", "x"}});
  metrics.Add("m", {{"__x", "x"}});
  metrics.Observe("h", {{"le", "x"}}, 1);
  metrics.Add("m", {{"a", "x"}, {"a", "y"}});
  metrics.Add("m", {}, -1);
  metrics.Add("m", {}, std::nan(""));
  const Parsed parsed(metrics.Render());
  EXPECT_THAT(parsed.families(), ElementsAre("kubexx_metrics_dropped_total"));
  EXPECT_EQ(parsed.Value("kubexx_metrics_dropped_total", {{"reason", "invalid_name"}}), 3);
  EXPECT_EQ(parsed.Value("kubexx_metrics_dropped_total", {{"reason", "invalid_label"}}), 4);
  EXPECT_EQ(parsed.Value("kubexx_metrics_dropped_total", {{"reason", "negative_step"}}), 2);
}

TEST(MetricsRegistryTest, ANameHasABoundedNumberOfSeries) {
  MetricsRegistry metrics({.max_series_per_name = 3, .process_metrics = false});
  for (int i = 0; i < 10; ++i) metrics.Add("m", {{"i", std::to_string(i)}});
  metrics.Add("m", {{"i", "0"}});
  const Parsed parsed(metrics.Render());
  EXPECT_EQ(parsed.Value("m", {{"i", "0"}}), 2);
  EXPECT_EQ(parsed.Value("m", {{"i", "2"}}), 1);
  EXPECT_FALSE(parsed.Value("m", {{"i", "3"}}));
  EXPECT_EQ(parsed.Value("kubexx_metrics_dropped_total", {{"reason", "too_many_series"}}), 7);
}

TEST(MetricsRegistryTest, RemovesASeries) {
  MetricsRegistry metrics(Plain());
  metrics.Set("m", {{"a", "x"}}, 1);
  metrics.Set("m", {{"a", "y"}}, 2);
  metrics.Add("c", {});
  metrics.Remove("m", {{"a", "x"}});
  metrics.Remove("c", {});
  metrics.Remove("nothing", {});
  EXPECT_EQ(metrics.Render(), "# TYPE m gauge\nm{a=\"y\"} 2\n");
}

TEST(MetricsRegistryTest, CollectorsAreAskedEachTime) {
  MetricsRegistry metrics(Plain());
  int asked = 0;
  {
    MetricsRegistry::Collector collector = metrics.AddCollector([&](MetricsSink& sink) { sink.Set("asked", {}, ++asked); });
    EXPECT_EQ(metrics.Render(), "# TYPE asked gauge\nasked 1\n");
    EXPECT_EQ(metrics.Render(), "# TYPE asked gauge\nasked 2\n");
    MetricsRegistry::Collector moved = std::move(collector);
    EXPECT_EQ(metrics.Render(), "# TYPE asked gauge\nasked 3\n");
  }
  EXPECT_EQ(metrics.Render(), "");
}

TEST(MetricsRegistryTest, WhatCollectorsSayIsAddedToWhatWasReported) {
  MetricsRegistry metrics(Plain());
  metrics.Describe("h", "H.", {1});
  metrics.Add("c", {}, 1);
  metrics.Set("g", {}, 1);
  metrics.Observe("h", {}, 0.5);
  const MetricsRegistry::Collector collector = metrics.AddCollector([](MetricsSink& sink) {
    sink.Add("c", {}, 2);
    sink.Set("g", {}, 5);
    sink.Observe("h", {}, 3);
    sink.Set("c", {}, 9);  // another type: not taken
  });
  const Parsed parsed(metrics.Render());
  EXPECT_EQ(parsed.Value("c"), 3);
  EXPECT_EQ(parsed.Value("g"), 5);
  EXPECT_EQ(parsed.Value("h_bucket", {{"le", "1"}}), 1);
  EXPECT_EQ(parsed.Value("h_count"), 2);
  EXPECT_EQ(Parsed(metrics.Render()).Value("c"), 3);  // nothing adds up
}

TEST(MetricsRegistryTest, ACollectorThatThrowsIsLeftOut) {
  MetricsRegistry metrics(Plain());
  const MetricsRegistry::Collector bad = metrics.AddCollector([](MetricsSink&) { throw std::runtime_error("bug"); });
  const MetricsRegistry::Collector good = metrics.AddCollector([](MetricsSink& sink) { sink.Set("g", {}, 1); });
  EXPECT_EQ(metrics.Render(), "# TYPE g gauge\ng 1\n");
}

TEST(MetricsRegistryTest, ACollectorMayOutliveTheRegistry) {
  MetricsRegistry::Collector collector;
  {
    MetricsRegistry metrics(Plain());
    collector = metrics.AddCollector([](MetricsSink&) {});
  }
  collector = MetricsRegistry::Collector();
}

TEST(MetricsRegistryTest, SaysWhatTheProcessTakes) {
  const MetricsRegistry metrics;
  const Parsed parsed(metrics.Render());
  EXPECT_THAT(parsed.Value("process_cpu_seconds_total"), ::testing::Optional(Ge(0.0)));
  EXPECT_EQ(parsed.Type("process_cpu_seconds_total"), "counter");
  EXPECT_THAT(parsed.Value("process_resident_memory_bytes"), ::testing::Optional(Ge(1e6)));
  EXPECT_THAT(parsed.Value("process_virtual_memory_bytes"), ::testing::Optional(Ge(1e6)));
  EXPECT_THAT(parsed.Value("process_open_fds"), ::testing::Optional(Ge(3.0)));
  EXPECT_THAT(parsed.Value("process_max_fds"), ::testing::Optional(Ge(16.0)));
  EXPECT_THAT(parsed.Value("process_threads"), ::testing::Optional(Ge(1.0)));
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  ASSERT_TRUE(parsed.Value("process_start_time_seconds"));
  EXPECT_LE(*parsed.Value("process_start_time_seconds"), now + 2);
  EXPECT_GE(*parsed.Value("process_start_time_seconds"), now - 24.0 * 3600);
}

TEST(MetricsRegistryTest, OpenDescriptorsAreCounted) {
  const MetricsRegistry metrics;
  const double before = *Parsed(metrics.Render()).Value("process_open_fds");
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_EQ(*Parsed(metrics.Render()).Value("process_open_fds"), before + 2);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(MetricsRegistryTest, ManyThreadsLoseNothing) {
  MetricsRegistry metrics(Plain());
  constexpr int kThreads = 8;
  constexpr int kRounds = 5000;
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back("reporter", [&metrics, t] {
      const std::string mine = std::to_string(t);
      for (int i = 0; i < kRounds; ++i) {
        metrics.Add("shared_total", {{"code", "200"}});
        metrics.Add("own_total", {{"thread", mine}});
        metrics.Observe("wait_seconds", {}, 0.25);
        metrics.Set("last", {{"thread", mine}}, i);
        if (i % 1000 == 0) Parsed(metrics.Render());
      }
    });
  }
  for (Thread& thread : threads) thread.Join();
  const Parsed parsed(metrics.Render());
  EXPECT_EQ(parsed.Value("shared_total", {{"code", "200"}}), kThreads * kRounds);
  EXPECT_EQ(parsed.Value("wait_seconds_count"), kThreads * kRounds);
  EXPECT_EQ(parsed.Value("wait_seconds_sum"), kThreads * kRounds * 0.25);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(parsed.Value("own_total", {{"thread", std::to_string(t)}}), kRounds);
    EXPECT_EQ(parsed.Value("last", {{"thread", std::to_string(t)}}), kRounds - 1);
  }
}

}  // namespace
}  // namespace kube
