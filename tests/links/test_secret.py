"""Key files: who may read them, what they must hold, and that nothing tells what they hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from halfreal.cli.commands import app
from halfreal.definition.kinds import reader
from halfreal.links.secret import make_secret, read_secret
from halfreal.links.udp import Udp
from halfreal.links.wires import LinkError

DIGITS = "000102030405060708090a0b0c0d0e0f"


def written(path: Path, text: str = DIGITS, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_new_key_file_is_of_its_user_alone_and_another_each_time(tmp_path):
    before = os.umask(0)
    try:
        answers = [CliRunner().invoke(app, ["key", str(tmp_path / name)]) for name in ("a", "b")]
    finally:
        os.umask(before)
    assert [answer.exit_code for answer in answers] == [0, 0]
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "b")] == [0o600] * 2
    secrets = {read_secret(tmp_path / name) for name in ("a", "b")}
    assert len(secrets) == 2 and all(len(one) == 16 for one in secrets)
    assert not any(one.hex() in answer.output for one in secrets for answer in answers)


def test_a_key_file_that_is_there_is_left_alone(tmp_path):
    path = written(tmp_path / "key")
    with pytest.raises(LinkError, match="exists and was not changed"):
        make_secret(path)
    assert path.read_text() == DIGITS
    with pytest.raises(LinkError, match="cannot be created"):
        make_secret(tmp_path / "no folder" / "key")


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "  \n"])
def test_the_secret_is_its_hexadecimal_digits(tmp_path, end):
    assert read_secret(written(tmp_path / "key", DIGITS + end)) == bytes(range(16))
    assert read_secret(written(tmp_path / "key", DIGITS.upper() + end)) == bytes(range(16))


@pytest.mark.parametrize(
    "text", ["", "0" * 32, DIGITS[:-1], DIGITS + "00", "x" + DIGITS[1:], " ".join(DIGITS), "é" * 16]
)
def test_what_is_no_secret_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(
        LinkError, match="is not a key file: it must contain 32 hexadecimal digits, not all zero"
    ) as error:
        read_secret(written(tmp_path / "key", text))
    assert DIGITS[:8] not in str(error.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o610])
def test_a_key_file_that_others_may_use_is_refused(tmp_path, mode):
    with pytest.raises(LinkError, match=f"mode {mode:o}.*chmod 600"):
        read_secret(written(tmp_path / "key", mode=mode))


def test_a_key_file_of_another_user_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path / "key")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(LinkError, match="belongs to another user"):
        read_secret(path)


def test_a_link_a_folder_a_pipe_and_nothing_are_no_key_files(tmp_path):
    (tmp_path / "link").symlink_to(written(tmp_path / "key"))
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for name, words in (("link", "symbolic link"), ("pipe", "not a regular file"), ("folder", "not a regular file")):
        with pytest.raises(LinkError, match=words):
            read_secret(tmp_path / name)
    with pytest.raises(LinkError, match=r"there is no key file .*halfreal key"):
        read_secret(tmp_path / "nothing")


def test_a_key_is_reckoned_from_the_definition_and_shown_by_its_name_only(tmp_path, monkeypatch):
    written(tmp_path / "rig.key")
    monkeypatch.setenv("HOME", str(tmp_path))
    read = reader("link").validate_python
    for name in ("rig.key", "~/rig.key", str(tmp_path / "rig.key")):
        link = read({"kind": "udp", "key": name}, context={"folder": tmp_path})
        assert isinstance(link, Udp) and link.secret() == bytes(range(16))
        assert DIGITS not in repr(link) + link.model_dump_json() + link.guarded
        assert link.guarded == "authenticated by a shared secret"
    with pytest.raises(ValueError, match="omit one of key and unauthenticated"):
        read({"kind": "udp", "key": "rig.key", "unauthenticated": "because"})


@pytest.mark.parametrize("rig", ["192.0.2.1:7411", "0.0.0.0:0", "[::]:0", "[2001:db8::1]:7411"])
def test_a_rig_that_others_can_reach_needs_a_secret_or_a_reason(tmp_path, rig):
    link = Udp(kind="udp", rig=rig)
    for opened in (link.to_rig, link.listen):
        with pytest.raises(LinkError, match=r"can be reached from other machines.*halfreal key.*link.unauthenticated"):
            opened()
    with pytest.raises(LinkError, match="can be reached"):
        Udp(kind="udp", rig=rig, unauthenticated="  ").listen()


@pytest.mark.parametrize("how", [{"unauthenticated": "a cable from port to port"}, {"key": "rig.key"}])
def test_with_either_it_is_opened_and_the_record_tells_which(tmp_path, how):
    written(tmp_path / "rig.key")
    link = reader("link").validate_python({"kind": "udp", "rig": "0.0.0.0:0", **how}, context={"folder": tmp_path})
    link.listen().close()
    assert ("a cable from port to port" in link.guarded) == ("unauthenticated" in how)
