"""Running a proof: the space in pieces, a schedule of solves, and what they add up to."""
