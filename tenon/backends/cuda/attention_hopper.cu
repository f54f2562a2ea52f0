// Attention and its gradients for compute capability 9.0, in its own instructions: products of four warps (wgmma) whose
// operands are tiles of shared memory, copied there while others are multiplied (cp.async).
//
// The text is compiled at run time, behind definitions of
//   HEAD, the numbers of a row: 64 or 128;   IS_BF16: 1, or 0 for f16;   CAUSAL: 0 or 1;
//   Q_ROW, K_ROW, V_ROW, O_ROW, G_ROW: bytes from one row of an operand (G: the gradient of the result) to the next;
// and, of the kernel that is wanted, FORWARD_, QUERY_ or KEY_ with
//   GROUPS of four warps, each with 64 rows of its own;   STEP, the rows that pass by at once;
//   STAGES, tiles of these in shared memory;              BLOCKS that share a processor.
// QUERY_OVERLAPS: whether there are registers to let sums run on while the next scores are computed.
// KEY_SPLITS: into how many blocks the heads that share a key are divided. Beyond one, sums are left as f32 for the
// kernel that adds them up, which is PARTS_; PARTS_COUNT is then as many.
//
// Many small blocks are best: a processor has four groups (or three, for keys), each at another place of its work.
//
// Tiles are columns of 64 numbers: rows of 128 bytes in which 16-byte chunk i of row r stands at place i ^ (r % 8), as
// the matrix instructions read them. A tile is read along its rows, or across them as the right operand of a product.
//
// Scores are powers of two. Sums belong to one group of warps, which adds up in a fixed order.
//
// A weight of 0 does not hide what is infinite or NaN in a row that is multiplied with it. Only tiles on the diagonal
// have such weights; where a result is not finite it is computed again, slowly, from what its row sees.

typedef unsigned int u32;
typedef unsigned long long u64;

#if IS_BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

namespace {

constexpr int kGroupRows = 64;
constexpr int kGroupThreads = 128;
constexpr float kLog2e = 1.44269504088896340736f;
[[maybe_unused]] constexpr float kLn2 = 0.69314718055994530942f;
constexpr int kChunks = HEAD / 8;  // of 16 bytes in a row
constexpr int kHalves = HEAD / 64;

[[maybe_unused]] __device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ u32 pack(float low, float high) {
  u32 word;
  asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

__device__ __forceinline__ float low_of(u32 word) {
#if IS_BF16
  return __int_as_float(static_cast<int>(word << 16));
#else
  float x;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(x) : "r"(word));
  return x;
#endif
}

__device__ __forceinline__ float high_of(u32 word) {
#if IS_BF16
  return __int_as_float(static_cast<int>(word & 0xffff0000u));
#else
  float x;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(x) : "r"(word));
  return x;
#endif
}

// ---- products ----

// Registers that a product reads or writes: nothing moves them across a wait.
template <int N>
__device__ __forceinline__ void pin(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
template <int N>
__device__ __forceinline__ void pin(u32 (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(x[i])::"memory");
}

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until so many groups of products are left.
template <int Left>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}

// A tile as the instructions take it: where it begins, the strides of its 8-row groups (above) and of its halves. All
// places are small enough for the lower half of the descriptor.
struct Tile {
  u32 low;
  __device__ __forceinline__ Tile(u32 address, u32 half_bytes) : low(address / 16 + (half_bytes / 16 << 16)) {}
  __device__ __forceinline__ u64 on(u32 bytes) const {
    return (u64{1} << 62) | (u64{1024 / 16} << 32) | (low + bytes / 16);
  }
};

#define NUMBERS_32                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NUMBERS_64                                                                     \
  NUMBERS_32                                                                           \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_8(d, i)                                                                                          \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)

// sums (64 x N) = or += left (64 x 16) * right (16 x N), both along their rows.
template <int N>
__device__ __forceinline__ void multiply(float (&sums)[N / 2], u64 left, u64 right, int adds) {
  if constexpr (N == 64)
    asm volatile(
        "{.reg .pred adds; setp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" NUMBERS_32 "}, %32, %33, adds, 1, 1, 0, 0;}"
        : SUMS_32(sums, 0)
        : "l"(left), "l"(right), "r"(adds));
  else
    asm volatile(
        "{.reg .pred adds; setp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" NUMBERS_64 "}, %64, %65, adds, 1, 1, 0, 0;}"
        : SUMS_32(sums, 0), SUMS_32(sums, 32)
        : "l"(left), "l"(right), "r"(adds));
}
// sums (64 x N) += left (64 x 16), in registers, * right (16 x N), across its rows.
template <int N>
__device__ __forceinline__ void multiply(float (&sums)[N / 2], u32 a, u32 b, u32 c, u32 d, u64 right) {
  if constexpr (N == 64)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" NUMBERS_32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : SUMS_32(sums, 0)
                 : "r"(a), "r"(b), "r"(c), "r"(d), "l"(right));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" NUMBERS_64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : SUMS_32(sums, 0), SUMS_32(sums, 32)
                 : "r"(a), "r"(b), "r"(c), "r"(d), "l"(right));
}

// products (64 x N) = left rows times right rows, turned.
template <int N>
__device__ __forceinline__ void multiply_rows(float (&products)[N / 2], Tile left, u32 left_half, Tile right,
                                              u32 right_half) {
#pragma unroll
  for (int step = 0; step < HEAD / 16; ++step) {
    const u32 half = step / 4, inside = step % 4 * 32;
    multiply<N>(products, left.on(half * left_half + inside), right.on(half * right_half + inside), step > 0);
  }
}
// sums (64 x HEAD) += weights (64 x N) * right (N x HEAD).
template <int N>
__device__ __forceinline__ void add_weighted(float (&sums)[HEAD / 2], const u32 (&weights)[N / 4], Tile right) {
#pragma unroll
  for (int step = 0; step < N / 16; ++step)
    multiply<HEAD>(sums, weights[4 * step], weights[4 * step + 1], weights[4 * step + 2], weights[4 * step + 3],
                   right.on(step * 16 * 128));
}
template <int N>
__device__ __forceinline__ void pack_all(const float (&x)[N / 2], u32 (&packed)[N / 4]) {
#pragma unroll
  for (int i = 0; i < N / 4; ++i) packed[i] = pack(x[2 * i], x[2 * i + 1]);
}

