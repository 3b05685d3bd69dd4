"""Folders and files of this machine: where things lie, and reading them safely."""
