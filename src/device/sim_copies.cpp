// The simulator's driver functions that copy and fill.
#include <limits>

#include "device/sim_calls.hpp"
#include "device/sim_machine.hpp"
#include "host/address_space.hpp"

namespace ashore::device::sim::calls {
namespace {

constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

enum class Place { kDevice, kPinned, kPageable };

struct Side {
  Place place = Place::kPageable;
  std::byte* bytes = nullptr;
};

// Find out what memory an address is. Device memory is accepted only where a block holds all of it.
Error look_up(DevicePointer address, std::size_t bytes, Side& side) ASHORE_REQUIRES(machine.mutex) {
  if (machine.memory.device_of(address) >= 0) {
    Block block;
    if (!machine.memory.find(address, block)) return Error::kInvalidValue;
    if (bytes > block.bytes - (address - block.begin)) return Error::kInvalidValue;
    side = {Place::kDevice, machine.memory.bytes_of(address)};
    return Error::kSuccess;
  }
  if (address == 0) return Error::kInvalidValue;
  const bool is_pinned = machine.pinned.find(address, bytes) != nullptr;
  side = {is_pinned ? Place::kPinned : Place::kPageable, host::pointer_to(address)};
  return Error::kSuccess;
}

WorkKind kind_of(const Side& destination, const Side& source) {
  if (destination.place != Place::kDevice) return WorkKind::kToHost;
  return source.place == Place::kDevice ? WorkKind::kOnDevice : WorkKind::kToDevice;
}

void count(WorkKind kind, std::size_t bytes) ASHORE_REQUIRES(machine.mutex) {
  SimulatorStatistics& statistics = machine.statistics;
  const auto more = static_cast<std::int64_t>(bytes);
  if (kind == WorkKind::kToDevice) {
    ++statistics.host_to_device_copies;
    statistics.host_to_device_bytes += more;
  } else if (kind == WorkKind::kToHost) {
    ++statistics.device_to_host_copies;
    statistics.device_to_host_bytes += more;
  } else if (kind == WorkKind::kOnDevice) {
    ++statistics.device_to_device_copies;
    statistics.device_to_device_bytes += more;
  }
}

struct Request {
  DevicePointer destination = 0;
  DevicePointer source = 0;
  Rows rows;                    ///< without the addresses
  bool is_source_free = false;  ///< the source may be changed when the call returns
};

// Both addresses may be of any memory.
Error copy(Stream& stream, const Request& request) ASHORE_REQUIRES(machine.mutex) {
  Side destination;
  Side source;
  Work work;
  work.rows = request.rows;
  if (work.rows.bytes() == 0) return Error::kSuccess;
  const Error error = look_up(request.destination, work.rows.destination_reach(), destination);
  if (error != Error::kSuccess) return error;
  if (const Error other = look_up(request.source, work.rows.source_reach(), source);
      other != Error::kSuccess) {
    return other;
  }
  work.kind = kind_of(destination, source);
  work.device = stream.device;
  work.origin = current_origin;
  work.rows.destination = destination.bytes;
  work.rows.source = source.bytes;
  if (destination.place != Place::kDevice && source.place != Place::kDevice) {
    // Between two places of the host: what came before is waited for, and it is done on return.
    machine.timeline.finish(machine.timeline.mark(stream));
    work.is_pageable = true;
  } else {
    count(work.kind, work.rows.bytes());
    if (work.kind == WorkKind::kToDevice) {
      work.is_pageable = source.place == Place::kPageable || request.is_source_free;
    } else if (work.kind == WorkKind::kToHost) {
      work.is_pageable = destination.place == Place::kPageable;
    }
  }
  const bool is_complete_on_return = work.kind == WorkKind::kToHost && work.is_pageable;
  const Point point = machine.timeline.submit(stream, std::move(work));
  if (is_complete_on_return) machine.timeline.finish(point);
  return Error::kSuccess;
}

Rows one_run(std::size_t bytes) {
  Rows rows;
  rows.width_bytes = rows.destination_pitch_bytes = rows.source_pitch_bytes = bytes;
  return rows;
}

bool is_device(DevicePointer address) ASHORE_REQUIRES(machine.mutex) {
  return machine.memory.device_of(address) >= 0;
}

// From and to what kind of memory a function copies; the others take any.
enum class Ends { kAny, kToDevice, kToHost, kOnDevice };

Error copy_run(DevicePointer destination, DevicePointer source, std::size_t bytes,
               StreamHandle handle, Ends ends) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (bytes == 0) return Error::kSuccess;
  const bool to_device = ends == Ends::kToDevice || ends == Ends::kOnDevice;
  const bool from_device = ends == Ends::kToHost || ends == Ends::kOnDevice;
  if (ends != Ends::kAny &&
      (is_device(destination) != to_device || is_device(source) != from_device)) {
    return Error::kInvalidValue;
  }
  return copy(*stream, {destination, source, one_run(bytes), false});
}

DevicePointer number_of(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

// One side of a 2D copy as an address; false where its memory type has none here.
bool side_address(MemoryType type, const void* host, DevicePointer device, std::size_t x_bytes,
                  std::size_t y, std::size_t pitch_bytes, DevicePointer& address) {
  if (type == MemoryType::kHost) {
    address = number_of(host);
  } else if (type == MemoryType::kDevice || type == MemoryType::kUnified) {
    address = device;
  } else {
    return false;
  }
  std::size_t offset = 0;
  return !__builtin_mul_overflow(y, pitch_bytes, &offset) &&
         !__builtin_add_overflow(offset, x_bytes, &offset) &&
         !__builtin_add_overflow(address, offset, &address);
}

}  // namespace

Error memcpy_htod_async(DevicePointer destination, const void* source, std::size_t size_bytes,
                        StreamHandle stream) {
  return copy_run(destination, number_of(source), size_bytes, stream, Ends::kToDevice);
}

Error memcpy_dtoh_async(void* destination, DevicePointer source, std::size_t size_bytes,
                        StreamHandle stream) {
  return copy_run(number_of(destination), source, size_bytes, stream, Ends::kToHost);
}

Error memcpy_dtod_async(DevicePointer destination, DevicePointer source, std::size_t size_bytes,
                        StreamHandle stream) {
  return copy_run(destination, source, size_bytes, stream, Ends::kOnDevice);
}

Error memcpy_async(DevicePointer destination, DevicePointer source, std::size_t size_bytes,
                   StreamHandle stream) {
  return copy_run(destination, source, size_bytes, stream, Ends::kAny);
}

Error memcpy_2d_async(const Memcpy2D* what, StreamHandle handle) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (what == nullptr) return Error::kInvalidValue;
  Request request;
  request.rows.width_bytes = what->width_bytes;
  request.rows.count = what->height;
  // A pitch of 0 stands for the width.
  request.rows.destination_pitch_bytes =
      what->destination_pitch_bytes == 0 ? what->width_bytes : what->destination_pitch_bytes;
  request.rows.source_pitch_bytes =
      what->source_pitch_bytes == 0 ? what->width_bytes : what->source_pitch_bytes;
  if (what->width_bytes == 0 || what->height == 0) return Error::kSuccess;
  for (const auto& [pitch, x] :
       {std::pair{request.rows.destination_pitch_bytes, what->destination_x_bytes},
        std::pair{request.rows.source_pitch_bytes, what->source_x_bytes}}) {
    std::size_t reach = 0;
    if (x > pitch || what->width_bytes > pitch - x) return Error::kInvalidValue;
    if (__builtin_mul_overflow(pitch, what->height, &reach)) return Error::kInvalidValue;
  }
  if (!side_address(what->destination_type, what->destination_host, what->destination_device,
                    what->destination_x_bytes, what->destination_y,
                    request.rows.destination_pitch_bytes, request.destination) ||
      !side_address(what->source_type, what->source_host, what->source_device, what->source_x_bytes,
                    what->source_y, request.rows.source_pitch_bytes, request.source)) {
    return Error::kInvalidValue;
  }
  return copy(*stream, request);
}

