// ashore/torch.hpp: tensors ashore and out again, by the contract's rules (each test names its
// own).
#include <gtest/gtest.h>

#include <ashore/ashore.hpp>
#include <ashore/torch.hpp>

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashore {
namespace {

const Options kAlways{Copy::kAlways, Order::kKeep, {}, false};
const Options kNever{Copy::kNever, Order::kKeep, {}, false};

Options cast_to(DType dtype) { return {Copy::kIfNeeded, Order::kKeep, dtype, false}; }

TorchOptions with(Copy copy) {
  TorchOptions options;
  options.copy = copy;
  return options;
}

// No view: a view would keep the storage alive through its base.
at::Tensor six() { return at::arange(6, at::kFloat).view({2, 3}).clone(); }

// The elements of a compact array, in the order in which they lie.
template <typename T>
std::vector<T> values_of(const HostArray& array) {
  std::vector<T> values(static_cast<std::size_t>(array.count()));
  if (!values.empty()) std::memcpy(values.data(), array.data(), values.size() * sizeof(T));
  return values;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

HostArray array_of(std::vector<float> values, std::int64_t stride_bytes = 4, std::size_t first = 0,
                   bool read_only = false) {
  auto owner = std::make_shared<std::vector<float>>(std::move(values));
  const std::int64_t shape[] = {static_cast<std::int64_t>(owner->size())};
  const std::int64_t strides[] = {stride_bytes};
  ArrayView view;
  view.data = owner->data() + first;
  view.read_only = read_only;
  view.layout = {1, shape, strides};
  return HostArray(view, owner);
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor compact = tensor.detach().contiguous();
  const auto* data = compact.const_data_ptr<float>();
  return {data, data + compact.numel()};
}

// --- in ------------------------------------------------------------------------------------------

TEST(TensorIn, C1_SharesWhereNothingChanges) {
  const at::Tensor tensor = six();
  const HostArray array = to_host(tensor, kNever).value();
  EXPECT_EQ(array.data(), tensor.data_ptr());
  EXPECT_EQ(array.dtype(), DType::kFloat32);
  EXPECT_EQ(array.stride_bytes(0), 12);
  EXPECT_FALSE(array.read_only());
  static_cast<float*>(array.data())[5] = 7;
  EXPECT_EQ(tensor[1][2].item<float>(), 7);

  const HostArray copy = to_host(tensor, kAlways).value();
  EXPECT_NE(copy.data(), tensor.data_ptr());
}

TEST(TensorIn, C2_NothingPullsSharedMemoryAway) {
  using Attack = void (*)(at::Tensor&);
  const Attack attacks[] = {
      [](at::Tensor& tensor) { tensor = at::Tensor(); },
      [](at::Tensor& tensor) { tensor.set_(); },
      [](at::Tensor& tensor) { tensor.set_(at::ones({4096})); },
      [](at::Tensor& tensor) { tensor.set_data(at::ones({4096})); },
      [](at::Tensor& tensor) { EXPECT_THROW(tensor.resize_({1 << 20}), c10::Error); },
      [](at::Tensor& tensor) { EXPECT_FALSE(tensor.storage().resizable()); },
  };
  for (const Attack attack : attacks) {
    at::Tensor tensor = six();
    std::optional<HostArray> array = to_host(tensor).value();
    attack(tensor);
    std::vector<at::Tensor> reuse;  // takes the memory, had it been freed
    for (int i = 0; i < 64; ++i) reuse.push_back(at::full({2, 3}, 99.0f));
    EXPECT_EQ(values_of<float>(*array), kSix);
  }
}

TEST(TensorIn, C2_AnEmptyTensorOrACopyLeavesTheStorageResizable) {
  at::Tensor empty = at::empty({0, 3});
  EXPECT_EQ(to_host(empty, kNever).value().shape(1), 3);
  EXPECT_TRUE(empty.storage().resizable());
  at::Tensor copied = six();
  EXPECT_TRUE(to_host(copied, kAlways).ok());
  EXPECT_TRUE(copied.storage().resizable());
}

TEST(TensorIn, C2_ALazyCloneIsNotSharedWithItsOriginal) {
  const at::Tensor original = six();
  const at::Tensor clone = original._lazy_clone();
  const HostArray array = to_host(clone).value();
  static_cast<float*>(array.data())[0] = 9;
  EXPECT_EQ(values_of(original), kSix);
  EXPECT_EQ(clone[0][0].item<float>(), 9);
}

TEST(TensorIn, N2_GradIsDetachedAndTheTensorUnchanged) {
  at::Tensor leaf = six().requires_grad_();
  const at::Tensor result = leaf * 2;
  const HostArray array = to_host(result, kNever).value();
  EXPECT_EQ(values_of<float>(array), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_TRUE(result.requires_grad());
  EXPECT_NE(result.grad_fn(), nullptr);
  result.sum().backward();
  EXPECT_EQ(leaf.grad()[0][0].item<float>(), 2);
}

TEST(TensorIn, N2_ConjAndNegAreResolvedInTheSamePass) {
  const at::Tensor pair = at::complex(at::arange(2, at::kFloat), at::ones({2}));
  const at::Tensor conj = pair.conj();
  const Options wide = cast_to(DType::kComplex128);
  EXPECT_EQ(values_of<c10::complex<double>>(to_host(conj, wide).value()),
            (std::vector<c10::complex<double>>{{0, -1}, {1, -1}}));
  const at::Tensor negated = at::imag(conj);
  ASSERT_TRUE(negated.is_neg());
  EXPECT_EQ(values_of<float>(to_host(negated).value()), (std::vector<float>{-1, -1}));
  EXPECT_TRUE(conj.is_conj() && negated.is_neg());
  for (const at::Tensor& tensor : {conj, negated}) {
    const Result<HostArray> refused = to_host(tensor, kNever);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::kInvalid);
    EXPECT_NE(refused.status().message().find("copy"), std::string::npos);
  }
}

TEST(TensorIn, N3_ExpandedTensorsAreSharedReadOnly) {
  const at::Tensor expanded = at::arange(3, at::kFloat).expand({2, 3});
  const HostArray shared = to_host(expanded, kNever).value();
  EXPECT_TRUE(shared.read_only());
  EXPECT_EQ(shared.stride_bytes(0), 0);
  const HostArray full = to_host(expanded, kAlways).value();
  EXPECT_FALSE(full.read_only());
  EXPECT_EQ(values_of<float>(full), (std::vector<float>{0, 0, 1, 1, 2, 2}));  // C5: order "K"
  EXPECT_FALSE(to_host(at::ones({1, 3}).expand({1, 3}), kNever).value().read_only());
}

TEST(TensorIn, N11_ZeroTensorsGiveZeros) {
  const at::Tensor zeros = at::_efficientzerotensor({2, 3}, at::kFloat);
  EXPECT_EQ(values_of<float>(to_host(zeros).value()), std::vector<float>(6, 0.0f));
  EXPECT_EQ(to_host(zeros, kNever).status().code(), Code::kInvalid);
  EXPECT_EQ(plan_of(zeros).value().reasons, static_cast<std::uint32_t>(kNoStorage));
}

TEST(TensorIn, C5_OrderIsKeptOrRowMajor) {
  const at::Tensor turned = six().t();
  EXPECT_EQ(values_of<float>(to_host(turned, kAlways).value()), kSix);
  Options rows;
  rows.order = Order::kRowMajor;
  EXPECT_EQ(values_of<float>(to_host(turned, rows).value()),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(TensorIn, D2_BFloat16IsSharedAndWidensExactly) {
  const at::Tensor tensor = at::tensor({1.5f, -2.0f}).to(at::kBFloat16);
  const HostArray shared = to_host(tensor, kNever).value();
  EXPECT_EQ(shared.dtype(), DType::kBFloat16);
  EXPECT_EQ(values_of<std::uint16_t>(shared), (std::vector<std::uint16_t>{0x3FC0, 0xC000}));
  EXPECT_EQ(values_of<float>(to_host(tensor, cast_to(DType::kFloat32)).value()),
            (std::vector<float>{1.5f, -2.0f}));
}

TEST(TensorIn, InferenceTensorsComeAshore) {
  at::Tensor tensor;
  {
    const c10::InferenceMode guard;
    tensor = six();
    EXPECT_EQ(values_of<float>(to_host(tensor).value()), kSix);
  }
  EXPECT_EQ(to_host(tensor, kNever).value().data(), tensor.data_ptr());
  EXPECT_TRUE(tensor.is_inference());
}

TEST(TensorIn, E2_ComplexToRealIsRefused) {
  const at::Tensor pair = at::zeros({2}, at::kComplexFloat);
  EXPECT_EQ(to_host(pair, cast_to(DType::kFloat32)).status().code(), Code::kUnsupported);
}

void expect_refused(const at::Tensor& tensor, const char* word) {
  for (const Status& status : {to_host(tensor).take_status(), plan_of(tensor).take_status()}) {
    EXPECT_EQ(status.code(), Code::kUnsupported) << word;
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }
}

TEST(TensorIn, N10_KindsWithoutAnArrayFormAreRefused) {
  expect_refused(at::Tensor(), "undefined");
  expect_refused(six().to_sparse(), "to_dense");
  expect_refused(six().to_sparse_csr(), "to_dense");
  if (at::hasMKLDNN()) expect_refused(six().to_mkldnn(), "to_dense");
  expect_refused(at::quantize_per_tensor(six(), 0.1, 0, at::kQInt8), "dequantize");
  expect_refused(at::_nested_tensor_from_tensor_list({six(), at::ones({1, 3})}), "unbind");
  expect_refused(at::empty({2}, at::kMeta), "meta");
  expect_refused(at::_add_batch_dim(six(), 0, 1), "vmap");
  expect_refused(at::functionalization::impl::to_functional_tensor(six()), "functionalize");
  expect_refused(at::zeros({2}, at::kComplexHalf), "complex64");
  expect_refused(at::empty({2}, at::kBits8), "Bits8");
  expect_refused(at::empty(std::vector<std::int64_t>(65, 1)), "65 dimensions");
  EXPECT_TRUE(to_host(at::zeros({2}, at::kComplexHalf), cast_to(DType::kComplex64)).ok());
}

// The headers that make a real one need more than LibTorch; this is all that tells it apart.
TEST(TensorIn, N10_AGradTransformsWrapperIsRefused) {
  const c10::DispatchKeySet keys{c10::DispatchKey::CPU, c10::DispatchKey::FuncTorchGradWrapper};
  expect_refused(at::detail::make_tensor<c10::TensorImpl>(
                     c10::DispatchKeySet(keys), caffe2::TypeMeta::Make<float>(), at::kCPU),
                 "grad");
}

TEST(TensorIn, E4_MemoryThatIsNotThereIsNeverRead) {
  at::Tensor freed = six().slice(0, 1);  // an offset: its address is not null
  freed.storage().unsafeGetStorageImpl()->set_nbytes(0);
  freed.storage().set_data_ptr_noswap(at::DataPtr());
  expect_refused(freed, "no memory of its own");
  at::Tensor shrunk = six();
  shrunk.storage().unsafeGetStorageImpl()->set_nbytes(20);
  expect_refused(shrunk, "no memory of its own");
  at::Tensor stretched = six();
  const HostArray shared = to_host(stretched).value();
  EXPECT_THROW(stretched.resize_({1 << 20}), c10::Error);  // PyTorch leaves the new shape behind
  expect_refused(stretched, "no memory of its own");
  at::Tensor guarded = six();
  guarded.storage().unsafeGetStorageImpl()->set_throw_on_mutable_data_ptr();
  EXPECT_EQ(to_host(guarded).status().code(), Code::kUnsupported);
}

TEST(TensorIn, PlanOfSaysWhatToHostDoes) {
  const at::Tensor tensor = six().requires_grad_();
  const Plan share = plan_of(tensor).value();
  EXPECT_EQ(share.path, Path::kShare);
  EXPECT_EQ(share.copied_bytes, 0u);
  EXPECT_TRUE(tensor.storage().resizable());
  const Plan cast = plan_of(tensor, cast_to(DType::kFloat64)).value();
  EXPECT_EQ(cast.path, Path::kHostCopy);
  EXPECT_EQ(cast.copied_bytes, 48u);
  EXPECT_EQ(cast.reasons, static_cast<std::uint32_t>(kCast));
}

// --- out -----------------------------------------------------------------------------------------

TEST(TensorOut, C2_SharesAndKeepsTheArrayAlive) {
  at::Tensor tensor;
  std::weak_ptr<void> alive;
  {
    const HostArray array = array_of({1, 2, 3});
    alive = array.owner();
    tensor = to_torch(array, with(Copy::kNever)).value();
    EXPECT_EQ(tensor.data_ptr(), array.data());
  }
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(values_of(tensor), (std::vector<float>{1, 2, 3}));
  at::Tensor view = tensor.slice(0, 1);
  EXPECT_THROW(tensor.resize_({1 << 20}), c10::Error);
  tensor.set_();
  EXPECT_EQ(values_of(view), (std::vector<float>{2, 3}));
  tensor = at::Tensor();
  EXPECT_FALSE(alive.expired());
  view = at::Tensor();
  EXPECT_TRUE(alive.expired());
}

TEST(TensorOut, ThereAndBackIsTheSameMemory) {
  at::Tensor tensor = six();
  void* const address = tensor.data_ptr();
  const at::Tensor back = to_torch(to_host(tensor.t()).value(), with(Copy::kNever)).value();
  tensor = at::Tensor();
  EXPECT_EQ(back.data_ptr(), address);
  EXPECT_EQ(back.stride(1), 3);
  EXPECT_EQ(values_of(back.t()), kSix);
}

TEST(TensorOut, T3_WhatATensorCannotHoldIsCopied) {
  const HostArray read_only = array_of({1, 2, 3}, 4, 0, true);
  const HostArray backwards = array_of({1, 2, 3}, -4, 2);
  ArrayView swapped = read_only.view();
  swapped.read_only = false;
  swapped.byte_swapped = true;
  const HostArray foreign(swapped, read_only.owner());
  for (const HostArray& array : {read_only, backwards, foreign}) {
    EXPECT_EQ(to_torch(array, with(Copy::kNever)).status().code(), Code::kInvalid);
    at::Tensor tensor = to_torch(array).value();
    EXPECT_NE(tensor.data_ptr(), array.data());
    EXPECT_GT(tensor.stride(0), 0);
    EXPECT_EQ(tensor.size(0), 3);
    EXPECT_NO_THROW(tensor.resize_({100}));
  }
  EXPECT_EQ(values_of(to_torch(backwards).value()), (std::vector<float>{3, 2, 1}));
  const HostArray expanded = to_host(at::ones({1}).expand({4})).value();
  EXPECT_EQ(to_torch(expanded, with(Copy::kNever)).status().code(), Code::kInvalid);
  EXPECT_EQ(to_torch(expanded).value().stride(0), 1);
}

TEST(TensorOut, T3_StridesOfShortAxesDoNotCount) {
  const HostArray one = array_of({5}, -12);
  const at::Tensor tensor = to_torch(one, with(Copy::kNever)).value();
  EXPECT_EQ(tensor.data_ptr(), one.data());
  EXPECT_EQ(tensor.stride(0), 1);
  EXPECT_EQ(to_torch(to_host(at::empty({3, 0, 2})).value()).value().sizes(),
            (at::IntArrayRef{3, 0, 2}));
}

TEST(TensorOut, T2_RequiresGradMakesALeaf) {
  TorchOptions options = with(Copy::kNever);
  options.requires_grad = true;
  const at::Tensor leaf = to_torch(array_of({1, 2}), options).value();
  EXPECT_TRUE(leaf.requires_grad() && leaf.is_leaf());
  options = {};
  options.requires_grad = true;
  options.dtype = at::kInt;
  const Result<at::Tensor> refused = to_torch(array_of({1, 2}), options);
  EXPECT_EQ(refused.status().code(), Code::kInvalid);
  EXPECT_NE(refused.status().message().find("int32"), std::string::npos);
}

TEST(TensorOut, C3_DtypesAreCast) {
  TorchOptions options;
  options.dtype = at::kBFloat16;
  const at::Tensor tensor = to_torch(array_of({1.5f, -2.0f}), options).value();
  EXPECT_EQ(tensor.scalar_type(), at::kBFloat16);
  EXPECT_EQ(values_of(tensor.to(at::kFloat)), (std::vector<float>{1.5f, -2.0f}));
  options.dtype = at::kQInt8;
  EXPECT_EQ(to_torch(array_of({1}), options).status().code(), Code::kUnsupported);
  options.dtype = at::kFloat;
  options.copy = Copy::kNever;
  EXPECT_TRUE(to_torch(array_of({1}), options).ok());
}

TEST(TensorOut, D1_ADtypeThatPyTorchLacksIsRefused) {
  const HostArray small = to_host(array_of({1, 2}).view(), cast_to(DType::kInt4)).value();
  const Result<at::Tensor> refused = to_torch(small);
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("int4"), std::string::npos);
  TorchOptions options;
  options.dtype = at::kFloat;
  EXPECT_EQ(values_of(to_torch(small, options).value()), (std::vector<float>{1, 2}));
}

TEST(TensorOut, T4_DevicesThatCannotBeReachedAreValues) {
  TorchOptions options;
  options.device = at::kMeta;
  EXPECT_EQ(to_torch(array_of({1}), options).status().code(), Code::kUnreachable);
  options.device = at::Device(at::kCUDA, 0);
  if (at::hasCUDA()) {
    const at::Tensor there = to_torch(array_of({1, 2}), options).value();
    EXPECT_TRUE(there.is_cuda());
    EXPECT_EQ(plan_of(there).value().path, Path::kFramework);
    EXPECT_EQ(values_of<float>(to_host(there).value()), (std::vector<float>{1, 2}));
    EXPECT_EQ(to_host(there, kNever).status().code(), Code::kInvalid);
  } else {
    const Result<at::Tensor> refused = to_torch(array_of({1}), options);
    EXPECT_EQ(refused.status().code(), Code::kUnreachable);
    EXPECT_NE(refused.status().message().find("cuda:0"), std::string::npos);
  }
  options.copy = Copy::kNever;
  EXPECT_EQ(to_torch(array_of({1}), options).status().code(), Code::kInvalid);
  options.device = at::kCPU;
  EXPECT_TRUE(to_torch(array_of({1}), options).ok());
}

TEST(BothWays, D1_D2_EveryDtypeKeepsItsBits) {
  int count = 0;
  for (const torch_detail::TypePair& pair : torch_detail::kTypes) {
    ++count;
    const at::Tensor bytes = at::arange(64, at::kByte).bitwise_and(1);
    const at::Tensor tensor = bytes.view(pair.torch);
    EXPECT_EQ(dtype_to_torch(pair.ashore), pair.torch);
    EXPECT_EQ(size_bytes(pair.ashore), tensor.element_size());
    if (pair.ashore == DType::kComplex32) continue;  // NumPy has none: refused, see N10
    const HostArray array = to_host(tensor, kNever).value();
    EXPECT_EQ(array.dtype(), pair.ashore);
    const at::Tensor back = to_torch(array, with(Copy::kNever)).value();
    EXPECT_EQ(back.scalar_type(), pair.torch);
    EXPECT_TRUE(at::equal(back.view(at::kByte), bytes)) << name(pair.ashore);
  }
  EXPECT_EQ(count, 21);
}

}  // namespace
}  // namespace ashore
