"""The API over TCP, with a token."""

from __future__ import annotations

from typing import Any

from scene import Scene, needs

from kennel_client import Kennel, KennelError, KennelProblem


@needs("/v1/access/listen")
class Tcp(Scene):
    async def test_a_token_lets_in_and_another_does_not(self) -> None:
        async with self.connect() as at_home:
            listen: Any = await at_home._calls.post("/v1/access/listen", {"listen": "127.0.0.1:0"})
            secret: Any = await at_home._calls.get("/v1/access/token")
        async with Kennel.connect(url=listen["url"], token=secret["secret"]) as kennel:
            async with kennel.run(["sh", "-c", "echo $PATH; exit 3"], cwd=self.folder) as session:
                outcome = await session.wait()
            self.assertEqual(outcome.exit_code, 3)
            self.assertIn("/usr/bin", await session.text())
            with self.assertRaisesRegex(KennelError, "cwd must be given"):
                kennel.run(["true"])
            await self.assert_empty(kennel)
        with self.assertRaises(KennelProblem) as caught:
            async with Kennel.connect(url=listen["url"], token="wrong"):
                pass
        self.assertEqual(caught.exception.status, 401)
