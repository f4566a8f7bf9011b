// See alias.hpp.
#include "alias.hpp"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/CPUAllocator.h>

#include <array>
#include <cstring>
#include <typeinfo>

#include "allocators.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::Storage;
using c10::StorageImpl;

void drop_storage(void* storage) {
  c10::raw::intrusive_ptr::decref(static_cast<StorageImpl*>(storage));
}

// Bytes that belong to a CUDA storage, as a host storage holds them.
c10::DataPtr borrow(StorageImpl* owner) {
  c10::raw::intrusive_ptr::incref(owner);
  return {host_address(owner->data()), owner, &drop_storage, c10::Device(c10::DeviceType::CPU)};
}

// The bytes of a storage that outlives the holder.
void keep_storage(void* /*storage*/) {}

// The CUDA storage whose bytes these are, borrowed; null: none.
StorageImpl* lender(const c10::DataPtr& data) {
  const bool is_borrowed =
      data.get_deleter() == &drop_storage || data.get_deleter() == &keep_storage;
  return is_borrowed ? static_cast<StorageImpl*>(data.get_context()) : nullptr;
}

Storage new_storage(std::size_t size_bytes, c10::DataPtr data, c10::Allocator* allocator) {
  return Storage(c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(), size_bytes,
                                                  std::move(data), allocator, true));
}

Tensor strided(Storage storage, const Tensor& like, DispatchKey key) {
  Tensor made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), DispatchKeySet(key),
                                                         like.dtype());
  c10::TensorImpl* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (C10_UNLIKELY(like.is_conj())) made._set_conj(true);
  if (C10_UNLIKELY(like.is_neg())) made._set_neg(true);
  if (C10_UNLIKELY(like.unsafeGetTensorImpl()->is_wrapped_number())) impl->set_wrapped_number(true);
  return made;
}

Tensor quantized(Storage storage, const Tensor& like, at::QuantizerPtr quantizer, DispatchKey key) {
  Tensor made = at::detail::make_tensor<at::QTensorImpl>(std::move(storage), DispatchKeySet(key),
                                                         like.dtype(), std::move(quantizer));
  made.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(),
                                                    like.storage_offset());
  return made;
}

template <typename Convert>
at::QuantizerPtr convert_quantizer(const Tensor& tensor, Convert convert) {
  at::QuantizerPtr known = static_cast<at::QTensorImpl*>(tensor.unsafeGetTensorImpl())->quantizer();
  if (known->qscheme() == at::kPerTensorAffine) return known;
  auto* channels = static_cast<at::PerChannelAffineQuantizer*>(known.get());
  return at::make_per_channel_affine_quantizer(convert(channels->scales()),
                                               convert(channels->zero_points()), channels->axis(),
                                               channels->scalar_type());
}

at::SparseCsrTensorImpl* csr_impl(const Tensor& tensor) {
  return static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

bool has_members(const Tensor& tensor) {
  return tensor.is_sparse() || at::sparse_csr::is_sparse_compressed(tensor) || tensor.is_nested();
}
bool is_zero_tensor(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->key_set().has(DispatchKey::ZeroTensor);
}

// Whether a tensor is one that a kernel has just made and nobody else knows: then it may change
// device.
bool is_sole(const Tensor& tensor) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return tensor.use_count() == 1 && impl->unsafe_storage().use_count() == 1 &&
         impl->unsafe_storage().unsafeGetStorageImpl()->data_ptr().get_deleter() == &free_any &&
         typeid(*impl) == typeid(c10::TensorImpl);
}

}  // namespace

