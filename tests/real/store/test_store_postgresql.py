"""The conformance suite of the store, on PostgreSQL."""

import pytest

from tests.conformance.store_suite import *  # noqa: F403

pytestmark = pytest.mark.real
