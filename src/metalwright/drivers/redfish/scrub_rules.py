"""Which properties name a machine, a place or a person, and which texts are no secret. Pure data and two questions.

Collected from the trees of a DGX H100, a GB200 tray, an iDRAC9 server and a Supermicro host, and from the Redfish schemas
(DSP2046: Location, Contact, Certificate). Vendors write flat names such as `Users.2.SHA256Password`: the last part counts.
"""

import re
from enum import Enum
from functools import lru_cache

from metalwright.drivers.redfish.documents import text_of


class Rule(Enum):
    """What to do with the text of a property."""

    NAME = "replace it wherever it is written"
    HERE = "replace it where it stands"


_NAMES = re.compile(
    r"(serial(number)?|servicetag|assettag|uuid|guid|macaddr(ess)?e?s?\d?|networkaddresses|hostname|fqdn|dns(rac)?name|racname|"
    r"commonname|username|durablename|wwn|wwnn|wwpn|nqn|iqn|duid|ppin|entitlementid|emailaddress|domainname|datacentername|"
    r"rackname|roomname|aislename|connectionid)$",
    re.IGNORECASE,
)
_WHOLE_NAMES = frozenset({"sku", "nodeid", "systemid", "uniqueid", "mac", "licenselist", "licenseid"})
_SECRETS = re.compile(
    r"(password|passphrase|secret|salt|community(name)?|key|engineid|credentials?|token|licenses|certificate(string)?)$", re.IGNORECASE
)
_PLACES = re.compile(
    "(physical)?location|contact(name)?|phonenumber|room|rack|row|building|street|city|housenumber|postalcode|territory", re.IGNORECASE
)
_MAY_BE_WORDS = re.compile(r"(hostname|fqdn|name|commonname)$", re.IGNORECASE)
"""Where people write plain words; elsewhere a text without a digit is a word of the schema (`SKU: Standard`)."""
_COMMON = re.compile(
    "admin|administrator|root|operator|user|guest|public|private|localhost|localdomain|system|host|server|none|default|unknown|"
    "embedded|enabled|disabled|true|false",
    re.IGNORECASE,
)
"""Factory accounts and words that are in every tree."""
SHORTEST = 4
"""Shorter values (`1`, `NA`) would be replaced inside everything else."""
LONGEST = 128
"""Longer ones are texts; they are replaced where they stand."""


@lru_cache(maxsize=65536)
def rule_for(name: str) -> Rule | None:
    """What a property's text is, by the property's name."""
    last = name.rpartition(".")[2]
    if _NAMES.search(last) or last.lower() in _WHOLE_NAMES:
        return Rule.NAME
    return Rule.HERE if _SECRETS.search(last) or _PLACES.fullmatch(last) else None


def is_name(name: str, text: str) -> bool:
    """Whether the text of a naming property is worth finding elsewhere: one word, with a digit or where people write words."""
    has_digit = any(letter.isdigit() for letter in text)
    return is_telling(text) and len(text) <= LONGEST and " " not in text and (has_digit or bool(_MAY_BE_WORDS.search(name)))


def is_telling(text: str) -> bool:
    """Whether a text could lead to one machine or person: no placeholder, no word that every tree has."""
    return len(text) >= SHORTEST and text_of(text) is not None and not _COMMON.fullmatch(text)


def is_identity(text: str) -> bool:
    """Long and with a digit, as serials are: safe to replace inside longer words, in any case of its letters."""
    return len(text) >= 7 and any(letter.isdigit() for letter in text) and any(letter not in "0.:-" for letter in text)