// ---- memory ----

__device__ __forceinline__ void copy_16(u32 to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_16_or_0(u32 to, const char* from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until so many groups of copies of this thread are left; matrix instructions see what has come.
template <int Left>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(Left) : "memory");
}
template <int Threads>
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync 0, %0;" ::"n"(Threads) : "memory");
}
// Which group of warps a thread is in; the same for all of a warp, and the compiler sees it.
template <int Threads>
__device__ __forceinline__ int group_of() {
  return Threads == kGroupThreads ? 0 : __shfl_sync(~0u, threadIdx.x / kGroupThreads, 0);
}
// The four warps of a group.
__device__ __forceinline__ void meet_group(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

__device__ __forceinline__ u32 chunk_place(int row, int chunk, u32 half_bytes) {
  return (chunk / 8) * half_bytes + row * 128 + ((chunk % 8) ^ (row % 8)) * 16;
}

// Rows that a block copies, as one of its threads sees them: it takes one chunk of every so many rows.
template <int Threads, int RowBytes>
struct Rows {
  static constexpr int kAtOnce = Threads / kChunks;
  static_assert(kAtOnce % 8 == 0, "chunks of a thread stand at the same place in their rows");
  const char* from;

  __device__ __forceinline__ explicit Rows(const char* rows)
      : from(rows + static_cast<long long>(threadIdx.x / kChunks) * RowBytes + threadIdx.x % kChunks * 16) {}
  __device__ __forceinline__ void move(int rows) { from += static_cast<long long>(rows) * RowBytes; }

  // Begins to copy rows to a tile.
  template <int Count>
  __device__ __forceinline__ void fetch(u32 tile) const {
    static_assert(Count % kAtOnce == 0, "each thread copies as much as the others");
    const u32 to = tile + chunk_place(threadIdx.x / kChunks, threadIdx.x % kChunks, Count * 128);
#pragma unroll
    for (int i = 0; i < Count; i += kAtOnce) copy_16(to + i * 128, from + static_cast<long long>(i) * RowBytes);
  }
  // Rows from `rows_left` on become 0.
  template <int Count>
  __device__ __forceinline__ void fetch(u32 tile, int rows_left) const {
    const int first = threadIdx.x / kChunks;
    const u32 to = tile + chunk_place(first, threadIdx.x % kChunks, Count * 128);
#pragma unroll
    for (int i = 0; i < Count; i += kAtOnce)
      copy_16_or_0(to + i * 128, from + static_cast<long long>(i) * RowBytes, first + i < rows_left);
  }
};

// The next one of the tiles that take turns.
template <u32 Bytes, int Count>
__device__ __forceinline__ u32 after(u32 tile) {
  return tile == (Count - 1) * Bytes ? 0 : tile + Bytes;
}

// Writes the 16 rows of a warp, in the order of a product, through its own rows of a tile.
__device__ __forceinline__ void write_rows(const float (&x)[HEAD / 2], char* tile_rows, u32 half_bytes, char* to,
                                           long long row_bytes, int rows_left) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < HEAD / 8; ++j) {
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      const int row = lane / 4 + 8 * lower;
      *reinterpret_cast<u32*>(tile_rows + chunk_place(row, j, half_bytes) + lane % 4 * 4) =
          pack(x[4 * j + 2 * lower], x[4 * j + 2 * lower + 1]);
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 16 * kChunks / 32; ++i) {
    const int row = (lane + i * 32) / kChunks, chunk = (lane + i * 32) % kChunks;
    const uint4 value = *reinterpret_cast<const uint4*>(tile_rows + chunk_place(row, chunk, half_bytes));
    if (row < rows_left) *reinterpret_cast<uint4*>(to + row * row_bytes + chunk * 16) = value;
  }
  __syncwarp();
}

// The same as they are, in f32 and without shared memory.
[[maybe_unused]] __device__ __forceinline__ void write_sums(const float (&x)[HEAD / 2], char* to, long long row_bytes,
                                                            int rows_left) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const int row = lane / 4 + 8 * lower;
    if (row >= rows_left) continue;
    char* const line = to + row * row_bytes + lane % 4 * 8;
#pragma unroll
    for (int j = 0; j < HEAD / 8; ++j)
      *reinterpret_cast<float2*>(line + j * 32) = make_float2(x[4 * j + 2 * lower], x[4 * j + 2 * lower + 1]);
  }
  __syncwarp();
}

// ---- single rows, for what is not finite ----

constexpr int kOwn = HEAD / 32;  // numbers of a row that a thread of a warp holds

__device__ __forceinline__ void load_own(float (&x)[kOwn], const char* row) {
  const u32* words = reinterpret_cast<const u32*>(row) + threadIdx.x % 32 * (kOwn / 2);
#pragma unroll
  for (int i = 0; i < kOwn / 2; ++i) {
    x[2 * i] = low_of(words[i]);
    x[2 * i + 1] = high_of(words[i]);
  }
}
__device__ __forceinline__ void store_own(const float (&x)[kOwn], char* row) {
  u32* words = reinterpret_cast<u32*>(row) + threadIdx.x % 32 * (kOwn / 2);
#pragma unroll
  for (int i = 0; i < kOwn / 2; ++i) words[i] = pack(x[2 * i], x[2 * i + 1]);
}
[[maybe_unused]] __device__ __forceinline__ void store_own_sums(const float (&x)[kOwn], char* row) {
  float* const numbers = reinterpret_cast<float*>(row) + threadIdx.x % 32 * kOwn;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) numbers[i] = x[i];
}
__device__ __forceinline__ float dot_own(const float (&x)[kOwn], const float (&y)[kOwn]) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) sum = __fmaf_rn(x[i], y[i], sum);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  return sum;
}
// Which of a warp's 16 rows are not finite.
template <int N>
__device__ __forceinline__ u32 rows_not_finite(const float (&x)[N]) {
  float upper = 0, lower = 0;
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    upper = __fmaf_rn(x[i], 0.0f, __fmaf_rn(x[i + 1], 0.0f, upper));
    lower = __fmaf_rn(x[i + 2], 0.0f, __fmaf_rn(x[i + 3], 0.0f, lower));
  }
  const u32 above = __ballot_sync(~0u, upper != 0.0f), below = __ballot_sync(~0u, lower != 0.0f);
  u32 rows = 0;
  if ((above | below) == 0) return 0;
  for (int row = 0; row < 8; ++row)
    rows |= ((above >> (4 * row) & 15) ? 1u << row : 0) | ((below >> (4 * row) & 15) ? 256u << row : 0);
  return rows;
}

