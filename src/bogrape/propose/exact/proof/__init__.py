"""Runs a proof: divides the space into pieces, schedules their solves and combines the answers."""
