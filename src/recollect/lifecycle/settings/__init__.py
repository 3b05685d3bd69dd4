"""What people set: documents, presets and the policy of agents."""
