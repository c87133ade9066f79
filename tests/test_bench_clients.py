"""The measurement of several clients counts each client's errors and wrong answers."""

from __future__ import annotations

import pyarrow as pa

from bench.pde.clients import Ask, run_round

ANSWERS = {str(number): pa.table({"n": [number]}) for number in range(5)}


def test_errors_and_wrong_answers_of_all_clients_are_counted() -> None:
    clients: list[int] = []

    def client() -> Ask:
        number = len(clients)
        clients.append(number)

        def ask(name: str) -> pa.Table:
            if (number, name) == (1, "2"):
                raise ValueError("no memory")
            return ANSWERS["0"] if (number, name) == (2, "4") else ANSWERS[name]

        return ask

    found = run_round(client, ANSWERS, clients=3)
    assert len(clients) == 3, "each client asks on its own"
    assert found.queries == 15
    assert found.errors == ["query 2: no memory"]
    assert found.differences == ["query 4: (4.0,) against (0.0,)"]
