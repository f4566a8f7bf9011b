// A DLPack producer that owns its memory and counts how often its deleter runs. For C++ tests.
#pragma once

#include <ashore/dlpack.hpp>

#include <cstdint>
#include <vector>

namespace ashore::testing {

/// Hands out DLPack structs over `count` floats that count up from 0; edit `tensor()` to make it
/// hostile.
class Producer {
 public:
  explicit Producer(std::vector<std::int64_t> shape, bool with_strides = true)
      : shape_(std::move(shape)), strides_(shape_.size()) {
    std::int64_t count = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      strides_[axis] = count;
      count *= shape_[axis] > 0 ? shape_[axis] : 1;
    }
    values_.resize(static_cast<std::size_t>(count) + 8);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i);

    dlpack::Tensor& tensor = versioned_.tensor;
    tensor.data = values_.data();
    tensor.device = {dlpack::kCPU, 0};
    tensor.ndim = static_cast<std::int32_t>(shape_.size());
    tensor.dtype = {dlpack::kFloat, 32, 1};
    tensor.shape = shape_.data();
    tensor.strides = with_strides ? strides_.data() : nullptr;
    versioned_.version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
    versioned_.manager_ctx = this;
    versioned_.deleter = [](dlpack::ManagedTensorVersioned* self) {
      ++static_cast<Producer*>(self->manager_ctx)->deleted_;
    };
    plain_.manager_ctx = this;
    plain_.deleter = [](dlpack::ManagedTensor* self) {
      ++static_cast<Producer*>(self->manager_ctx)->deleted_;
    };
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  dlpack::Tensor& tensor() noexcept { return versioned_.tensor; }
  dlpack::ManagedTensorVersioned* versioned() noexcept { return &versioned_; }
  dlpack::ManagedTensor* plain() noexcept {
    plain_.tensor = versioned_.tensor;
    return &plain_;
  }
  std::vector<std::int64_t>& shape() noexcept { return shape_; }
  std::vector<std::int64_t>& strides() noexcept { return strides_; }
  std::vector<float>& values() noexcept { return values_; }
  int deleted() const noexcept { return deleted_; }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<float> values_;
  dlpack::ManagedTensorVersioned versioned_{};
  dlpack::ManagedTensor plain_{};
  int deleted_ = 0;
};

}  // namespace ashore::testing
