// Status and Result: how every part of ashore says that something went wrong. Used by all stages.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace ashore {

/// What kind of failure a Status carries. Python raises the exception named beside each.
enum class Code {
  kUnsupported,  ///< this kind of thing has no form on the other side (TypeError)
  kInvalid,      ///< a bad argument, or a copy that was forbidden is unavoidable (ValueError)
  kUnreachable,  ///< memory on a device that nothing here can reach (RuntimeError)
  kNoMemory,     ///< an allocation failed (MemoryError)
};

/// Thrown by `.value()` alone: the one place where a failure becomes an exception in C++.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

/// Success, or a code with a one-line message that names the thing, the rule and the way out.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message)
      : failure_(std::make_unique<Failure>(Failure{code, std::move(message)})) {}

  bool ok() const noexcept { return failure_ == nullptr; }
  /// Return the failure's code; only valid when `!ok()`.
  Code code() const noexcept { return failure_->code; }
  /// Return the failure's message; only valid when `!ok()`.
  const std::string& message() const noexcept { return failure_->message; }
  /// Throw `Error` unless ok.
  void value() const {
    if (!ok()) throw Error(code(), message());
  }

 private:
  struct Failure {
    Code code;
    std::string message;
  };
  std::unique_ptr<Failure> failure_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Status failure) : held_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const noexcept { return held_.index() == 0; }
  /// Return the failure; only valid when `!ok()`.
  const Status& status() const noexcept { return *std::get_if<1>(&held_); }
  /// Move the failure out; only valid when `!ok()`.
  Status take_status() noexcept { return std::move(*std::get_if<1>(&held_)); }
  /// Return the value without a check; only valid when `ok()`.
  T& operator*() noexcept { return *std::get_if<0>(&held_); }
  const T& operator*() const noexcept { return *std::get_if<0>(&held_); }
  T* operator->() noexcept { return std::get_if<0>(&held_); }
  const T* operator->() const noexcept { return std::get_if<0>(&held_); }
  /// Return the value, or throw `Error`.
  T& value() & {
    if (!ok()) status().value();
    return **this;
  }
  T&& value() && {
    if (!ok()) status().value();
    return std::move(**this);
  }

 private:
  std::variant<T, Status> held_;
};

}  // namespace ashore
