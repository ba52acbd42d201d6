"""A kubeconfig is read by the kubernetes package; what it can't give is said in words."""

from pathlib import Path

import pytest
import yaml

from labeler.kubeconfig import from_kubeconfig
from labeler.node import NodeRefused

CLUSTER = {"server": "https://api.example.com:6443", "certificate-authority": "ca.crt"}


def write(
    folder: Path, cluster: dict[str, object], user: dict[str, object], **changes: object
) -> str:
    (folder / "ca.crt").write_text("c")
    (folder / "token").write_text("from-a-file\n")
    config: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump({**config, **changes}))
    return str(path)


def test_server_authority_and_token_are_taken(tmp_path: Path) -> None:
    found = from_kubeconfig(write(tmp_path, dict(CLUSTER), {"token": "secret"}))

    assert found.url == "https://api.example.com:6443"
    assert found.authority == tmp_path / "ca.crt"
    assert found.bearer() == "secret"
    assert found.certificate is None


def test_a_token_file_is_read_again_when_the_server_refuses_the_old(tmp_path: Path) -> None:
    found = from_kubeconfig(write(tmp_path, dict(CLUSTER), {"tokenFile": str(tmp_path / "token")}))
    before = found.bearer()
    (tmp_path / "token").write_text("rotated\n")
    found.rejected()

    assert (before, found.bearer()) == ("from-a-file", "rotated")


def test_a_client_certificate_is_taken(tmp_path: Path) -> None:
    for name in ("crt", "key"):
        (tmp_path / name).write_text("x")
    user: dict[str, object] = {
        "client-certificate": str(tmp_path / "crt"),
        "client-key": str(tmp_path / "key"),
    }

    found = from_kubeconfig(write(tmp_path, dict(CLUSTER), user))

    assert found.certificate == (tmp_path / "crt", tmp_path / "key")
    assert found.bearer() is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"clusters": []}, "Expected object with name c"),
        ({"current-context": "y"}, "Expected object with name y"),
        ({"contexts": None}, "kubeconfig"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, changes: dict[str, object], why: str) -> None:
    path = write(tmp_path, dict(CLUSTER), {"token": "x"}, **changes)

    with pytest.raises(NodeRefused) as caught:
        from_kubeconfig(path)

    assert why in str(caught.value)
    assert f"kubeconfig {path}: " in str(caught.value)
    assert "it must name a cluster, a user and a current context" in str(caught.value)


def test_a_file_that_is_not_there_or_not_yaml_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("a: [")
    tagged = tmp_path / "tagged"
    tagged.write_text("clusters: !!bool maybe")
    for path in map(str, (tmp_path / "missing", broken, tagged, tmp_path)):
        with pytest.raises(NodeRefused, match=f"kubeconfig {path}: "):
            from_kubeconfig(path)


@pytest.mark.parametrize("server", ["https://h:abc", "api.example.com", "ftp://x", "https://"])
def test_a_server_that_is_no_address_is_named(tmp_path: Path, server: str) -> None:
    path = write(tmp_path, {"server": server}, {"token": "x"})

    with pytest.raises(NodeRefused, match="is no address; it must be https://host:port"):
        from_kubeconfig(path)


def test_an_unverified_server_is_refused(tmp_path: Path) -> None:
    cluster = {"server": "https://x:1", "insecure-skip-tls-verify": True}

    with pytest.raises(NodeRefused, match="a label written to an impostor is no label"):
        from_kubeconfig(write(tmp_path, cluster, {"token": "x"}))
