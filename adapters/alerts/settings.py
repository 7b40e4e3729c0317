"""Whom the bot tells that something is wrong. Light on purpose: the composition root imports it at every start."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, model_validator

from engine import Strict


class AlertSettings(Strict):
    """Alerts by mail or webhook; none unless one of them is set. They hold the kind of trouble and nothing else."""

    webhook_url: str | None = Field(default=None, description="an https address that gets each alert as JSON")
    webhook_secret: SecretStr | None = Field(
        default=None, min_length=24, description="what the webhook's alerts are signed with, as feedback's are"
    )
    mail_to: tuple[str, ...] = Field(default=(), description="addresses that get each alert")
    mail_from: str = Field(default="", description="whom the mail says it is from")
    smtp_host: str = Field(default="", description="the mail server; needed for mail")
    smtp_port: int = Field(default=587, ge=1, le=65535, description="and its port")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="how the way there is kept closed; `none` is for this very machine"
    )
    smtp_user: str = Field(default="", description="where the mail server asks for one")
    smtp_password: SecretStr | None = Field(default=None, description="never printed or logged")
    again_hours: int = Field(default=24, ge=1, le=24 * 30, description="the same alert comes again after so long")
    queue_minutes: int = Field(default=5, ge=1, description="a message that waits longer is an alert")
    spending_share: float = Field(default=0.8, gt=0, le=1, description="the share of a day's limit that is an alert")

    @model_validator(mode="after")
    def _whole(self) -> AlertSettings:
        if self.webhook_url is not None and self.webhook_secret is None:
            raise ValueError("webhook_url needs webhook_secret")
        if self.mail_to and not (self.smtp_host and self.mail_from):
            raise ValueError("mail_to needs smtp_host and mail_from")
        if any(
            set(one) & set("\r\n,;<> ") or "@" not in one for one in (*self.mail_to, *filter(None, [self.mail_from]))
        ):
            raise ValueError("mail_to and mail_from are plain addresses such as name@example.org")
        return self
