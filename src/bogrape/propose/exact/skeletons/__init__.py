"""Skeletons: connected graphs without attributes, of limited degree, each listed once."""
