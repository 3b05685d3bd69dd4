"""What the service costs on top of the memory behind it, and on top of bare HTTP.

Responsible for the figures of ``recollect serve`` and its client. Leaves kills, streams and memory
use to the suites. Invariant: both sides of a ratio are measured in turns in one run.
"""