// A tensor of members (sparse, compressed, nested): the same around converted members.
template <typename Convert>
Tensor Aliases::convert_members(const Tensor& tensor, bool to_cuda, Convert convert) {
  const DeviceScope scope(device());
  if (tensor.is_sparse()) {
    auto* from = at::sparse::get_sparse_impl(tensor);
    Tensor made = at::detail::make_tensor<at::SparseTensorImpl>(
        DispatchKeySet(to_cuda ? DispatchKey::SparseCUDA : DispatchKey::SparseCPU), tensor.dtype());
    auto* to = at::sparse::get_sparse_impl(made);
    to->resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
    to->set_indices_and_values_unsafe(convert(from->indices()), convert(from->values()));
    to->set_coalesced(from->coalesced());
    return made;
  }
  if (at::sparse_csr::is_sparse_compressed(tensor)) {
    at::SparseCsrTensorImpl* from = csr_impl(tensor);
    Tensor made = at::detail::make_tensor<at::SparseCsrTensorImpl>(
        DispatchKeySet(to_cuda ? DispatchKey::SparseCsrCUDA : DispatchKey::SparseCsrCPU),
        to_cuda ? cuda_device(device()) : c10::Device(c10::DeviceType::CPU), from->layout(),
        tensor.dtype());
    csr_impl(made)->set_member_tensors(convert(from->compressed_indices()),
                                       convert(from->plain_indices()), convert(from->values()),
                                       from->sym_sizes());
    return made;
  }
  auto* from = static_cast<at::native::NestedTensorImpl*>(tensor.unsafeGetTensorImpl());
  return at::detail::make_tensor<at::native::NestedTensorImpl>(
      convert(from->get_unsafe_storage_as_tensor()), from->get_nested_sizes(),
      from->get_nested_strides(), from->get_storage_offsets());
}

const Storage& Aliases::host_storage(const Storage& on_device) {
  if (on_device.use_count() != 1) {  // else no other argument can have it
    for (const Pair& pair : pairs_) {
      if (pair.on_device.is_alias_of(on_device)) return pair.on_host;
    }
  }
  StorageImpl* impl = on_device.unsafeGetStorageImpl();
  pairs_.push_back({on_device, new_storage(impl->nbytes(), borrow(impl), c10::GetCPUAllocator())});
  return pairs_.back().on_host;
}

Tensor Aliases::to_host(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  if (device_ < 0) device_ = tensor.get_device();
  const auto convert = [this](const Tensor& member) { return to_host(member); };
  if (C10_UNLIKELY(has_members(tensor))) return convert_members(tensor, false, convert);
  if (C10_UNLIKELY(is_zero_tensor(tensor))) {
    return at::_efficientzerotensor(tensor.sizes(), tensor.options().device(at::kCPU));
  }
  if (C10_UNLIKELY(tensor.storage().data() == nullptr) && tensor.numel() != 0) {
    report_failure("", c10::str("a kernel was given a tensor of ", tensor.sizes(), " on ",
                                tensor.device(), " whose storage was freed"));
    break_device(device::Error::kIllegalAddress);
    throw_cuda_error(device::Error::kIllegalAddress);
  }
  const Storage& storage = host_storage(tensor.storage());
  if (C10_UNLIKELY(tensor.is_quantized())) {
    return quantized(storage, tensor, convert_quantizer(tensor, convert),
                     DispatchKey::QuantizedCPU);
  }
  return strided(storage, tensor, DispatchKey::CPU);
}

// Whatever a kernel left in a host storage becomes a CUDA storage; the host storage, which somebody
// may keep, goes on as a borrower.
Storage Aliases::device_storage(const Storage& on_host) {
  StorageImpl* host = on_host.unsafeGetStorageImpl();
  const std::size_t size_bytes = host->nbytes();
  if (host->data() == nullptr) {
    return new_storage(size_bytes, {nullptr, cuda_device(device())}, device_allocator());
  }
  c10::DataPtr& data = host->_mutable_data_ptr_no_checks();
  if (is_device_bytes(host->data()) && data.get_deleter() == &free_any) {
    static_cast<void>(data.move_context().release());
    Storage made = new_storage(size_bytes, adopt(const_cast<void*>(host->data()), device()),
                               device_allocator());
    host->set_data_ptr_noswap(borrow(made.unsafeGetStorageImpl()));
    return made;
  }
  StorageImpl* owner = lender(data);
  if (owner != nullptr && host_address(owner->data()) == data.get() &&
      owner->nbytes() == size_bytes) {
    return Storage(c10::intrusive_ptr<StorageImpl>::reclaim_copy(owner));
  }
  if (is_device_bytes(host->data())) {  // a part of such bytes, under a deleter of the kernel's own
    auto* keep = new Storage(on_host);
    c10::DataPtr view(
        device_address(host->data()), keep, [](void* kept) { delete static_cast<Storage*>(kept); },
        cuda_device(device()));
    return new_storage(size_bytes, std::move(view), device_allocator());
  }
  // A constant, or memory that another thread allocated.
  c10::DataPtr copy = allocate_device(size_bytes, device());
  std::memcpy(host_address(copy.get()), host->data(), size_bytes);
  return new_storage(size_bytes, std::move(copy), device_allocator());
}

