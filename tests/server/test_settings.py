from __future__ import annotations

from pathlib import Path

import pytest

from server.setting_sources import load_settings
from server.settings import Settings, default_data_directory
from sessiongraph.errors import InvalidConfig


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_without_any_source_every_setting_has_its_default() -> None:
    settings = load_settings()
    assert settings == Settings()
    assert settings.data_dir == default_data_directory()
    assert (settings.host, settings.port) == ("127.0.0.1", 8642)


def test_command_line_beats_environment_beats_file_beats_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write(tmp_path / "own.toml", "port = 1\npage_max = 2\nread_window_max = 3\n")
    monkeypatch.setenv("SESSIONGRAPH_PORT", "11")
    monkeypatch.setenv("SESSIONGRAPH_PAGE_MAX", "12")
    settings = load_settings({"port": 111}, config)
    assert (settings.port, settings.page_max, settings.read_window_max) == (111, 12, 3)
    assert settings.lineage_page_max == 2000


def test_an_option_that_was_not_given_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONGRAPH_PORT", "11")
    assert load_settings({"port": None}).port == 11


def test_the_file_in_the_data_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "sessiongraph.toml", "port = 7")
    assert load_settings({"data_dir": tmp_path}).port == 7
    monkeypatch.setenv("SESSIONGRAPH_DATA_DIR", str(tmp_path))
    assert load_settings().port == 7


def test_a_named_file_takes_the_place_of_the_one_in_the_data_directory(tmp_path: Path) -> None:
    write(tmp_path / "sessiongraph.toml", "port = 7\npage_max = 9")
    config = write(tmp_path / "other.toml", "port = 8")
    settings = load_settings({"data_dir": tmp_path}, config)
    assert (settings.port, settings.page_max) == (8, 200)


def test_a_named_file_may_say_where_the_data_is(tmp_path: Path) -> None:
    config = write(tmp_path / "own.toml", f'data_dir = "{tmp_path / "data"}"')
    assert load_settings(config=config).data_dir == tmp_path / "data"


def test_the_file_in_the_data_directory_cannot_move_it(tmp_path: Path) -> None:
    write(tmp_path / "sessiongraph.toml", 'data_dir = "/elsewhere"')
    with pytest.raises(InvalidConfig, match="data_dir cannot be set in the data directory"):
        load_settings({"data_dir": tmp_path})


def test_an_unknown_key_in_a_file_is_refused_with_the_nearest(tmp_path: Path) -> None:
    config = write(tmp_path / "own.toml", "pagemax = 5")
    with pytest.raises(InvalidConfig, match=r"own\.toml: .*'pagemax'; the nearest is 'page_max'"):
        load_settings(config=config)


def test_an_unknown_variable_is_refused_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONGRAPH_PROT", "5")
    with pytest.raises(InvalidConfig, match=r"'SESSIONGRAPH_PROT'; .* 'SESSIONGRAPH_PORT'"):
        load_settings()


def test_variables_of_the_tests_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIONGRAPH_RECORDINGS", "/somewhere")
    assert load_settings() == Settings()


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("port", "65536", "SESSIONGRAPH_PORT (environment)"),
        ("port", "many", "SESSIONGRAPH_PORT (environment)"),
        ("log_level", "loud", "SESSIONGRAPH_LOG_LEVEL (environment)"),
        ("data_dir", " ", "SESSIONGRAPH_DATA_DIR (environment)"),
        ("shutdown_grace_s", "0", "SESSIONGRAPH_SHUTDOWN_GRACE_S (environment)"),
    ],
)
def test_a_bad_value_is_refused_with_its_place(
    key: str, value: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"SESSIONGRAPH_{key.upper()}", value)
    with pytest.raises(InvalidConfig) as refusal:
        load_settings()
    assert refusal.value.message.startswith(f"{place}: ")


def test_a_bad_value_on_the_command_line_names_its_option() -> None:
    with pytest.raises(InvalidConfig, match=r"^--page-max: "):
        load_settings({"page_max": 0})


@pytest.mark.parametrize("text", ["port = ", "[tables]\nport = 1", 'port = "x"'])
def test_a_file_that_is_not_right_is_refused_by_name(tmp_path: Path, text: str) -> None:
    config = write(tmp_path / "own.toml", text)
    with pytest.raises(InvalidConfig, match=r"own\.toml"):
        load_settings(config=config)


def test_a_named_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="there is no such configuration file"):
        load_settings(config=tmp_path / "none.toml")


def test_a_home_directory_may_be_written_short() -> None:
    assert load_settings({"data_dir": "~/archive"}).data_dir == Path.home() / "archive"
