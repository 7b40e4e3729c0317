"""`cafi operator`: people are invited beside a running bot, and what a link holds is shown once and kept nowhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from typer.testing import CliRunner

from adapters.editorial.staff import StaffRole
from bots.cli import app
from tests.editorial import editing
from tests.web import TOKEN, Browser


async def test_a_link_from_the_command_line_opens_the_running_page(tmp_path: Path) -> None:
    """Invited, listed, signed in, given another role, and removed; an unknown role or name is a calm error."""
    settings = tmp_path / "cafi.yaml"
    settings.write_text(
        f"agents: builtin\nstorage: {{url: 'sqlite:///{tmp_path}/cafi.db'}}\n"
        f"sessions: {{secret_file: '{tmp_path}/secret.json', inbox_key_file: '{tmp_path}/inbox.key'}}\n"
        f"web: {{port: 0, operator_token: {TOKEN}}}\n"
    )

    async def cafi(*words: str) -> tuple[int, str, str]:
        run = CliRunner().invoke
        done = await asyncio.to_thread(run, app, ["operator", *words, "--config", str(settings)])
        return done.exit_code, done.stdout, done.stderr

    async with editing(tmp_path) as bot, Browser(bot.address) as ada:
        code, said, aside = await cafi("invite", "Ada", "--role", "editor", "--profession", "pharmacist")
        assert code == 0 and "opens the page once, within 60 minutes" in aside
        link = said.strip().rpartition("/")[2]
        await ada.get(f"/operator/link/{link}")
        await ada.post("/operator/link", link=link)
        assert "Signed in: Ada (Editor)" in ada.words
        await cafi("invite", "ada", "--role", "reviewer")
        assert json.loads((await cafi("list", "--json"))[1]) == [
            {"name": "ada", "role": str(StaffRole.REVIEWER), "profession": "pharmacist"}
        ]
        await ada.get("/operator")
        assert "Signed in: ada (Reviewer)" in ada.words
        assert (await cafi("remove", "Ada"))[0] == 0
        assert "Signed in" not in (await ada.get("/operator")).text
        for wrong in (("invite", "Eve", "--role", "boss"), ("remove", "Eve"), ("invite", "x" * 99, "--role", "reader")):
            code, _, aside = await cafi(*wrong)
            assert code == 1 and aside.startswith("cafi: ") and "Traceback" not in aside
        assert link.encode() not in (tmp_path / "cafi.db").read_bytes()