// ---- places ----

// Blocks go through some lines (heads of a batch) together, the tiles with most work first: so what they read stays in
// the cache. The grid is lines together, tiles, and as many of these as there are; the last lines may not exist.
__device__ __forceinline__ u32 line_of_block() { return blockIdx.z * gridDim.x + blockIdx.x; }

__device__ __forceinline__ char* shared_memory() {
  extern __shared__ __align__(1024) char memory[];
  return memory;
}
__device__ __forceinline__ u32 address_of(const char* shared) {
  return static_cast<u32>(__cvta_generic_to_shared(shared));
}

// What does not see a key gets this in place of its score; `first` is the first key of the tile, `end` the first key
// that the upper one of the thread's rows, or the lower one, does not see.
template <int N>
__device__ __forceinline__ void replace_hidden(float (&x)[N / 2], float by, int first, int end_upper, int end_lower) {
  const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const int key = column + i / 4 * 8 + i % 2;
    if (key >= (i % 4 < 2 ? end_upper : end_lower)) x[i] = by;
  }
}

}  // namespace

// ---- forward ----

#ifdef FORWARD_GROUPS

namespace {

// Scores become weights. A row counts from a score that was the highest when it was taken; it takes another one when
// weights would grow beyond 2^8, and says by how much what was summed before is to shrink.
constexpr float kMostGrowth = 8;

template <int N>
__device__ __forceinline__ bool soften(float (&s)[N / 2], float factor, float (&top)[2], float (&sum)[2],
                                       float (&shrink)[2]) {
  float highest[2] = {s[0], s[2]};
#pragma unroll
  for (int i = 0; i < N / 2; ++i) highest[i / 2 % 2] = fmaxf(highest[i / 2 % 2], s[i]);
  float base[2];
  bool grows = false;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    highest[row] = fmaxf(highest[row], __shfl_xor_sync(~0u, highest[row], 1));
    highest[row] = fmaxf(highest[row], __shfl_xor_sync(~0u, highest[row], 2)) * factor;
    const bool grow = highest[row] > top[row] + kMostGrowth;
    shrink[row] = grow ? power_of_two(top[row] - highest[row]) : 1.0f;
    top[row] = grow ? highest[row] : top[row];
    sum[row] *= shrink[row];
    // A row that has seen only -inf counts from 0, so that it stays empty instead of becoming NaN.
    base[row] = top[row] == -infinity() ? 0.0f : -top[row];
    grows = grows || grow;
  }
  float more[2][2] = {{0, 0}, {0, 0}};
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const int row = i / 2 % 2;
    s[i] = power_of_two(__fmaf_rn(s[i], factor, base[row]));
    more[row][i % 2] += s[i];
  }
#pragma unroll
  for (int row = 0; row < 2; ++row) sum[row] += more[row][0] + more[row][1];
  return __any_sync(~0u, grows);
}

