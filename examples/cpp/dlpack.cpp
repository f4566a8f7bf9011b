// A library that speaks DLPack hands a tensor to ashore: shared as it is, cast on request, and
// handed out again. No framework is needed.
#include <ashore/ashore.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

namespace dlpack = ashore::dlpack;

// What a producer does: its own array, and a struct that describes it. Whoever takes the struct
// calls its deleter once.
struct Producer {
  std::vector<float> values{0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
  std::int64_t shape[2] = {2, 3};
  dlpack::ManagedTensorVersioned managed{};
};

dlpack::ManagedTensorVersioned* produce() {
  auto* producer = new Producer;
  dlpack::ManagedTensorVersioned& managed = producer->managed;
  managed.version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed.manager_ctx = producer;
  managed.deleter = [](dlpack::ManagedTensorVersioned* self) {
    std::cout << "the producer's memory is let go\n";
    delete static_cast<Producer*>(self->manager_ctx);
  };
  managed.tensor.data = producer->values.data();
  managed.tensor.device = {dlpack::kCPU, 0};
  managed.tensor.ndim = 2;
  managed.tensor.dtype = {dlpack::kFloat, 32, 1};
  managed.tensor.shape = producer->shape;  // no strides: row-major
  return &managed;
}

template <typename T>
void print(const char* what, const ashore::HostArray& array) {
  std::cout << what << ", " << ashore::name(array.dtype()) << ":";
  const auto* elements = static_cast<const T*>(array.data());
  for (std::int64_t i = 0; i < array.count(); ++i) std::cout << " " << elements[i];
  std::cout << "\n";
}

int main() {
  // Ashore: the array shares the producer's memory and keeps it alive.
  ashore::Result<ashore::HostArray> shared = ashore::to_host(produce());
  if (!shared.ok()) {
    std::cout << "not ashore: " << shared.status().message() << "\n";
    return 1;
  }
  print<float>("shared", *shared);

  // A cast is one pass over the elements into memory of our own.
  ashore::Options options;
  options.dtype = ashore::DType::kInt32;
  const ashore::HostArray whole = ashore::to_host(shared->view(), options).value();
  print<std::int32_t>("cast", whole);

  // Out again: any DLPack consumer can take the struct. Here the consumer is ashore itself, and
  // copy == kNever shows that no byte moves.
  options = {};
  options.copy = ashore::Copy::kNever;
  const ashore::HostArray again =
      ashore::to_host(ashore::to_dlpack(*shared).value(), options).value();
  std::cout << "out and back is the same memory: "
            << (again.data() == shared->data() ? "yes" : "no") << "\n";

  // What cannot be done is a value that says why. Device memory is never read from here.
  dlpack::ManagedTensorVersioned* on_device = produce();
  on_device->tensor.device = {dlpack::kCUDA, 0};
  const ashore::Result<ashore::HostArray> refused = ashore::to_host(on_device);
  std::cout << "refused: " << refused.status().message() << "\n";
  std::cout << "done\n";
}
