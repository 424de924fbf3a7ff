"""Programs as LLVM code, many states side by side in SIMD registers."""
