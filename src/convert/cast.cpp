// The choice of a cast kernel for a pair of dtypes; convert and to_image ask here.
//
// Two kernels know (nearly) all pairs: the fast one, made of a vector loop into and out of a "hub"
// type for each dtype (lanes.hpp says how an element becomes a number, fast_cast.cpp chains the
// loops), and the staged one, the reference, which also knows long double, swapped bytes and
// transforms. A kernel for one pair alone would be chosen here, before those.
#include "convert/cast.hpp"

#include "convert/element.hpp"
#include "convert/fast_cast.hpp"
#include "convert/stage.hpp"

namespace ashore {

CastKernel find_cast(const CastJob& job) noexcept {
  if (!cast_exists(job.from, job.to)) return nullptr;
  const bool plain = !job.source_swapped && !job.destination_swapped && !job.transform.conjugate &&
                     !job.transform.negate;
  return plain && fast_cast_exists(job.from, job.to) ? &fast_cast : &staged_cast;
}

bool cast_exists(DType from, DType to) noexcept {
  return is_convertible(from) && is_convertible(to) && (is_complex(to) || !is_complex(from));
}

}  // namespace ashore
