"""The calls of a memory, each one request; ``make async`` writes these modules."""
