"""Names for the types of arrays that the package passes around."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The same array, which from now on cannot be written to."""
    array.setflags(write=False)
    return array
