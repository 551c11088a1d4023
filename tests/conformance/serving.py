"""All toolsets over a canon, as the contract of cut calls wants them served."""

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.testing.conformance.cuts import ServeToolsets


class Served:
    @pytest.fixture
    def serve(self) -> ServeToolsets:
        def serve(canon: Canon) -> Gateway:
            return Gateway(canon, load_toolsets(TOOLSETS))

        return serve
