"""How long a test waits for what surely comes: a limit against waiting for ever, not a measure of the product.

What comes is waited for by its own sign, and at once; only a test that fails takes this long. A time that the contract
promises stands in its test by its own name.
"""

from __future__ import annotations

from typing import Final

PATIENCE_SECONDS: Final = 60

STAND_IN_POLL_SECONDS: Final = 0.02
"""How often a stand-in's server looks whether it is to end. Python's half a second would be waited for at the end of a test."""
