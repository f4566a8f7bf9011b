// A LibTorch model's output comes ashore: with its gradient, in bfloat16, expanded; and an array
// becomes a tensor. No Python, no NumPy.
#include <ashore/ashore.hpp>
#include <ashore/torch.hpp>

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <iostream>

// A tiny model: one linear layer and a softmax.
at::Tensor predict(const at::Tensor& weight, const at::Tensor& input) {
  return at::softmax(at::matmul(input, weight), 1);
}

void describe(const char* what, const ashore::HostArray& array) {
  std::cout << what << ": " << ashore::name(array.dtype()) << " (";
  for (int axis = 0; axis < array.ndim(); ++axis) {
    std::cout << (axis > 0 ? ", " : "") << array.shape(axis);
  }
  std::cout << (array.read_only() ? "), read-only\n" : ")\n");
}

const char* yes_or_no(bool is) { return is ? "yes" : "no"; }

int main() {
  at::manual_seed(0);
  const at::Tensor weight = at::randn({4, 3}).set_requires_grad(true);
  const at::Tensor output = predict(weight, at::randn({2, 4}));

  // It requires grad; ashore detaches, shares its memory and leaves the graph alone.
  const ashore::HostArray scores = ashore::to_host(output).value();
  describe("output", scores);
  std::cout << "shared: " << yes_or_no(scores.data() == output.data_ptr())
            << ", the output still has its graph: " << yes_or_no(output.grad_fn() != nullptr)
            << "\n";
  float total = 0;
  for (std::int64_t i = 0; i < scores.count(); ++i) {
    total += static_cast<const float*>(scores.data())[i];
  }
  std::cout << "each of 2 rows adds up to 1: " << yes_or_no(std::abs(total - 2) < 1e-6f) << "\n";

  // bfloat16 comes as it is, or wider: each value exactly.
  const at::Tensor half = output.to(at::kBFloat16);
  describe("bfloat16", ashore::to_host(half).value());
  ashore::Options options;
  options.dtype = ashore::DType::kFloat32;
  describe("widened", ashore::to_host(half, options).value());

  // Expanded: many elements, little memory, so the share is read-only; a copy is full.
  const at::Tensor expanded = at::ones({3}).expand({1000, 3});
  describe("expanded", ashore::to_host(expanded).value());
  options = {};
  options.copy = ashore::Copy::kAlways;
  describe("copied", ashore::to_host(expanded, options).value());

  // Ask first what would happen.
  options = {};
  options.dtype = ashore::DType::kFloat64;
  const ashore::Plan plan = ashore::plan_of(output, options).value();
  std::cout << "to float64: " << plan.copied_bytes << " bytes written, for "
            << ashore::describe_reasons(plan) << "\n";

  // And back: a leaf on the same memory.
  ashore::TorchOptions back;
  back.requires_grad = true;
  const at::Tensor leaf = ashore::to_torch(scores, back).value();
  std::cout << "leaf on the same memory: "
            << yes_or_no(leaf.is_leaf() && leaf.data_ptr() == scores.data()) << "\n";

  // What has no array form says so, and what to do.
  std::cout << "refused: " << ashore::to_host(output.to_sparse()).status().message() << "\n";
}
