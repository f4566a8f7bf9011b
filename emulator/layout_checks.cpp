// What CUDA's kernels for sparse and nested tensors say to operands on the host: they check by
// themselves, each in words of its own (as the 2.13.0+cu130 build was heard to).
#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>

#include <string_view>

#include "checks.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;

bool is_compressed(const Tensor& tensor) { return at::sparse_csr::is_sparse_compressed(tensor); }
bool is_scalar(const Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.dim() == 0;
}

void check_nested(const Tensor& self, const Tensor& other) {
  if (self.is_cuda() && other.is_cpu() && is_scalar(other)) return;
  if (other.is_cuda() && self.is_cpu() && is_scalar(self)) return;
  const bool are_alike = self.is_nested() && other.is_nested();
  if (!are_alike && !is_scalar(self) && !is_scalar(other)) return;  // refused for their layouts
  const Tensor& on_device = self.is_cuda() ? self : other;
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found at least two "
              "devices, ",
              on_device.device(), " and cpu!");
}

void check_sparse_sum(const Tensor& self, const Tensor& other) {
  if (self.is_sparse() && !other.is_sparse()) return;  // refused for its layout
  const char* name = self.is_cuda() ? "other" : "self";
  if (self.is_sparse()) {
    TORCH_CHECK(false, "add: expected '", name, "' to be CUDA, but got CPU");
  }
  TORCH_CHECK(false, "add: expected '", name, "' to be a CUDA tensor, but got a CPU tensor");
}

void check_compressed_sum(const Tensor& self, const Tensor& other) {
  if (is_compressed(self) && is_compressed(other)) {
    TORCH_CHECK(false, "add: expected '", self.is_cuda() ? "other" : "self",
                "' to be CUDA tensor, but got tensor on device: cpu");
  }
  const Tensor& dense = is_compressed(self) ? other : self;
  const Tensor& compressed = is_compressed(self) ? self : other;
  if (compressed.layout() != at::kSparseCsr && compressed.layout() != at::kSparseCsc) return;
  TORCH_CHECK(dense.is_cuda(),
              "dense.is_cuda() INTERNAL ASSERT FAILED at \"/__w/pytorch/pytorch/aten/src/ATen/"
              "native/sparse/cuda/SparseCsrTensorMath.cu\":148, please report a bug to PyTorch. ");
  TORCH_CHECK(false, "add: expected 'other' to be a CUDA tensor, but got tensor on device: cpu");
}

void check_product(const Tensor& self, const Tensor& other, bool is_in_place) {
  if (self.is_cuda() && other.is_cpu() && is_scalar(other)) return;
  if (other.is_cuda() && self.is_cpu() && is_scalar(self)) return;
  const bool is_csr = is_compressed(self) || is_compressed(other);
  for (const Tensor* tensor : {&self, &other}) {
    if (is_compressed(*tensor) && tensor->layout() != at::kSparseCsr) return;  // for its layout
    if (is_csr && tensor->is_sparse()) return;
  }
  if (is_csr && (is_scalar(self) || is_scalar(other))) {
    TORCH_CHECK(false,
                "Expected all tensors to be on the same device, but found at least two "
                "devices, ",
                (self.is_cuda() ? self : other).device(), " and cpu!");
  }
  const bool has_dense = self.layout() == at::kStrided || other.layout() == at::kStrided;
  const Tensor& dense = self.layout() == at::kStrided ? self : other;
  const Tensor& sparse = self.layout() == at::kStrided ? other : self;
  if (is_csr && has_dense) {
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but got mask is on ",
                sparse.device(), ", different from other tensors on ", dense.device(),
                " (when checking argument in method wrapper_SparseCsrCUDA__sparse_mask)");
  }
  if (has_dense && dense.is_cpu() && !is_scalar(dense)) {
    TORCH_CHECK(
        false, "indices should be either on cpu or on the same device as the indexed tensor (cpu)");
  }
  const bool is_out = has_dense ? sparse.is_cpu() : self.is_cpu() && !is_in_place;
  TORCH_CHECK(false, "mul: expected '", is_out ? "out" : "other", "' to be CUDA, but got CPU");
}

}  // namespace

void check_layouts(const Operator& op, const torch::jit::Stack& stack, std::size_t begin) {
  if (stack.size() - begin < 2 || !stack[begin].isTensor() || !stack[begin + 1].isTensor()) return;
  const Tensor self = stack[begin].toTensor();
  const Tensor other = stack[begin + 1].toTensor();
  if (!self.defined() || !other.defined() || self.is_cuda() == other.is_cuda()) return;
  std::string_view name(op.name);
  name.remove_prefix(std::string_view("aten::").size());
  name = name.substr(0, name.find('.'));
  const bool is_in_place = name.ends_with('_');
  if (is_in_place) name.remove_suffix(1);
  const bool is_sum = name == "add" || name == "sub";
  if (!is_sum && name != "mul" && name != "div") return;
  if (self.is_nested() || other.is_nested()) {
    check_nested(self, other);
  } else if (is_sum && (is_compressed(self) || is_compressed(other))) {
    check_compressed_sum(self, other);
  } else if (is_sum && (self.is_sparse() || other.is_sparse())) {
    check_sparse_sum(self, other);
  } else if (name == "mul") {
    check_product(self, other, is_in_place);
  }
}

}  // namespace ashore::emulator