__device__ __forceinline__ void shrink_all(float (&x)[HEAD / 2], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) x[i] *= shrink[i / 2 % 2];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(FORWARD_GROUPS * 128, FORWARD_BLOCKS)
    attention_forward(const char* q_memory, u64 q_at, const char* k_memory, u64 k_at, const char* v_memory, u64 v_at,
                      char* out_memory, u64 out_at, char* lse_memory, u64 lse_at, u64 heads, u64 heads_per_group,
                      u64 queries_wide, u64 keys_wide, u64 q_batch, u64 q_head, u64 k_batch, u64 k_head, u64 v_batch,
                      u64 v_head, u64 scale_bits, u64 lines, const int* fault, u32 guards) {
  if (guards != 0 && fault[0] != 0) return;
  constexpr int kThreads = FORWARD_GROUPS * kGroupThreads, kRows = FORWARD_GROUPS * kGroupRows, kStep = FORWARD_STEP,
                kStages = FORWARD_STAGES, kAhead = kStages - 2;
  constexpr u32 kRowHalf = kRows * 128, kStepHalf = kStep * 128, kStepBytes = kStepHalf * kHalves;
  const int group = group_of<kThreads>(), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int queries = static_cast<int>(queries_wide), keys = static_cast<int>(keys_wide);
  const u32 line = line_of_block(), tile = CAUSAL ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  if (line >= lines) return;
  const u32 batch = line / static_cast<u32>(heads), head = line % static_cast<u32>(heads),
            shared_head = head / static_cast<u32>(heads_per_group);
  const int first_query = static_cast<int>(tile) * kRows, own_first = first_query + group * kGroupRows;
  const char* q = q_memory + q_at + batch * q_batch + head * q_head;
  const char* k = k_memory + k_at + batch * k_batch + shared_head * k_head;
  const char* v = v_memory + v_at + batch * v_batch + shared_head * v_head;
  const float scale = __int_as_float(static_cast<int>(scale_bits)), factor = scale * kLog2e;

  char* const shared = shared_memory();
  const u32 q_tile = address_of(shared), k_tiles = q_tile + kRowHalf * kHalves,
            v_tiles = k_tiles + kStages * kStepBytes;

  // Keys pass by from the last one on: so only the first tile that a group looks at has keys that it does not see.
  const int end = CAUSAL ? min(keys, first_query + kRows) : keys;
  const int own_end = CAUSAL ? min(keys, own_first + kGroupRows) : keys;
  const int steps = (end + kStep - 1) / kStep, skipped = steps - (own_end + kStep - 1) / kStep;
  const int last_key = (steps - 1) * kStep;
  Rows<kThreads, K_ROW> next_keys(k + static_cast<long long>(last_key) * K_ROW);
  Rows<kThreads, V_ROW> next_values(v + static_cast<long long>(last_key) * V_ROW);
  u32 next_at = kStepBytes;
  const auto fetch_step = [&](int i) {
    if (i < steps) {
      next_keys.move(-kStep);
      next_values.move(-kStep);
      next_keys.template fetch<kStep>(k_tiles + next_at);
      next_values.template fetch<kStep>(v_tiles + next_at);
      next_at = after<kStepBytes, kStages>(next_at);
    }
    commit_copies();
  };
  // Behind it everybody has the next step, and nobody needs the one before the last any more.
  const auto begin_step = [&] {
    wait_for_copies<kAhead - 1>();
    meet<kThreads>();
  };
  Rows<kThreads, Q_ROW>(q + static_cast<long long>(first_query) * Q_ROW)
      .template fetch<kRows>(q_tile, queries - first_query);
  next_keys.template fetch<kStep>(k_tiles, keys - last_key);
  next_values.template fetch<kStep>(v_tiles, keys - last_key);
  commit_copies();
#pragma unroll
  for (int i = 1; i < kAhead; ++i) fetch_step(i);

  const Tile own_q = Tile(q_tile + group * kGroupRows * 128, kRowHalf);
  float sums[HEAD / 2], s[kStep / 2], top[2] = {-infinity(), -infinity()}, total[2] = {0, 0}, shrink[2];
  u32 weights[kStep / 4];
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) sums[i] = 0;

  u32 at = 0;
  for (int i = 0; i < skipped; ++i) {
    begin_step();
    fetch_step(i + kAhead);
    at = after<kStepBytes, kStages>(at);
  }
  begin_step();
  begin_products();
  multiply_rows<kStep>(s, own_q, kRowHalf, Tile(k_tiles + at, kStepHalf), kStepHalf);
  commit_products();
  fetch_step(skipped + kAhead);
  wait_for_products<0>();
  pin(s);
  const int own_row = own_first + warp * 16 + lane / 4;
  {
    const int first = (steps - 1 - skipped) * kStep;
    if (first + kStep > (CAUSAL ? min(keys, own_first + 1) : keys))
      replace_hidden<kStep>(s, -infinity(), first, CAUSAL ? min(keys, own_row + 1) : keys,
                            CAUSAL ? min(keys, own_row + 9) : keys);
  }
  bool shrinks = soften<kStep>(s, factor, top, total, shrink);
  // Weights are added up while the next scores become weights. These are computed at the end of the loop and sums are
  // waited for at its beginning: within one piece of code the compiler would wait first.
  const auto finish_weights = [&] {
    wait_for_products<0>();
    pin(sums);
    pin(weights);
    if (shrinks) shrink_all(sums, shrink);
    pack_all<kStep>(s, weights);
    pin(sums);
    pin(weights);
  };
  for (int i = skipped + 1; i < steps; ++i) {
    finish_weights();
    begin_step();
    begin_products();
    const u32 next = after<kStepBytes, kStages>(at);
    multiply_rows<kStep>(s, own_q, kRowHalf, Tile(k_tiles + next, kStepHalf), kStepHalf);
    commit_products();
    add_weighted<kStep>(sums, weights, Tile(v_tiles + at, kStepHalf));
    at = next;
    commit_products();
    fetch_step(i + kAhead);
    wait_for_products<1>();
    pin(s);
    shrinks = soften<kStep>(s, factor, top, total, shrink);
    pin(s);
  }
  finish_weights();
  begin_products();
  add_weighted<kStep>(sums, weights, Tile(v_tiles + at, kStepHalf));
  commit_products();
  wait_for_products<0>();
  pin(sums);

  // Sums become shares. A row that sees nothing has a total of 0, gives 0, and so does its logarithm.
  float lse[2];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    total[row] += __shfl_xor_sync(~0u, total[row], 1);
    total[row] += __shfl_xor_sync(~0u, total[row], 2);
    const bool is_empty = total[row] == 0.0f;
    shrink[row] = is_empty ? 0.0f : 1.0f / total[row];
    lse[row] = is_empty ? 0.0f : top[row] * kLn2 + logf(total[row]);
  }
  shrink_all(sums, shrink);
  float* const lse_line =
      reinterpret_cast<float*>(lse_memory + lse_at) + static_cast<u64>(line) * static_cast<u64>(queries);
  if (lane % 4 == 0) {
    if (own_row < queries) lse_line[own_row] = lse[0];
    if (own_row + 8 < queries) lse_line[own_row + 8] = lse[1];
  }
  const long long out_row = static_cast<long long>(heads) * HEAD * 2;
  const int warp_first = own_first + warp * 16;
  char* const out = out_memory + out_at + static_cast<long long>(batch) * queries * out_row + head * (HEAD * 2);
  meet_group(group);  // everybody has read the queries
  write_rows(sums, shared + (group * kGroupRows + warp * 16) * 128, kRowHalf, out + warp_first * out_row, out_row,
             queries - warp_first);
  if (!CAUSAL) return;

  const u32 bad_rows = rows_not_finite(sums);
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = warp_first + i;
    if (!(bad_rows >> i & 1) || row >= queries) continue;
    float own_q_row[kOwn], own[kOwn], kept[kOwn] = {}, highest = -infinity(), sum = 0;
    load_own(own_q_row, q + static_cast<long long>(row) * Q_ROW);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) own_q_row[j] *= scale;
#pragma unroll 1
    for (int key = 0; key < min(keys, row + 1); ++key) {
      load_own(own, k + static_cast<long long>(key) * K_ROW);
      const float score = dot_own(own_q_row, own) * kLog2e;
      load_own(own, v + static_cast<long long>(key) * V_ROW);
      const float before = highest;
      highest = fmaxf(highest, score);
      const float base = highest == -infinity() ? 0.0f : highest;
      const float less = power_of_two(before - base), weight = power_of_two(score - base);
      sum = __fmaf_rn(sum, less, weight);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) kept[j] = __fmaf_rn(weight, own[j], kept[j] * less);
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) kept[j] = sum == 0.0f ? 0.0f : kept[j] / sum;
    store_own(kept, out + row * out_row);
    if (lane == 0) lse_line[row] = sum == 0.0f ? 0.0f : highest * kLn2 + logf(sum);
  }
}

#endif

// ---- gradients of queries ----

#ifdef QUERY_GROUPS

