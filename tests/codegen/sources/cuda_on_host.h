/* Enough of the CUDA runtime to run a kernel on the host, one thread after the other. */
#ifndef CUDA_ON_HOST_H
#define CUDA_ON_HOST_H
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <utility>

#define __device__
#define __global__
#define __constant__ const
#define __forceinline__ inline
#define __launch_bounds__(...)

typedef int cudaError_t;
typedef void *cudaStream_t;
static const cudaError_t cudaSuccess = 0;

struct dim3 {
    unsigned x;
    explicit dim3(unsigned n) : x(n) {}
};
static unsigned most_blocks = 0xffffffffu; /* of a launch: fewer have the threads loop */
#ifndef EACH_THREADS
#define EACH_THREADS /* thread_local, where a block's threads are threads of the host */
#endif
static dim3 gridDim(1), blockDim(1), blockIdx(0);
static EACH_THREADS dim3 threadIdx(0);

static inline float __int_as_float(int bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int __float_as_int(float x)
{
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    const unsigned long long low = 0xffffffffull, mid = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
    return (a >> 32) * (b >> 32) + (mid >> 32) + (((a & low) * (b >> 32) + (mid & low)) >> 32);
}

template <class... A, size_t... I>
void run_threads(void (*kernel)(A...), void **arguments, std::index_sequence<I...>)
{
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            kernel(*static_cast<A *>(arguments[I])...);
}

template <class... A>
cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t)
{
    gridDim = dim3(grid.x < most_blocks ? grid.x : most_blocks);
    blockDim = block;
    run_threads(kernel, arguments, std::index_sequence_for<A...>{});
    return cudaSuccess;
}

extern "C" void use_at_most(unsigned blocks) { most_blocks = blocks; }
#endif
