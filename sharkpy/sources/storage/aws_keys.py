"""Program that prints the keys of a profile of AWS's tools: botocore gets them from a program, a role or a login.

It is a process of its own, because it may take long and botocore cannot be cancelled. Its argument is the profile's
name. It prints one JSON object: the keys, or an `error` in which no key is quoted.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    try:
        answer = _keys(sys.argv[1])
    except ModuleNotFoundError as error:
        answer = {"error": f"need {error.name}"}
    except Exception as error:  # noqa: BLE001 - the caller raises it
        answer = {"error": f"could not be obtained: {_shown(error)}"}
    sys.stdout.write(json.dumps(answer))


def _keys(profile: str) -> dict[str, str]:
    from botocore.session import Session

    credentials = Session(profile=profile).get_credentials()
    if credentials is None:
        return {"error": "are missing"}
    keys = credentials.get_frozen_credentials()
    if not keys.access_key or not keys.secret_key:
        return {"error": "are empty"}
    answer = {"aws_access_key_id": keys.access_key, "aws_secret_access_key": keys.secret_key}
    if keys.token:
        answer["aws_session_token"] = keys.token
    # botocore has no public name for it.
    if (end := getattr(credentials, "_expiry_time", None)) is not None:
        answer["expiration"] = end.isoformat()
    return answer


def _shown(error: Exception) -> str:
    """Text of an error of botocore or AWS. Other errors may quote what a program has printed: only their names."""
    from botocore.exceptions import BotoCoreError, ClientError, CredentialRetrievalError

    is_safe = isinstance(error, BotoCoreError | ClientError) and not isinstance(error, CredentialRetrievalError)
    return str(error) if is_safe else type(error).__name__


if __name__ == "__main__":
    main()
