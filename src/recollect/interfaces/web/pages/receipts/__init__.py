"""Receipts: the list, and one of them."""