// Leaves behind what the gradients of keys need of each query: the logarithm of its sum, as a power of two, and the sum
// of its result times its gradient; rows beyond the last have weights of 0.
extern "C" __global__ void __launch_bounds__(QUERY_GROUPS * 128, QUERY_BLOCKS)
    attention_query_gradients(const char* q_memory, u64 q_at, const char* k_memory, u64 k_at, const char* v_memory,
                              u64 v_at, const char* o_memory, u64 o_at, const char* lse_memory, u64 lse_at,
                              const char* g_memory, u64 g_at, char* dq_memory, u64 dq_at, char* rows_memory,
                              u64 rows_at, u64 heads, u64 heads_per_group, u64 queries_wide, u64 keys_wide, u64 q_batch,
                              u64 q_head, u64 k_batch, u64 k_head, u64 v_batch, u64 v_head, u64 o_batch, u64 o_head,
                              u64 g_batch, u64 g_head, u64 dq_batch, u64 dq_row, u64 scale_bits, u64 lines, u64 padded,
                              const int* fault, u32 guards) {
  if (guards != 0 && fault[0] != 0) return;
  constexpr int kThreads = QUERY_GROUPS * kGroupThreads, kRows = QUERY_GROUPS * kGroupRows, kStep = QUERY_STEP,
                kStages = QUERY_STAGES, kAhead = kStages - 2;
  constexpr u32 kRowHalf = kRows * 128, kStepHalf = kStep * 128, kStepBytes = kStepHalf * kHalves;
  const int group = group_of<kThreads>(), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int queries = static_cast<int>(queries_wide), keys = static_cast<int>(keys_wide);
  const u32 line = line_of_block(), tile = CAUSAL ? gridDim.y - 1 - blockIdx.y : blockIdx.y;
  if (line >= lines) return;
  const u32 batch = line / static_cast<u32>(heads), head = line % static_cast<u32>(heads),
            shared_head = head / static_cast<u32>(heads_per_group);
  const int first_query = static_cast<int>(tile) * kRows, own_first = first_query + group * kGroupRows,
            warp_first = own_first + warp * 16;
  const char* q = q_memory + q_at + batch * q_batch + head * q_head;
  const char* k = k_memory + k_at + batch * k_batch + shared_head * k_head;
  const char* v = v_memory + v_at + batch * v_batch + shared_head * v_head;
  const char* o = o_memory + o_at + batch * o_batch + head * o_head;
  const char* g = g_memory + g_at + batch * g_batch + head * g_head;
  const float scale = __int_as_float(static_cast<int>(scale_bits)), factor = scale * kLog2e;

  char* const shared = shared_memory();
  const u32 q_tile = address_of(shared), g_tile = q_tile + kRowHalf * kHalves, k_tiles = g_tile + kRowHalf * kHalves,
            v_tiles = k_tiles + kStages * kStepBytes;  // values are not needed for as long as keys
  const int end = CAUSAL ? min(keys, first_query + kRows) : keys;
  const int own_end = CAUSAL ? min(keys, own_first + kGroupRows) : keys;
  const int steps = (end + kStep - 1) / kStep, skipped = steps - (own_end + kStep - 1) / kStep;
  const int last_key = (steps - 1) * kStep;
  Rows<kThreads, K_ROW> next_keys(k + static_cast<long long>(last_key) * K_ROW);
  Rows<kThreads, V_ROW> next_values(v + static_cast<long long>(last_key) * V_ROW);
  u32 next_at = kStepBytes, next_values_at = kStepBytes;
  const auto fetch_step = [&](int i) {
    if (i < steps) {
      next_keys.move(-kStep);
      next_values.move(-kStep);
      next_keys.template fetch<kStep>(k_tiles + next_at);
      next_values.template fetch<kStep>(v_tiles + next_values_at);
      next_at = after<kStepBytes, kStages>(next_at);
      next_values_at = after<kStepBytes, kStages - 1>(next_values_at);
    }
    commit_copies();
  };
  const auto begin_step = [&] {
    wait_for_copies<kAhead - 1>();
    meet<kThreads>();
  };
  Rows<kThreads, Q_ROW>(q + static_cast<long long>(first_query) * Q_ROW)
      .template fetch<kRows>(q_tile, queries - first_query);
  Rows<kThreads, G_ROW>(g + static_cast<long long>(first_query) * G_ROW)
      .template fetch<kRows>(g_tile, queries - first_query);
  next_keys.template fetch<kStep>(k_tiles, keys - last_key);
  next_values.template fetch<kStep>(v_tiles, keys - last_key);
  commit_copies();
#pragma unroll
  for (int i = 1; i < kAhead; ++i) fetch_step(i);

  // What each of the thread's rows needs, while the first tiles are on their way.
  float base[2], delta[2];
  {
    float* const bases = reinterpret_cast<float*>(rows_memory + rows_at) + static_cast<u64>(line) * padded;
    float* const deltas = bases + lines * padded;
    const float* lse =
        reinterpret_cast<const float*>(lse_memory + lse_at) + static_cast<u64>(line) * static_cast<u64>(queries);
    const int own_rows[2] = {warp_first + lane / 4, warp_first + lane / 4 + 8};
#pragma unroll
    for (int i = 0; i < 2; ++i) base[i] = own_rows[i] < queries ? lse[own_rows[i]] * kLog2e : infinity();
    delta[0] = delta[1] = 0;
    constexpr int kRowsAtOnce = 32 / kChunks;
#pragma unroll
    for (int i = 0; i < 16 / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + lane / kChunks;
      float sum = 0;
      if (warp_first + row < queries) {
        const uint4 a =
            *reinterpret_cast<const uint4*>(o + static_cast<long long>(warp_first + row) * O_ROW + lane % kChunks * 16);
        const uint4 b =
            *reinterpret_cast<const uint4*>(g + static_cast<long long>(warp_first + row) * G_ROW + lane % kChunks * 16);
        const u32 left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sum = __fmaf_rn(low_of(left[j]), low_of(right[j]), sum);
          sum = __fmaf_rn(high_of(left[j]), high_of(right[j]), sum);
        }
      }
#pragma unroll
      for (int distance = kChunks / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
#pragma unroll
      for (int j = 0; j < 2; ++j) {  // row `row` is now known to the threads that hold a chunk of it
        const int wanted = lane / 4 + 8 * j, inside = wanted - i * kRowsAtOnce;
        const float found = __shfl_sync(~0u, sum, inside * kChunks & 31);
        if (inside >= 0 && inside < kRowsAtOnce) delta[j] = found;
      }
    }
    if (lane % 4 == 0) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        bases[own_rows[i]] = base[i];
        deltas[own_rows[i]] = delta[i];
      }
    }
  }

  const Tile own_q = Tile(q_tile + group * kGroupRows * 128, kRowHalf),
             own_g = Tile(g_tile + group * kGroupRows * 128, kRowHalf);
  float sums[HEAD / 2], s[kStep / 2], d[kStep / 2];
  u32 packed[kStep / 4];
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) sums[i] = 0;
  u32 at = 0, values_at = 0;
  for (int i = 0; i < skipped; ++i) {
    begin_step();
    fetch_step(i + kAhead);
    at = after<kStepBytes, kStages>(at);
    values_at = after<kStepBytes, kStages - 1>(values_at);
  }
  for (int i = skipped; i < steps; ++i) {
    begin_step();
    if (!QUERY_OVERLAPS) {
      fetch_step(i + kAhead);
      wait_for_products<0>();
      pin(sums);
      pin(packed);
    }
    const Tile some_keys(k_tiles + at, kStepHalf), some_values(v_tiles + values_at, kStepHalf);
    at = after<kStepBytes, kStages>(at);
    values_at = after<kStepBytes, kStages - 1>(values_at);
    begin_products();
    multiply_rows<kStep>(s, own_q, kRowHalf, some_keys, kStepHalf);
    commit_products();
    multiply_rows<kStep>(d, own_g, kRowHalf, some_values, kStepHalf);
    commit_products();
    if (QUERY_OVERLAPS) fetch_step(i + kAhead);
    wait_for_products<1>();
    pin(s);
    if (QUERY_OVERLAPS) pin(packed);
#pragma unroll
    for (int j = 0; j < kStep / 2; ++j) s[j] = power_of_two(__fmaf_rn(s[j], factor, -base[j / 2 % 2]));
    if (i == skipped) {
      const int first = (steps - 1 - i) * kStep, own_row = warp_first + lane / 4;
      if (first + kStep > (CAUSAL ? min(keys, own_first + 1) : keys))
        replace_hidden<kStep>(s, 0.0f, first, CAUSAL ? min(keys, own_row + 1) : keys,
                              CAUSAL ? min(keys, own_row + 9) : keys);
    }
    pin(s);
    wait_for_products<0>();
    pin(d);
    if (QUERY_OVERLAPS) pin(sums);
#pragma unroll
    for (int j = 0; j < kStep / 2; ++j) s[j] *= d[j] - delta[j / 2 % 2];
    pack_all<kStep>(s, packed);
    pin(packed);
    begin_products();
    add_weighted<kStep>(sums, packed, some_keys);
    commit_products();
  }
  wait_for_products<0>();
  pin(sums);
  pin(packed);

  char* const dq = dq_memory + dq_at + batch * dq_batch + head * (HEAD * 2);
  // A sum is never -0.
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) sums[i] = sums[i] * scale + 0.0f;
  meet_group(group);
  write_rows(sums, shared + (group * kGroupRows + warp * 16) * 128, kRowHalf,
             dq + warp_first * static_cast<long long>(dq_row), static_cast<long long>(dq_row), queries - warp_first);
  if (!CAUSAL) return;

  const u32 bad_rows = rows_not_finite(sums);
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = warp_first + i;
    if (!(bad_rows >> i & 1) || row >= queries) continue;
    const float row_base = __shfl_sync(~0u, i < 8 ? base[0] : base[1], i % 8 * 4),
                row_delta = __shfl_sync(~0u, i < 8 ? delta[0] : delta[1], i % 8 * 4);
    float own_q_row[kOwn], own_g_row[kOwn], own[kOwn], kept[kOwn] = {};
    load_own(own_q_row, q + static_cast<long long>(row) * Q_ROW);
    load_own(own_g_row, g + static_cast<long long>(row) * G_ROW);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) own_q_row[j] *= scale;
