#include "report/run_report.h"

#include <algorithm>
#include <map>
#include <optional>

#include "report/chart.h"

namespace tw::report {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 800px; margin: 2em auto; padding: 0 1em; color: #222; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.15em; margin-top: 2em; }}
table {{ border-collapse: collapse; }} td, th {{ text-align: left; padding: .2em 1em .2em 0; vertical-align: top; }}
code, pre {{ font: 13px/1.4 ui-monospace, monospace; }} pre {{ overflow-x: auto; }}
svg {{ width: 100%; font: 11px system-ui, sans-serif; fill: #444; }}
.grid {{ stroke: #ddd; }} circle {{ fill: #8ab; fill-opacity: .7; }}
.best {{ fill: none; stroke: #c40; stroke-width: 2; }}
</style>
<h1>{0}</h1>
)";

std::string Row(const std::string& name, const std::string& value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", Escape(name), Escape(value));
}

struct Run {
  std::map<std::string, std::string> facts;
  std::optional<store::Measurement> baseline;
  std::vector<store::Measurement> trials;
  std::optional<store::Measurement> best;
  std::vector<store::Node> nodes;
};

Result<Run> Read(const store::Store& store) {
  Run run;
  TW_TRY(run.facts, store.Facts());
  TW_TRY(run.trials, store.Measurements());
  TW_TRY(run.best, store.Best());
  TW_TRY(run.nodes, store.Nodes());
  if (!run.trials.empty() && run.trials.front().trial == 0) {
    run.baseline = run.trials.front();
    run.trials.erase(run.trials.begin());
  }
  return run;
}

std::string Headline(const Run& run) {
  std::string html = "<table>\n";
  if (run.baseline && run.baseline->failure.empty()) {
    html += Row("baseline", fmt::format("{:.4g} ms", run.baseline->median_s * 1e3));
  }
  if (run.best) {
    html +=
        Row("best", fmt::format("{:.4g} ms +- {:.2g} (trial {} of {})", run.best->median_s * 1e3,
                                run.best->spread_s * 1e3, run.best->trial, run.trials.size()));
    if (run.baseline && run.baseline->failure.empty()) {
      html += Row("speedup", fmt::format("{:.1f}x", run.baseline->median_s / run.best->median_s));
    }
    html += Row("largest error", fmt::format("{:.2g} of its tolerance", run.best->max_error));
  } else {
    html += Row("best", "no valid candidate");
  }
  auto verdict = run.facts.find("final_check");
  if (verdict != run.facts.end()) html += Row("final check", verdict->second);
  return html + "</table>\n";
}

std::string Curve(const Run& run) {
  Chart chart{"Latency of each trial, and the best so far", "trials", "ms", {}, {}};
  double best = 1e300;
  for (const store::Measurement& m : run.trials) {
    if (!m.failure.empty() || !(m.median_s > 0)) continue;
    const double ms = m.median_s * 1e3;
    chart.dots.push_back(
        {static_cast<double>(m.trial), ms, fmt::format("trial {}: {:.4g} ms", m.trial, ms)});
    if (ms < best) {
      best = ms;
      chart.steps.push_back({static_cast<double>(m.trial), ms, ""});
    }
  }
  return ToSvg(chart);
}

std::string Failures(const Run& run) {
  std::map<std::string, std::pair<int, std::string>> kinds;  // count, first message
  for (const store::Measurement& m : run.trials) {
    if (m.failure.empty()) continue;
    auto [kind, first] = kinds.try_emplace(m.failure, 0, m.message);
    ++kind->second.first;
  }
  if (kinds.empty()) return "<p>None.</p>\n";
  std::string html = "<table><tr><th>kind</th><th>count</th><th>first</th></tr>\n";
  for (const auto& [kind, row] : kinds) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", Escape(kind), row.first,
                        Escape(row.second));
  }
  return html + "</table>\n";
}

std::string Chain(const Run& run) {
  if (!run.best) return "";
  std::map<int64_t, const store::Node*> by_id;
  for (const store::Node& node : run.nodes) by_id[node.id] = &node;
  std::vector<const store::Node*> chain;
  for (int64_t id = run.best->node; by_id.contains(id); id = by_id[id]->parent) {
    chain.push_back(by_id[id]);
  }
  std::reverse(chain.begin(), chain.end());
  std::string html = "<h2>From the program as given to the best</h2>\n<ol>\n";
  for (const store::Node* node : chain) {
    if (node->sequence.empty()) continue;
    html +=
        fmt::format("<li><pre>{}</pre>{}</li>\n", Escape(node->sequence), Escape(node->rationale));
  }
  return html + "</ol>\n";
}

}  // namespace

Result<std::string> RunReport(const store::Store& store) {
  TW_TRY(Run run, Read(store));
  std::string html = fmt::format(kHead, Escape("Tensorwright: " + run.facts["workload"]));
  html += Headline(run) + Curve(run);
  html += "<h2>Failed candidates</h2>\n" + Failures(run) + Chain(run);
  html += "<h2>Made with</h2>\n<table>\n";
  for (const auto& [name, value] : run.facts) html += Row(name, value);
  return html + "</table>\n</html>\n";
}

}  // namespace tw::report
