"""Machine code at work: kernels, the cache on disk, the way in from Python."""
