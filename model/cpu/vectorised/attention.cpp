#include <algorithm>

#include "model/cpu/vectorised/vectorised.h"

namespace octlm::model::cpu {
namespace {

// The arguments of one query of one head, as if its KV head were the only one and its keys all
// there are: what any mask and any mapping of heads come down to.
AttentionArgs one_query(const AttentionArgs& all, const ops::AttentionArguments& arguments,
                        std::int64_t task) {
  const std::int64_t s = task / all.heads, h = task % all.heads;
  const std::int64_t kv_head = arguments.kv_head(h, all.heads, all.kv_heads);
  const std::int64_t first = offset(kv_head, all.capacity * all.head_dim);
  AttentionArgs one = all;
  one.q += offset(task, all.head_dim);
  one.out += offset(task, all.head_dim);
  one.keys += first;
  one.values += first;
  one.seq = one.heads = one.kv_heads = 1;
  one.first_position = arguments.keys_seen(s, all.seq) - 1;
  return one;
}

}  // namespace

void Vectorised::attention(ConstTensorView q, ConstTensorView k_cache, ConstTensorView v_cache,
                           const ops::AttentionArguments& arguments, TensorView out) {
  const AttentionArgs args{q.as<float>(),
                           k_cache.as<float>(),
                           v_cache.as<float>(),
                           out.as<float>(),
                           q.shape[0],
                           q.shape[1],
                           k_cache.shape[0],
                           q.shape[2],
                           k_cache.shape[1],
                           arguments.first_position,
                           static_cast<float>(arguments.scale)};
  reserve(kernels_.attention_scratch_floats(args.heads / args.kv_heads, args.head_dim));
  if (!arguments.usual()) {
    pool().run(args.seq * args.heads, [&](std::int64_t task, int thread) {
      kernels_.attention_one_query(one_query(args, arguments, task), 0, scratch_of(thread));
    });
    return;
  }
  if (args.seq == 1) {
    pool().run(args.kv_heads, [&](std::int64_t kv_head, int thread) {
      kernels_.attention_one_query(args, kv_head, scratch_of(thread));
    });
    return;
  }
  // The last queries see the most keys: first, so that the threads end together.
  const std::int64_t blocks = divide_up(args.seq, kernels_.query_block);
  pool().run(blocks * args.heads, [&](std::int64_t task, int thread) {
    const std::int64_t first = (blocks - 1 - task / args.heads) * kernels_.query_block;
    kernels_.attention_block(args, task % args.heads, first,
                             std::min(kernels_.query_block, args.seq - first), scratch_of(thread));
  });
}

}  // namespace octlm::model::cpu
