"""What every store promises, whatever the database: imported by the SQLite and the PostgreSQL tests, which bring the fixture `url`."""

from tests.conformance.store_suite_endpoints import *  # noqa: F403
from tests.conformance.store_suite_evidence import *  # noqa: F403
from tests.conformance.store_suite_leases import *  # noqa: F403
from tests.conformance.store_suite_migrations import *  # noqa: F403
from tests.conformance.store_suite_nouns import *  # noqa: F403
from tests.conformance.store_suite_people import *  # noqa: F403
from tests.conformance.store_suite_specs import *  # noqa: F403
from tests.conformance.store_suite_turns import *  # noqa: F403
