"""Bounds on the acquisition over sets of counts, with rounding accounted for."""
