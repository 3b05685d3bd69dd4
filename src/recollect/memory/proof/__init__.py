"""Evidence for others: checks, checkpoints, proofs, certificates and audits."""
