from __future__ import annotations

from server.configuration_document import configuration_document
from server.settings import Settings
from tests.server.processes import ROOT


def test_the_committed_document_is_the_generated_one() -> None:
    committed = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert committed == configuration_document(), (
        "run: python -m server.configuration_document > docs/configuration.md"
    )


def test_every_setting_is_documented_with_a_sentence() -> None:
    for key, field in Settings.model_fields.items():
        assert field.description is not None and field.description.endswith("."), key
