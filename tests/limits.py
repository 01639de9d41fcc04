"""How long a test waits for what surely comes: a limit against waiting for ever, not a measure of the product.

What comes is waited for by its own sign, and at once; only a test that fails takes this long. A time that the contract
promises stands in its test by its own name.
"""

from __future__ import annotations

from typing import Final

PATIENCE_SECONDS: Final = 60
