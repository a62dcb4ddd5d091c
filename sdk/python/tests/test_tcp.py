"""The API over TCP, with a token."""

from __future__ import annotations

from typing import Any

from daemon_test import DaemonTest, requires_endpoint

from kennel_client import Kennel, KennelError, KennelProblem


@requires_endpoint("/v1/access/listen")
class Tcp(DaemonTest):
    async def test_a_wrong_token_is_refused(self) -> None:
        async with self.connect() as local:
            listen: Any = await local._api.post("/v1/access/listen", {"listen": "127.0.0.1:0"})
            secret: Any = await local._api.get("/v1/access/token")
        async with Kennel.connect(url=listen["url"], token=secret["secret"]) as kennel:
            async with kennel.run(["sh", "-c", "echo $PATH; exit 3"], cwd=self.folder) as session:
                outcome = await session.wait()
            self.assertEqual(outcome.exit_code, 3)
            self.assertIn("/usr/bin", await session.text())
            with self.assertRaisesRegex(KennelError, "cwd is required"):
                kennel.run(["true"])
            await self.assert_empty(kennel)
        with self.assertRaises(KennelProblem) as caught:
            async with Kennel.connect(url=listen["url"], token="wrong"):
                pass
        self.assertEqual(caught.exception.status, 401)
