"""Boot tokens and sessions: derived or random secrets of which the store holds only hashes."""

import hashlib
import hmac


def token_for(boot_key: bytes, grant_id: str) -> str:
    """The token of a boot grant: HMAC-SHA256 of its id under the site's boot key, as 64 hex digits. Never stored."""
    return hmac.new(boot_key, b"metalwright boot grant\0" + grant_id.encode(), hashlib.sha256).hexdigest()


def token_hash(secret: str) -> str:
    """What is stored of a token or a session."""
    return hashlib.sha256(b"metalwright token\0" + secret.encode()).hexdigest()