#pragma unroll 1
    for (int key = 0; key < min(keys, row + 1); ++key) {
      load_own(own, v + static_cast<long long>(key) * V_ROW);
      const float change = dot_own(own_g_row, own) - row_delta;
      load_own(own, k + static_cast<long long>(key) * K_ROW);
      const float weight = power_of_two(dot_own(own_q_row, own) * kLog2e - row_base) * change;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) kept[j] = __fmaf_rn(weight, own[j], kept[j]);
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) kept[j] = kept[j] * scale + 0.0f;
    store_own(kept, dq + row * static_cast<long long>(dq_row));
  }
}

#endif

// ---- gradients of keys and values ----

#ifdef KEY_GROUPS

// Rows are keys; the queries of all heads that share them pass by, or those of one of KEY_SPLITS parts of these heads.
extern "C" __global__ void __launch_bounds__(KEY_GROUPS * 128, KEY_BLOCKS)
    attention_key_gradients(const char* q_memory, u64 q_at, const char* k_memory, u64 k_at, const char* v_memory,
                            u64 v_at, const char* g_memory, u64 g_at, const char* rows_memory, u64 rows_at,
                            char* dk_memory, u64 dk_at, char* dv_memory, u64 dv_at, u64 heads, u64 heads_per_group,
                            u64 queries_wide, u64 keys_wide, u64 q_batch, u64 q_head, u64 k_batch, u64 k_head,
                            u64 v_batch, u64 v_head, u64 g_batch, u64 g_head, u64 dk_batch, u64 dk_row, u64 dv_batch,
                            u64 dv_row, u64 scale_bits, u64 lines, u64 query_lines, u64 padded, u64 part_bytes,
                            const int* fault, u32 guards) {
  if (guards != 0 && fault[0] != 0) return;
  constexpr int kThreads = KEY_GROUPS * kGroupThreads, kRows = KEY_GROUPS * kGroupRows, kStep = KEY_STEP,
                kStages = KEY_STAGES, kAhead = kStages - 2;
  constexpr u32 kRowHalf = kRows * 128, kStepHalf = kStep * 128, kStepBytes = kStepHalf * kHalves;
  const int group = group_of<kThreads>(), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int queries = static_cast<int>(queries_wide), keys = static_cast<int>(keys_wide),
            sharers = static_cast<int>(heads_per_group) / KEY_SPLITS;
  const u32 line = line_of_block();
  if (line >= lines) return;
  const u32 shared_heads = static_cast<u32>(heads) / static_cast<u32>(heads_per_group), split = line % KEY_SPLITS,
            batch = line / KEY_SPLITS / shared_heads, shared_head = line / KEY_SPLITS % shared_heads,
            first_head = (shared_head * KEY_SPLITS + split) * sharers;
  const int first_key = static_cast<int>(blockIdx.y) * kRows, own_first = first_key + group * kGroupRows,
            warp_first = own_first + warp * 16;
  const char* k = k_memory + k_at + batch * k_batch + shared_head * k_head;
  const char* v = v_memory + v_at + batch * v_batch + shared_head * v_head;
  const char* const all_q = q_memory + q_at + batch * q_batch + static_cast<u64>(first_head) * q_head;
  const char* const all_g = g_memory + g_at + batch * g_batch + static_cast<u64>(first_head) * g_head;
  const float* const all_bases =
      reinterpret_cast<const float*>(rows_memory + rows_at) + (static_cast<u64>(batch) * heads + first_head) * padded;
  const u64 deltas_on = query_lines * padded;  // from a base to its delta
  const float scale = __int_as_float(static_cast<int>(scale_bits)), factor = scale * kLog2e;

  char* const shared = shared_memory();
  constexpr u32 kRowsBytes = kRowHalf * kHalves,
                kStageBytes = 2 * kStepBytes + 1024;  // with bases, then deltas, of its rows
  static_assert(2 * kStep * 4 <= 1024);
  const u32 k_tile = address_of(shared), v_tile = k_tile + kRowsBytes, stages = v_tile + kRowsBytes;
  const char* const row_values = shared + 2 * kRowsBytes + 2 * kStepBytes;

  const int first_step = CAUSAL ? first_key / kStep : 0,
            steps_of_head = max(0, (queries + kStep - 1) / kStep - first_step), steps = steps_of_head * sharers;
  // What comes next: the step of a head, its rows, and of the first threads the bases and then the deltas.
  int next = 0;
  Rows<kThreads, Q_ROW> next_queries(all_q + static_cast<long long>(first_step * kStep) * Q_ROW);
  Rows<kThreads, G_ROW> next_gradients(all_g + static_cast<long long>(first_step * kStep) * G_ROW);
  const char* next_values = reinterpret_cast<const char*>(all_bases + first_step * kStep) +
                            threadIdx.x / (kStep / 4) * deltas_on * 4 + threadIdx.x % (kStep / 4) * 16;
  u32 next_at = 0;
  const auto fetch_step = [&](int i) {
    if (i < steps) {
      const int first = (first_step + next) * kStep;
      if (first + kStep <= queries) {
        next_queries.template fetch<kStep>(stages + next_at);
        next_gradients.template fetch<kStep>(stages + next_at + kStepBytes);
      } else {
        next_queries.template fetch<kStep>(stages + next_at, queries - first);
        next_gradients.template fetch<kStep>(stages + next_at + kStepBytes, queries - first);
      }
      if (threadIdx.x < kStep / 2) copy_16(stages + next_at + 2 * kStepBytes + threadIdx.x * 16, next_values);
      next_values += kStep * 4;
      next_at = after<kStageBytes, kStages>(next_at);
      next_queries.move(kStep);
      next_gradients.move(kStep);
      if (++next == steps_of_head) {
        next = 0;
        next_queries.move(-steps_of_head * kStep);
        next_gradients.move(-steps_of_head * kStep);
        next_queries.from += q_head;
        next_gradients.from += g_head;
        next_values += (static_cast<long long>(padded) - steps_of_head * kStep) * 4;
      }
    }
    commit_copies();
  };
  const auto begin_step = [&] {
    wait_for_copies<kAhead - 1>();
    meet<kThreads>();
  };
  Rows<kThreads, K_ROW>(k + static_cast<long long>(first_key) * K_ROW).template fetch<kRows>(k_tile, keys - first_key);
  Rows<kThreads, V_ROW>(v + static_cast<long long>(first_key) * V_ROW).template fetch<kRows>(v_tile, keys - first_key);
#pragma unroll
  for (int i = 0; i < kAhead; ++i) fetch_step(i);

  const Tile own_k = Tile(k_tile + group * kGroupRows * 128, kRowHalf),
             own_v = Tile(v_tile + group * kGroupRows * 128, kRowHalf);
  float dk[HEAD / 2], dv[HEAD / 2], s[kStep / 2], d[kStep / 2];
  u32 weights[kStep / 4], changes[kStep / 4];
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) dk[i] = dv[i] = 0;
  int step = first_step;
  u32 at = 0;
  for (int i = 0; i < steps; ++i) {
    begin_step();
    const u32 here = at;
    at = after<kStageBytes, kStages>(at);
    const int first = step * kStep;
    if (++step == first_step + steps_of_head) step = first_step;
    wait_for_products<0>();  // there are no registers left to let sums run on
    pin(dk);
    pin(dv);
    pin(weights);
    pin(changes);
    if (CAUSAL && first + kStep <= own_first) {  // no query sees one of these keys
      fetch_step(i + kAhead);
      continue;
    }
    const Tile some_q(stages + here, kStepHalf), some_g(stages + here + kStepBytes, kStepHalf);
    const float2* const bases =
        reinterpret_cast<const float2*>(row_values + here) + lane % 4;  // of columns 8 j, and one on
    const float2* const deltas = bases + kStep / 2;
    begin_products();
    multiply_rows<kStep>(s, own_k, kRowHalf, some_q, kStepHalf);
    commit_products();
    multiply_rows<kStep>(d, own_v, kRowHalf, some_g, kStepHalf);
    commit_products();
    fetch_step(i + kAhead);
    wait_for_products<1>();
    pin(s);
#pragma unroll
    for (int j = 0; j < kStep / 8; ++j) {
      const float2 base = bases[4 * j];
#pragma unroll
      for (int c = 0; c < 4; ++c)
        s[4 * j + c] = power_of_two(__fmaf_rn(s[4 * j + c], factor, c % 2 == 0 ? -base.x : -base.y));
    }
    if (CAUSAL && first < own_first + kGroupRows - 1) {
      // The columns before this one are queries that do not see the thread's upper row.
      const int seen_from = warp_first + lane / 4 - first - lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < kStep / 2; ++j)
        if (j / 4 * 8 + j % 2 < seen_from + (j % 4 < 2 ? 0 : 8)) s[j] = 0.0f;
    }
    pin(s);
    wait_for_products<0>();
    pin(d);
