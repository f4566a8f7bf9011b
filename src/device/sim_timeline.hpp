// The streams of all simulated devices and what each has still to do: decides when a queued copy
// takes effect in device memory, and when its bytes reach the host. Used by sim_machine, under its
// mutex.
//
// Every piece of work has two phases. Its device phase runs when something ordered after it needs
// it; its host phase runs when the host waits for it. docs/design/driver.md has the whole story.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/sim_guard.hpp"
#include "device/sim_work.hpp"
#include "device/simulator_api.hpp"

namespace ashore::device::sim {

class Timeline {
 public:
  /// Streams with these numbers are the default streams of the devices.
  explicit Timeline(Guards& guards);

  void configure(const SimulatorOptions& options);

  // Streams. A pointer is good until the stream is destroyed and has nothing left to do.
  Stream& create_stream(Device device, bool is_blocking, int priority);
  /// The stream with this number, unless it was destroyed.
  Stream* find_stream(std::uint64_t id);
  Stream& default_stream(Device device);
  /// What is under way is finished all the same.
  void destroy_stream(Stream& stream);
  /// Wait for everything of a device, and forget its streams.
  void forget_device(Device device);

  /// Queue work, or do it at once where copies are not late. Returns its point.
  Point submit(Stream& stream, Work work);
  /// Return the point that stands for all that the stream waits for now.
  Point mark(Stream& stream);
  /// Let later work of the stream wait for a point.
  void wait_for(Stream& stream, Point point);

  /// Whether everything up to the point is finished, the host's part too.
  bool is_done(Point point);
  /// Run the device phase of everything up to the point.
  void advance(Point point);
  /// Let the host wait: both phases of everything up to the point.
  void finish(Point point);
  void finish_device(Device device);

  /// Run the device phase of all work that touches these bytes (device memory that is to be freed).
  void advance_touching(const std::byte* begin, std::size_t bytes);
  /// Let the host wait for all work that touches these bytes (pinned memory that is to be freed).
  void finish_touching(const std::byte* begin, std::size_t bytes);

  const std::atomic<std::int64_t>& pending() const { return pending_; }
  /// Let work look under way, or no more.
  void hold_pending(bool hold) { pending_.fetch_add(hold ? 1 : -1, std::memory_order_relaxed); }
  /// In a forked child, where nothing is under way any more.
  void abandon() { pending_.store(0, std::memory_order_relaxed); }

  std::vector<MisuseReport> take_reports() { return std::exchange(reports_, {}); }
  bool has_reports() const { return !reports_.empty(); }

 private:
  enum class Phase { kDevice, kHost };
  struct Target {
    Stream* stream;
    std::uint64_t number;
  };
  using Targets = std::vector<Target>;

  // What must be done before whom (sim_timeline.cpp).
  std::vector<Point> implied(Stream& stream);
  static bool learn(Stream& stream, Point point);
  Targets closure(Point point, Phase phase);
  void run_device_phases(const Targets& targets);
  void run_host_phases(const Targets& targets);
  void pop_front(Stream& stream);
  void tidy(Stream& stream);
  void clean_up(const Targets& targets);
  bool is_gone(Point point) const;
  static bool is_settled(const Work& work);
  // visit(stream, work, whether it has had its device phase)
  template <typename Visit>
  void each_work(Visit visit) {
    for (const auto& [id, stream] : streams_) {
      for (std::size_t i = 0; i < stream->work.size(); ++i) {
        visit(*stream, stream->work[i], i < stream->executed);
      }
    }
  }
  template <typename Visit>
  void each_waiting(Visit visit) {
    for (const auto& [id, stream] : streams_) {
      for (std::size_t i = stream->executed; i < stream->work.size(); ++i) visit(stream->work[i]);
    }
  }

  // What a piece of work does (sim_execute.cpp).
  void prepare(Stream& stream, Work& work);
  void settle_readers(Stream& stream, const Work& work);
  void poison(const Work& work);
  void execute(Work& work);
  void copy_to_device(Work& work);
  void land(Work& work);
  void check_source(Work& work);
  void complete(Work& work);

  Guards& guards_;
  bool is_late_ = true;
  bool has_guards_ = false;
  bool has_marks_ = false;
  Poison poison_ = Poison::kBytes;
  std::uint64_t clock_ = 0;
  std::uint64_t next_stream_ = kMaxSimulatedDevices;
  std::unordered_map<std::uint64_t, std::unique_ptr<Stream>> streams_;
  std::size_t coming_ = 0;      // copies to pinned memory that have not landed
  std::vector<Work*> landing_;  // on their way to the host: executed, not landed
  std::atomic<std::int64_t> pending_{0};
  std::vector<MisuseReport> reports_;
};

}  // namespace ashore::device::sim