Tensor Aliases::to_device(Tensor tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
  const auto convert = [this](const Tensor& member) { return to_device(member); };
  if (C10_UNLIKELY(has_members(tensor))) return convert_members(tensor, true, convert);
  if (C10_UNLIKELY(is_zero_tensor(tensor))) {
    return at::_efficientzerotensor(tensor.sizes(), tensor.options().device(cuda_device(device())));
  }
  if (C10_LIKELY(is_sole(tensor)) && is_device_bytes(tensor.storage().data())) {
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    // Nobody else sees the storage: it need not be counted while it is changed.
    Storage storage = std::move(const_cast<Storage&>(impl->unsafe_storage()));
    StorageImpl* bytes = storage.unsafeGetStorageImpl();
    static_cast<void>(bytes->_mutable_data_ptr_no_checks().move_context().release());
    bytes->set_data_ptr_noswap(adopt(const_cast<void*>(bytes->data()), device()));
    bytes->set_allocator(device_allocator());
    impl->_change_backend_component_keys(cuda_device(device()));
    impl->set_storage_keep_dtype(std::move(storage));
    return tensor;
  }
  const StorageImpl* host = tensor.storage().unsafeGetStorageImpl();
  Storage storage;
  for (const Pair& pair : pairs_) {
    if (pair.on_host.unsafeGetStorageImpl() == host) storage = pair.on_device;
  }
  if (!storage) {
    storage = device_storage(tensor.storage());
    pairs_.push_back({storage, tensor.storage()});
  }
  if (C10_UNLIKELY(tensor.is_quantized())) {
    return quantized(std::move(storage), tensor, convert_quantizer(tensor, convert),
                     DispatchKey::QuantizedCUDA);
  }
  return strided(std::move(storage), tensor, DispatchKey::CUDA);
}

namespace {

// Aliases that the thread's next kernel may use again, whatever they were aliases of.
struct SpareAliases {
  SpareAliases() = default;
  ~SpareAliases() { count = kClosed; }
  SpareAliases(const SpareAliases&) = delete;
  SpareAliases& operator=(const SpareAliases&) = delete;

  static constexpr int kMost = 8;
  static constexpr int kClosed = kMost + 1;
  std::array<Tensor, kMost> tensors;
  int count = 0;
};
constinit thread_local SpareAliases* tl_spare = nullptr;  // known without a look at its guard

SpareAliases& spare_aliases() {
  if (C10_UNLIKELY(tl_spare == nullptr)) {
    thread_local SpareAliases made;
    tl_spare = &made;
  }
  return *tl_spare;
}

// Whether its alias is a plain CPU tensor, over a storage that no other argument can have.
bool is_plain(const Tensor& tensor) {
  constexpr DispatchKeySet kMarked(
      {DispatchKey::Conjugate, DispatchKey::Negative, DispatchKey::ZeroTensor});
  if (!tensor.defined() || !tensor.is_cuda()) return false;
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const DispatchKeySet keys = impl->key_set();
  if (!keys.has(DispatchKey::Dense) || keys.has_any(kMarked)) return false;
  const Storage& storage = impl->unsafe_storage();
  return storage.use_count() == 1 && storage.data() != nullptr && !impl->is_wrapped_number();
}

}  // namespace

