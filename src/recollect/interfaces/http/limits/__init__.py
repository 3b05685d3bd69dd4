"""How much a caller may ask: requests in work, rates, threads and processor time."""
