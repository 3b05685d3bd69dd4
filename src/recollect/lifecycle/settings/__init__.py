"""What people set: documents, frames and the policy of agents."""
