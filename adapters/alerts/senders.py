"""The ways of an alert: a mail, or a signed request to an address of the operator's."""

from __future__ import annotations

import asyncio
import json
import smtplib
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import parseaddr

import httpx

from adapters.alerts.alerts import AlertFailed, AlertKind
from adapters.alerts.settings import AlertSettings
from adapters.feedback.webhook import signature

SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class WebhookAlert:
    """Posts `{"alert": KIND, "hour": …}`, signed as feedback's events are."""

    address: str
    secret: bytes = field(repr=False)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def send(self, kind: AlertKind) -> None:
        """Send one alert; raises AlertFailed."""
        now = self.now()
        body = json.dumps({"alert": kind, "hour": now.strftime("%Y-%m-%dT%HZ")}).encode()
        timestamp = now.strftime("%Y-%m-%dT%H:%MZ")
        headers = {
            "Content-Type": "application/json",
            "X-Cafi-Timestamp": timestamp,
            "X-Cafi-Signature": signature(self.secret, timestamp, body),
        }
        try:
            async with (
                httpx.AsyncClient(timeout=SECONDS, follow_redirects=False) as client,
                client.stream("POST", self.address, content=body, headers=headers) as response,
            ):
                if response.status_code >= 300:
                    raise AlertFailed
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AlertFailed from error


@dataclass(frozen=True, kw_only=True)
class MailAlert:
    """Sends a mail of two lines. `sentences` say what each kind means; `page` is where the operator looks."""

    settings: AlertSettings
    sentences: Mapping[str, str]
    page: str = ""

    async def send(self, kind: AlertKind) -> None:
        """Send one alert; raises AlertFailed."""
        try:
            await asyncio.to_thread(self._send, self.message(kind))
        except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
            raise AlertFailed from error

    def message(self, kind: AlertKind) -> EmailMessage:
        """The mail."""
        mail = EmailMessage()
        mail["Subject"] = f"CAFI: {kind}"
        mail["From"], mail["To"] = self.settings.mail_from, ", ".join(self.settings.mail_to)
        mail.set_content("\n\n".join(one for one in (self.sentences[kind], self.page) if one))
        return mail

    def _send(self, mail: EmailMessage) -> None:
        with self._server() as server:
            if self.settings.smtp_user:
                secret = self.settings.smtp_password
                server.login(self.settings.smtp_user, "" if secret is None else secret.get_secret_value())
            server.send_message(mail)

    def _server(self) -> smtplib.SMTP:
        at, trusted = self.settings, ssl.create_default_context()
        # The library would ask the network for this machine's name, which may take long, and tell it.
        name = parseaddr(at.mail_from)[1].rpartition("@")[2] or "localhost"
        if at.smtp_security == "tls":
            return smtplib.SMTP_SSL(at.smtp_host, at.smtp_port, name, timeout=SECONDS, context=trusted)
        server = smtplib.SMTP(at.smtp_host, at.smtp_port, name, timeout=SECONDS)
        if at.smtp_security == "starttls":
            try:
                server.starttls(context=trusted)
            except BaseException:
                with suppress(OSError, smtplib.SMTPException):
                    server.close()
                raise
        return server