#pragma unroll
    for (int j = 0; j < kStep / 8; ++j) {
      const float2 delta = deltas[4 * j];
#pragma unroll
      for (int c = 0; c < 4; ++c) d[4 * j + c] = s[4 * j + c] * (d[4 * j + c] - (c % 2 == 0 ? delta.x : delta.y));
    }
    // The compiler lets products run on only where no operand of theirs is made meanwhile.
    pack_all<kStep>(s, weights);
    pack_all<kStep>(d, changes);
    pin(weights);
    pin(changes);
    begin_products();
    add_weighted<kStep>(dv, weights, some_g);
    add_weighted<kStep>(dk, changes, some_q);
    commit_products();
  }
  wait_for_products<0>();
  pin(dk);
  pin(dv);
  pin(weights);
  pin(changes);

  constexpr u32 kBytes = KEY_SPLITS > 1 ? 4 : 2;
  char* const dk_lines = dk_memory + dk_at + split * part_bytes + batch * dk_batch + shared_head * (HEAD * kBytes);
  char* const dv_lines = dv_memory + dv_at + split * part_bytes + batch * dv_batch + shared_head * (HEAD * kBytes);
#pragma unroll
  for (int i = 0; i < HEAD / 2; ++i) dk[i] = dk[i] * scale + 0.0f;
  if (steps == 0) {  // the keys may still be on their way
    wait_for_copies<0>();
    meet<kThreads>();
  }