Error memcpy_batch_async(DevicePointer* destinations, DevicePointer* sources,
                         std::size_t* sizes_bytes, std::size_t count, BatchAttributes* attributes,
                         std::size_t* attribute_starts, std::size_t attribute_count,
                         std::size_t* failed_index, StreamHandle handle) {
  std::size_t ignored = 0;
  std::size_t& failed = failed_index == nullptr ? ignored : *failed_index;
  failed = kNoIndex;
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (stream->is_default || count == 0 || destinations == nullptr || sources == nullptr ||
      sizes_bytes == nullptr || attributes == nullptr || attribute_starts == nullptr ||
      attribute_count == 0 || attribute_count > count || attribute_starts[0] != 0) {
    return Error::kInvalidValue;
  }
  std::size_t current = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (current + 1 < attribute_count && attribute_starts[current + 1] == i) ++current;
    const SourceAccess access = attributes[current].source_access;
    failed = i;
    if (access == SourceAccess::kInvalid || access > SourceAccess::kAnyTime) {
      return Error::kInvalidValue;
    }
    if (sizes_bytes[i] == 0) return Error::kInvalidValue;
    const bool is_source_free = access == SourceAccess::kDuringCall;
    const Request request = {destinations[i], sources[i], one_run(sizes_bytes[i]), is_source_free};
    if (const Error error = copy(*stream, request); error != Error::kSuccess) return error;
  }
  failed = kNoIndex;
  return Error::kSuccess;
}

Error memset_d8_async(DevicePointer destination, unsigned char value, std::size_t size_bytes,
                      StreamHandle handle) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (size_bytes == 0) return Error::kSuccess;
  Side side;
  const Error error = look_up(destination, size_bytes, side);
  if (error != Error::kSuccess) return error;
  if (side.place != Place::kDevice) return Error::kInvalidValue;
  Work work;
  work.kind = WorkKind::kFill;
  work.device = stream->device;
  work.origin = current_origin;
  work.value = value;
  work.rows = one_run(size_bytes);
  work.rows.destination = side.bytes;
  machine.timeline.submit(*stream, std::move(work));
  return Error::kSuccess;
}

}  // namespace ashore::device::sim::calls
