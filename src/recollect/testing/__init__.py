"""Published with the package: one conformance suite for each port, and fakes.

Responsible for the tests that every engine must pass. Leaves running the suites to pytest:
subclass a suite and define the fixture it needs. Invariant: the rest of the package never imports
this.
"""
