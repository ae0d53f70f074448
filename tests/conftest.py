import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference():
    """Independent high-precision values, when they lie beside the checkout."""
    path = Path(__file__).parents[1].parent / "shared" / "reference" / "reference.json"
    if not path.exists():
        pytest.skip("reference values are not beside this checkout")
    return json.loads(path.read_text())
