"""Published with the package: one conformance suite for each port, and fakes.

Responsible for what another engine must pass to be one. Leaves running the suites to pytest:
subclass a suite and give it the fixture it asks for.
"""