BorrowedTensor::BorrowedTensor(Aliases& aliases, const Tensor& tensor) {
  if (!is_plain(tensor)) {
    alias_ = aliases.to_host(tensor);
    return;
  }
  const c10::TensorImpl* from = tensor.unsafeGetTensorImpl();
  owner_ = from->unsafe_storage().unsafeGetStorageImpl();
  c10::DataPtr data(host_address(owner_->data()), owner_, &keep_storage,
                    c10::Device(c10::DeviceType::CPU));
  SpareAliases& spare = spare_aliases();
  if (spare.count == 0 || spare.count == SpareAliases::kClosed) {
    alias_ = strided(new_storage(owner_->nbytes(), std::move(data), c10::GetCPUAllocator()), tensor,
                     DispatchKey::CPU);
    return;
  }
  alias_ = std::move(spare.tensors[static_cast<std::size_t>(--spare.count)]);
  c10::TensorImpl* to = alias_.unsafeGetTensorImpl();
  StorageImpl* storage = to->unsafe_storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(owner_->nbytes());
  if (to->dtype() != from->dtype()) {
    to->set_storage_and_dtype(Storage(to->unsafe_storage()), from->dtype());
  }
  if (to->sizes() != from->sizes() || to->strides() != from->strides() ||
      to->storage_offset() != from->storage_offset()) {
    to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  }
}

BorrowedTensor::~BorrowedTensor() {
  if (owner_ == nullptr) return;
  StorageImpl* storage = alias_.storage().unsafeGetStorageImpl();
  SpareAliases& spare = spare_aliases();
  const bool is_kept = alias_.use_count() != 1 || alias_.storage().use_count() != 1;
  const bool is_ours = storage->data_ptr().get_deleter() == &keep_storage;
  if (is_kept) {
    if (is_ours) storage->set_data_ptr_noswap(borrow(owner_));
  } else if (is_ours && spare.count < SpareAliases::kMost) {
    spare.tensors[static_cast<std::size_t>(spare.count++)] = std::move(alias_);
  }
}

void Aliases::copy_quantizer(const Tensor& to, const Tensor& from) {
  static_cast<at::QTensorImpl*>(to.unsafeGetTensorImpl())
      ->set_quantizer_(convert_quantizer(
          from, [&](const Tensor& member) { return to.is_cuda() ? to_device(member) : member; }));
}

void Aliases::write_back(const Tensor& tensor, const Tensor& alias) {
  if (tensor.is_sparse()) {
    auto* to = at::sparse::get_sparse_impl(tensor);
    auto* from = at::sparse::get_sparse_impl(alias);
    const Tensor indices = to_device(from->indices());
    const Tensor values = to_device(from->values());
    to->raw_resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
    to->set_indices_and_values_unsafe(indices, values);
    to->set_coalesced(from->coalesced());
    return;
  }
  if (at::sparse_csr::is_sparse_compressed(tensor)) {
    at::SparseCsrTensorImpl* from = csr_impl(alias);
    csr_impl(tensor)->set_member_tensors(to_device(from->compressed_indices()),
                                         to_device(from->plain_indices()),
                                         to_device(from->values()), from->sym_sizes());
    return;
  }
  if (tensor.is_nested() || !tensor.has_storage()) return;
  StorageImpl* on_device = tensor.storage().unsafeGetStorageImpl();
  const Storage& host = alias.storage();
  if (host_address(on_device->data()) != host.data() || on_device->nbytes() != host.nbytes()) {
    bool is_resized = false;
    for (const Pair& pair : pairs_) {
      is_resized |=
          pair.on_device.unsafeGetStorageImpl() == on_device && pair.on_host.is_alias_of(host);
    }
    if (is_resized) {  // the kernel gave the alias other memory: the CUDA storage takes it over
      const Storage grown = device_storage(host);
      on_device->set_data_ptr_noswap(
          std::move(grown.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
      on_device->set_nbytes(host.nbytes());
      host.unsafeGetStorageImpl()->set_data_ptr_noswap(borrow(on_device));
    } else {
      tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(to_device(alias).storage());
    }
  }
  if (alias.sizes() != tensor.sizes() || alias.strides() != tensor.strides() ||
      alias.storage_offset() != tensor.storage_offset()) {
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(alias.sizes(), alias.strides(),
                                                        alias.storage_offset());
  }
}

}  // namespace ashore::emulator
