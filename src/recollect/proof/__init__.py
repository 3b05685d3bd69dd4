"""What is handed to others so that they need not believe us: signed notes, checkpoints, proofs.

Pure: nothing here reads a file or the clock. Signing and checking signatures need the package
``cryptography`` (extra ``proof``), which is imported when a key is first used.
"""
