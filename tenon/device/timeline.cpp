// One lock around the listeners: spans are few thousand a step, and an uncontended lock takes 20 ns.

#include "tenon/device/timeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "tenon/base/environment.h"
#include "tenon/device/profile_table.h"

namespace tenon::device {

namespace detail {
std::atomic<uint32_t> listeners{0};
}

namespace {

struct Listeners {
  std::mutex mutex;
  std::vector<Listener*> all;
};
Listeners& listeners() {
  static Listeners& all = *new Listeners;  // devices run until the very end
  return all;
}

uint32_t number_of_thread() {
  static std::atomic<uint32_t> threads{0};
  thread_local const uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

AboutRef about_work(std::string name) {
  auto made = std::make_shared<About>();
  made->kind = made->what = std::move(name);
  return made;
}

// Sums alone: a process may run for days.
class WholeProcess : public Listener {
 public:
  void on_span(const Span& span) override { table_.add(span); }
  void print() {
    unlisten();
    const std::string text = table_.text(ProfileSort::total, 40, now_ns() - start_, "[profile] ");
    std::fputs(text.c_str(), stderr);  // which, unlike fmt::print, does not mind that nobody listens
  }

 private:
  ProfileTable table_;
  uint64_t start_ = now_ns();
};

}  // namespace

void Listener::listen() {
  Listeners& to = listeners();
  std::lock_guard lock(to.mutex);
  if (listens_) return;
  listens_ = true;
  to.all.push_back(this);
  detail::listeners.fetch_add(1, std::memory_order_relaxed);
}

void Listener::unlisten() {
  Listeners& from = listeners();
  std::lock_guard lock(from.mutex);
  if (!listens_) return;
  listens_ = false;
  std::erase(from.all, this);
  detail::listeners.fetch_sub(1, std::memory_order_relaxed);
}

void add(Span span) {
  Listeners& to = listeners();
  std::lock_guard lock(to.mutex);
  for (Listener* each : to.all) each->on_span(span);
}

void add(const MemorySample& sample) {
  Listeners& to = listeners();
  std::lock_guard lock(to.mutex);
  for (Listener* each : to.all) each->on_memory(sample);
}

void add_note(std::string_view kind, const std::string& text) {
  if (!wanted()) return;
  auto made = std::make_shared<About>();
  made->kind = kind;
  made->what = text;
  Span span;
  span.kind = Span::Kind::note;
  span.thread = number_of_thread();
  span.label = base::label();
  span.about = std::move(made);
  span.begin_ns = span.end_ns = now_ns();
  add(std::move(span));
}

std::string_view holder_name(Holder holder) {
  constexpr std::array<std::string_view, kHolders> kNames{"weights", "moments", "gradients", "other tensors", "arena"};
  return kNames[static_cast<size_t>(holder)];
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::string_view kept_name(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>>& names = *new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  return *names.emplace(name).first;
}

const AboutRef& about(Span::Kind transfer) {
  static const std::array<AboutRef, 7>& all = *new std::array<AboutRef, 7>{
      about_work("kernel"), about_work("copy"), about_work("upload"), about_work("download"),
      about_work("fill"),   about_work("host"), about_work("note")};
  return all[static_cast<size_t>(transfer)];
}

HostSpan::HostSpan(std::string name) : begin_(wanted() ? now_ns() : 0), name_(std::move(name)) {}

void HostSpan::finish() {
  static const std::array<AboutRef, 9>& works = *new std::array<AboutRef, 9>{
      about_work("record"), about_work("plan"),     about_work("compile"), about_work("run"),    about_work("replay"),
      about_work("wait"),   about_work("allocate"), about_work("reuse"),   about_work("release")};
  Span span;
  span.thread = number_of_thread();
  span.label = base::label();
  span.about = name_.empty() ? works[static_cast<size_t>(work_)] : about_work(std::move(name_));
  span.bytes = bytes_;
  span.begin_ns = begin_;
  span.end_ns = now_ns();
  add(std::move(span));
}

void profile_to_the_end() {
  static const bool wanted = [] {
    const auto text = base::env::value(base::env::kProfile);
    if (!text || text->front() == '0') return false;
    static WholeProcess& process = *new WholeProcess;
    process.listen();
    std::atexit([] { process.print(); });
    return true;
  }();
  static_cast<void>(wanted);
}

}  // namespace tenon::device
