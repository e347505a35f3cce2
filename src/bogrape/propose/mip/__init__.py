"""The paper's mixed-integer formulation: `Program`, encodings, and adapters for SCIP and Gurobi.

Use it through `bogrape.propose.propose` with ``method="mip"``; ``docs/mip.md`` maps each equation
of the paper to the functions and rows here.
"""

from .build import AcquisitionProgram
from .export import write_program
from .options import MipOptions
from .program import Program
from .propose import propose_mip

__all__ = ["AcquisitionProgram", "MipOptions", "Program", "propose_mip", "write_program"]
