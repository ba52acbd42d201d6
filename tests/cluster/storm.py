"""Write a Node without a pause, as busy controllers would."""

from itertools import count
from threading import Event, Thread
from typing import Final, Self

from tests.cluster.api import Api, ApiError, Json

KEY: Final = "example.com/storm"


class Storm:
    """Two writers: one of a foreign taint, at the version it read; one of a foreign label."""

    def __init__(self, api: Api, path: str) -> None:
        self._api: Final = api
        self._path: Final = path
        self._stop: Final = Event()
        self._threads: Final = [Thread(target=work) for work in (self._taint, self._beat)]
        self.written = 0
        """The number in the taint that was written last."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def taint(self) -> Json:
        """The taint as it was written last."""
        return {"key": KEY, "value": str(self.written), "effect": "NoSchedule"}

    def _taint(self) -> None:
        for number in count(1):
            if self._stop.is_set():
                return
            node = self._api.get(self._path)
            others = [taint for taint in node["spec"]["taints"] if taint["key"] != KEY]
            mine = {"key": KEY, "value": str(number), "effect": "NoSchedule"}
            version = {"resourceVersion": node["metadata"]["resourceVersion"]}
            try:
                body = {"metadata": version, "spec": {"taints": [mine, *others]}}
                self._api.patch(self._path, body)
            except ApiError as err:
                assert err.status == 409
            else:
                self.written = number

    def _beat(self) -> None:
        for number in count(1):
            if self._stop.is_set():
                return
            self._api.patch(self._path, {"metadata": {"labels": {"beat": str(number)}}})