#if KEY_SPLITS > 1
  write_sums(dk, dk_lines + warp_first * static_cast<long long>(dk_row), static_cast<long long>(dk_row),
             keys - warp_first);
  write_sums(dv, dv_lines + warp_first * static_cast<long long>(dv_row), static_cast<long long>(dv_row),
             keys - warp_first);
#else
  meet_group(group);
  char* const own_rows = shared + (group * kGroupRows + warp * 16) * 128;
  write_rows(dk, own_rows, kRowHalf, dk_lines + warp_first * static_cast<long long>(dk_row),
             static_cast<long long>(dk_row), keys - warp_first);
  write_rows(dv, own_rows, kRowHalf, dv_lines + warp_first * static_cast<long long>(dv_row),
             static_cast<long long>(dv_row), keys - warp_first);
#endif
  if (!CAUSAL) return;

  const u32 bad_rows = rows_not_finite(dk) | rows_not_finite(dv);
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = warp_first + i;
    if (!(bad_rows >> i & 1) || row >= keys) continue;
    float own_k_row[kOwn], own_v_row[kOwn], own_q[kOwn], own_g[kOwn], kept_k[kOwn] = {}, kept_v[kOwn] = {};
    load_own(own_k_row, k + static_cast<long long>(row) * K_ROW);
    load_own(own_v_row, v + static_cast<long long>(row) * V_ROW);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) own_k_row[j] *= scale;
#pragma unroll 1
    for (int sharer = 0; sharer < sharers; ++sharer) {
#pragma unroll 1
      for (int query = row; query < queries; ++query) {
        load_own(own_q, all_q + sharer * q_head + static_cast<long long>(query) * Q_ROW);
        load_own(own_g, all_g + sharer * g_head + static_cast<long long>(query) * G_ROW);
        const float* base = all_bases + sharer * padded + query;
        const float weight = power_of_two(dot_own(own_k_row, own_q) * kLog2e - base[0]);
        const float change = weight * (dot_own(own_v_row, own_g) - base[deltas_on]);
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          kept_v[j] = __fmaf_rn(weight, own_g[j], kept_v[j]);
          kept_k[j] = __fmaf_rn(change, own_q[j], kept_k[j]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) kept_k[j] = kept_k[j] * scale + 0.0f;
#if KEY_SPLITS > 1
    store_own_sums(kept_k, dk_lines + row * static_cast<long long>(dk_row));
    store_own_sums(kept_v, dv_lines + row * static_cast<long long>(dv_row));
#else
    store_own(kept_k, dk_lines + row * static_cast<long long>(dk_row));
    store_own(kept_v, dv_lines + row * static_cast<long long>(dv_row));
#endif
  }
}

#endif

// ---- sums of several blocks ----

#ifdef PARTS_GROUPS

// A thread has eight neighbours of one batch. Parts of the gradients of keys come first, then those of values; each
// lies as (batch, tokens, heads, numbers).
extern "C" __global__ void __launch_bounds__(PARTS_GROUPS * 128, PARTS_BLOCKS)
    attention_key_parts(const char* parts_memory, u64 parts_at, char* dk_memory, u64 dk_at, char* dv_memory, u64 dv_at,
                        u64 heads, u64 heads_per_group, u64 queries, u64 keys, u64 dk_batch, u64 dk_row, u64 dv_batch,
                        u64 dv_row, u64 scale_bits, u64 lines, u64 part_bytes, const int* fault, u32 guards) {
  if (guards != 0 && fault[0] != 0) return;
  const u32 line = line_of_block();
  if (line >= lines) return;
  const u64 row_numbers = heads / heads_per_group * HEAD, batch_numbers = keys * row_numbers;
  const u64 at = (static_cast<u64>(blockIdx.y) * (PARTS_GROUPS * 128) + threadIdx.x) * 8;
  if (at >= batch_numbers) return;
  const u32 batches = static_cast<u32>(lines) / 2, batch = line % batches;
  const bool is_value = line >= batches;
  const char* from =
      parts_memory + parts_at + (is_value ? PARTS_COUNT * part_bytes : 0) + (batch * batch_numbers + at) * 4;
  float sums[8] = {};
#pragma unroll
  for (int i = 0; i < PARTS_COUNT; ++i, from += part_bytes) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float4 x = reinterpret_cast<const float4*>(from)[j];
      sums[4 * j] += x.x;
      sums[4 * j + 1] += x.y;
      sums[4 * j + 2] += x.z;
      sums[4 * j + 3] += x.w;
    }
  }
  const u64 row = at / row_numbers, column = at % row_numbers;
  char* const to = is_value ? dv_memory + dv_at + batch * dv_batch + row * dv_row
                            : dk_memory + dk_at + batch * dk_batch + row * dk_row;
  *reinterpret_cast<uint4*>(to + column * 2) =
      make_uint4(pack(sums[0], sums[1]), pack(sums[2], sums[3]), pack(sums[4], sums[5]), pack(sums[6], sums[7]));
}

#endif
