// See generator.hpp. What users see (seed, offset, the 16 bytes of state, their checks and words)
// is ATen/cuda/CUDAGeneratorImpl.cpp of PyTorch 2.13; the numbers are not Philox's.
#include "generator.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Utils.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <mutex>
#include <vector>

namespace ashore::emulator {

namespace {

constexpr std::size_t kStateBytes = sizeof(std::uint64_t) + sizeof(std::int64_t);

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(int device)
      : GeneratorImpl(cuda_device(device), c10::DispatchKeySet(c10::DispatchKey::CUDA)) {}
  static c10::DeviceType device_type() { return c10::DeviceType::CUDA; }

  void set_current_seed(std::uint64_t seed) override {
    const std::lock_guard lock(state_mutex_);
    seed_ = seed;
    offset_ = 0;
  }
  std::uint64_t current_seed() const override {
    const std::lock_guard lock(state_mutex_);
    return seed_;
  }
  std::uint64_t seed() override {
    const std::uint64_t random = c10::detail::getNonDeterministicRandom(true);
    set_current_seed(random);
    return random;
  }
  void set_offset(std::uint64_t offset) override {
    TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
    const std::lock_guard lock(state_mutex_);
    offset_ = offset;
  }
  std::uint64_t get_offset() const override {
    const std::lock_guard lock(state_mutex_);
    return offset_;
  }
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    const auto bytes = static_cast<std::size_t>(state.numel());
    const bool has_offset = bytes == kStateBytes;
    TORCH_CHECK(has_offset || bytes == sizeof(std::uint64_t), "RNG state is wrong size");
    const auto* from = static_cast<const char*>(state.data());
    std::uint64_t seed = 0;
    std::int64_t offset = 0;
    std::memcpy(&seed, from, sizeof seed);
    if (has_offset) std::memcpy(&offset, from + sizeof seed, sizeof offset);
    set_current_seed(seed);
    set_offset(static_cast<std::uint64_t>(offset));
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor state = at::empty({static_cast<std::int64_t>(kStateBytes)},
                                 at::TensorOptions().dtype(at::kByte).device(at::kCPU));
    const std::lock_guard lock(state_mutex_);
    auto* to = static_cast<char*>(state.mutable_data_ptr());
    const auto offset = static_cast<std::int64_t>(offset_);
    std::memcpy(to, &seed_, sizeof seed_);
    std::memcpy(to + sizeof seed_, &offset, sizeof offset);
    return state.getIntrusivePtr();
  }

  /// One number for one kernel. Each kernel moves the offset as the smallest CUDA kernel does.
  std::uint64_t next() {
    const std::lock_guard lock(state_mutex_);
    // SplitMix64 (Steele, Lea, Flood 2014) spreads neighbouring offsets.
    std::uint64_t mixed = seed_ + 0x9E3779B97F4A7C15 * (offset_ / 4 + 1);
    offset_ += 4;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

 private:
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator(device().index());
    const std::lock_guard lock(state_mutex_);
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
  }

  mutable std::mutex state_mutex_;
  std::uint64_t seed_ = c10::default_rng_seed_val;
  std::uint64_t offset_ = 0;
};

std::mutex g_default_mutex;

}  // namespace

const at::Generator& default_generator(int device) {
  static auto* all = [] {
    auto* made = new std::vector<at::Generator>;
    for (int i = 0; i < device::kMaxSimulatedDevices; ++i) made->push_back(new_generator(i));
    return made;
  }();
  return (*all)[static_cast<std::size_t>(device < 0 ? tl_device : device)];
}

at::Generator new_generator(int device) {
  return at::make_generator<DeviceGenerator>(device < 0 ? tl_device : device);
}

at::Generator draw(const std::optional<at::Generator>& generator, int device) {
  const bool is_given = generator && generator->defined();
  TORCH_CHECK(!is_given || generator->device().is_cuda(),
              "Expected a 'cuda' device type for generator but found '",
              is_given ? generator->device().type() : c10::DeviceType::CUDA, "'");
  const at::Generator& source = is_given ? *generator : default_generator(device);
  thread_local at::Generator drawn = at::detail::createCPUGenerator();
  drawn.set_current_seed(static_cast<DeviceGenerator*>(source.unsafeGetGeneratorImpl())->next());
  return drawn;
}

DefaultGeneratorScope::DefaultGeneratorScope(int device) : drawn_(draw(std::nullopt, device)) {
  g_default_mutex.lock();
  swap_states();
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
  swap_states();
  g_default_mutex.unlock();
}

void DefaultGeneratorScope::swap_states() {
  auto* ours = static_cast<at::CPUGeneratorImpl*>(drawn_.unsafeGetGeneratorImpl());
  auto* theirs = static_cast<at::CPUGeneratorImpl*>(
      at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl());
  const std::lock_guard lock(theirs->mutex_);
  const at::mt19937 engine = ours->engine();
  const std::optional<float> next_float = ours->next_float_normal_sample();
  const std::optional<double> next_double = ours->next_double_normal_sample();
  ours->set_engine(theirs->engine());
  ours->set_next_float_normal_sample(theirs->next_float_normal_sample());
  ours->set_next_double_normal_sample(theirs->next_double_normal_sample());
  theirs->set_engine(engine);
  theirs->set_next_float_normal_sample(next_float);
  theirs->set_next_double_normal_sample(next_double);
}

}  // namespace ashore::emulator
